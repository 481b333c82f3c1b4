from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.lob import HEAD_SIZE_MAX, JsonObject, Packet, integer, text


class Case(msgspec.Struct):
    name: str
    head: JsonObject | None
    body_hex: str
    packet_hex: str

    def packet(self) -> Packet:
        """Built as its sender would; a `hex` key stands for a binary head."""
        body = bytes.fromhex(self.body_hex)
        match self.head:
            case {"hex": str(head)}:
                return Packet(bytes.fromhex(head), body)
            case head:
                return Packet.of(head or {}, body)


class Announcement(msgspec.Struct):
    json: JsonObject
    packet_hex: str


class Vectors(msgspec.Struct):
    lob: list[Case]
    discovery_announcement_js: Announcement


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[2] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
JSON_OBJECTS = st.dictionaries(st.text(min_size=1, max_size=8), JSON_VALUES, max_size=5)


@pytest.mark.parametrize("case", VECTORS.lob, ids=lambda case: case.name)
def test_public_packets_are_made_and_read(case: Case) -> None:
    """T7"""
    data = bytes.fromhex(case.packet_hex)
    assert case.packet().serialize() == data
    assert Packet.parse(data) == case.packet()
    if case.head is None or "hex" not in case.head:
        assert Packet.parse(data).json == (case.head or {})


def test_the_public_announcement_is_made_and_read() -> None:
    """T6, T7"""
    case = VECTORS.discovery_announcement_js
    data = bytes.fromhex(case.packet_hex)
    assert Packet.parse(data).json == case.json
    assert Packet.of(case.json).serialize() == data


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_head_and_body_survive_the_wire(head: bytes, body: bytes) -> None:
    packet = Packet(head, body)
    assert Packet.parse(packet.serialize()) == packet


@given(JSON_OBJECTS, st.binary(max_size=100))
def test_a_json_head_survives_the_wire(head: JsonObject, body: bytes) -> None:
    packet = Packet.parse(Packet.of(head, body).serialize())
    assert packet.json == head
    assert packet.body == body
    assert packet.is_json is bool(head)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_parse_or_raise_decode_error(data: bytes) -> None:
    try:
        packet = Packet.parse(data)
    except DecodeError:
        return
    assert packet.serialize() == data
    try:
        head = packet.json
    except DecodeError:
        return
    assert isinstance(head, dict)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", b"\xff\xff" + bytes(100)])
def test_a_head_that_runs_past_the_data_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Packet.parse(data)


@pytest.mark.parametrize(
    "head", [b"\x3a", b"{}    "[:6], b"[1,2,3]", b'{"a":1,}', b'{"a":"\xff"}', b'{"a":' * 5000]
)
def test_a_head_that_is_no_json_object_is_refused_on_access(head: bytes) -> None:
    packet = Packet(head)
    with pytest.raises(DecodeError):
        _ = packet.json


def test_a_packet_can_be_attached_in_the_body_of_another() -> None:
    inner = Packet.of({"type": "inner"}, b"content")
    outer = Packet.parse(Packet.of({"type": "outer"}, inner.serialize()).serialize())
    assert Packet.parse(outer.body) == inner


def test_the_longest_head_is_what_the_public_implementation_reads() -> None:
    """T7: it takes the length for a signed number."""
    data = Packet(b"x" * HEAD_SIZE_MAX).serialize()
    assert data[:2] == b"\x7f\xff"


def test_typed_reading_takes_only_the_given_type() -> None:
    head: JsonObject = {"n": 5, "t": "text", "b": True, "f": 1.0, "z": None}
    assert (integer(head, "n"), text(head, "t")) == (5, "text")
    assert [integer(head, key) for key in ("t", "b", "f", "z", "none")] == [None] * 5
    assert [text(head, key) for key in ("n", "b", "f", "z", "none")] == [None] * 5
