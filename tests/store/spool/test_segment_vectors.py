"""P3: segments against tests/vectors/observations.json, as the protocol's page has them."""

from pathlib import Path

import msgspec
import pytest

from rookery.store.spool.reader import SpoolReader
from rookery.store.spool.segment import Segment, SegmentFile, frame

PATH = Path(__file__).parents[2] / "vectors" / "observations.json"


class Vector(msgspec.Struct):
    start: int
    records: list[str]
    positions: list[int]
    bytes: str


class Vectors(msgspec.Struct):
    segments: list[Vector]


VECTORS = msgspec.json.decode(PATH.read_bytes(), type=Vectors).segments


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector.start))
def test_segments_are_as_the_page_says_p3(vector: Vector, tmp_path: Path) -> None:
    records = [bytes.fromhex(record) for record in vector.records]
    segment = Segment.at(tmp_path, vector.start)
    assert segment.path.name == f"{vector.start:016x}.spool"
    file = SegmentFile.create(segment)
    file.append(frame(records))
    file.close()
    assert segment.path.read_bytes().hex() == vector.bytes
    found = list(SpoolReader(tmp_path))
    assert found == list(zip(vector.positions, records, strict=True))
