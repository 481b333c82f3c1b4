from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.chunking import Dechunker, chunk


class Case(msgspec.Struct):
    size: int  # of a chunk with its length byte
    packet_hex: str
    wire_hex: str


class Vectors(msgspec.Struct):
    chunking: list[Case]


VECTORS = msgspec.json.decode(
    (Path(__file__).parents[2] / "vectors" / "telehash.json").read_bytes(), type=Vectors
)


@pytest.mark.parametrize("case", VECTORS.chunking, ids=lambda case: f"size {case.size}")
def test_public_chunks_are_made_and_read(case: Case) -> None:
    """T7"""
    packet, wire = bytes.fromhex(case.packet_hex), bytes.fromhex(case.wire_hex)
    assert chunk(packet, case.size - 1) == wire
    assert Dechunker(10_000).feed(wire) == [packet]


@given(
    st.lists(st.binary(min_size=1, max_size=700), max_size=5),
    st.integers(1, 255),
    st.integers(1, 300),
)
def test_packets_survive_any_cut_of_the_stream(packets: list[bytes], size: int, step: int) -> None:
    stream = b"\0" + b"".join(chunk(packet, size) + b"\0" for packet in packets)
    dechunker = Dechunker(700)
    received = []
    for at in range(0, len(stream), step):
        received += dechunker.feed(stream[at : at + step])
    assert received == packets


def test_zero_bytes_alone_are_keepalives() -> None:
    assert Dechunker(10).feed(bytes(5)) == []


def test_a_packet_at_the_bound_passes_and_one_beyond_is_refused_before_its_data_comes() -> None:
    assert Dechunker(300).feed(chunk(b"x" * 300)) == [b"x" * 300]
    with pytest.raises(DecodeError):
        Dechunker(300).feed(b"\xff" + b"x" * 255 + b"\x2e")


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_arbitrary_bytes_never_make_a_packet_beyond_the_bound(pieces: list[bytes]) -> None:
    dechunker = Dechunker(400)
    try:
        for piece in pieces:
            assert all(0 < len(packet) <= 400 for packet in dechunker.feed(piece))
    except DecodeError:
        return
