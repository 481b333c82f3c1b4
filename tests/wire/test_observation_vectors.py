"""P2: observations against tests/vectors/observations.json, as the protocol's page has them."""

from pathlib import Path

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.wire import observation_content
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import SessionReport
from rookery.wire.observation import Observation
from tests.vectors.make_observations import vectors

PATH = Path(__file__).parent.parent / "vectors" / "observations.json"


class Vector(msgspec.Struct):
    kind: int
    fields: dict[str, object]
    bytes: str
    name: str = ""

    def value(self) -> msgspec.Struct:
        """Built from what the file says in words."""
        fields = {
            key.removesuffix("_hex"): bytes.fromhex(str(value)) if key.endswith("_hex") else value
            for key, value in self.fields.items()
        }
        struct = observation_content.STRUCTS[self.kind]
        built = msgspec.convert(fields, struct, builtin_types=(bytes,))
        assert isinstance(built, msgspec.Struct)
        return built


class Vectors(msgspec.Struct):
    observations: list[Vector]
    refused: list[Vector]


VECTORS = msgspec.json.decode(PATH.read_bytes(), type=Vectors)


@pytest.mark.parametrize("vector", VECTORS.observations, ids=lambda vector: str(vector.kind))
def test_observations_are_as_the_page_says_p2(vector: Vector) -> None:
    kept = Observation.parse(bytes.fromhex(vector.bytes))
    assert kept.kind == vector.kind
    said = observation_content.decode(kept.kind, kept.content)
    assert said == vector.value()
    encode = telemetry.encode if isinstance(said, SessionReport) else observation_content.encode
    content = encode(said)  # type: ignore[arg-type]
    assert msgspec.msgpack.decode(content) == msgspec.msgpack.decode(kept.content)
    assert Observation(*kept[:5], content).serialize() == bytes.fromhex(vector.bytes)


def test_every_kind_of_the_page_has_a_vector_p2() -> None:
    assert {vector.kind for vector in VECTORS.observations} == set(range(6, 12))


@pytest.mark.parametrize("vector", VECTORS.refused, ids=lambda vector: vector.name)
def test_what_the_page_forbids_is_refused_p2(vector: Vector) -> None:
    kept = Observation.parse(bytes.fromhex(vector.bytes))
    with pytest.raises(DecodeError):
        observation_content.decode(kept.kind, kept.content)


def test_the_file_is_what_its_maker_makes_p2() -> None:
    assert msgspec.json.decode(PATH.read_bytes()) == vectors()
