"""How packets lie in a stream, told apart by the first bytes (T7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.runtime.endpoint.gates.framing import (
    PACKET_SIZE_MAX,
    AcceptedFraming,
    ChunkFraming,
    FramingKind,
    LengthFraming,
    dialled,
    recognise,
)
from rookery.wire.link.chunking import chunk
from rookery.wire.link.framing import KEEPALIVE, PREFACE, frame


@pytest.mark.parametrize(
    ("first", "dialect"),
    [
        (b"\x00", None),
        (PREFACE[:-1], None),
        (PREFACE, FramingKind.FRAMES),
        (PREFACE + b"anything", FramingKind.FRAMES),
        (b"GE", None),
        (b"GET ", FramingKind.HTTP),
        (b"GET / HTTP/1.1\r\n", FramingKind.HTTP),
        (b"\x00\x00", FramingKind.CHUNKS),  # two keepalives
        (b"\x05", FramingKind.CHUNKS),
        (b"POST / HTTP/1.1\r\n", FramingKind.CHUNKS),
        (PREFACE[:-1] + b"\x02", FramingKind.CHUNKS),
    ],
)
def test_the_first_bytes_tell_the_dialect(first: bytes, dialect: FramingKind | None) -> None:
    assert recognise(first) is dialect


def test_a_handshake_of_cipher_set_40_is_dialled_in_frames() -> None:
    framing = dialled(b"\x00\x01\x40rest")
    assert framing.control() == PREFACE
    assert framing.control() == b""
    assert b"".join(framing.encode(b"packet")) == frame(b"packet")


@pytest.mark.parametrize("first", [b"\x00\x01\x3arest", b"\x00\x00", b"\x00\x01"])
def test_anything_else_is_dialled_in_chunks(first: bytes) -> None:
    framing = dialled(first)
    assert framing.control() == b""
    assert b"".join(framing.encode(b"packet")) == chunk(b"packet")


packets = st.lists(st.binary(min_size=1, max_size=700), max_size=6)


@given(packets, st.integers(1, 40), st.booleans())
def test_a_peer_is_answered_in_the_framing_it_chose_however_its_bytes_are_cut(
    sent: list[bytes], step: int, with_frames: bool
) -> None:
    ours = LengthFraming(PREFACE) if with_frames else ChunkFraming()
    stream = ours.control() + b"".join(b"".join(ours.encode(packet)) for packet in sent)
    accepted = AcceptedFraming(ChunkFraming)
    received = [
        packet
        for start in range(0, len(stream), step)
        for packet in accepted.feed(stream[start : start + step])
    ]
    assert received == sent
    if sent:
        assert accepted.ready
        assert ours.feed(b"".join(accepted.encode(b"answer"))) == [b"answer"]


def test_a_large_packet_is_framed_without_a_copy() -> None:
    packet = bytes(60_000)
    buffers = LengthFraming().encode(packet)
    assert buffers[-1] is packet
    assert b"".join(buffers) == frame(packet)


def test_keepalives_before_the_first_packet_are_ignored() -> None:
    assert AcceptedFraming(ChunkFraming).feed(b"\0\0\0" + chunk(b"packet")) == [b"packet"]
    assert AcceptedFraming(ChunkFraming).feed(PREFACE + KEEPALIVE + frame(b"packet")) == [b"packet"]


def test_an_overlong_packet_is_refused_before_it_is_complete() -> None:
    with pytest.raises(DecodeError):
        AcceptedFraming(ChunkFraming).feed(PREFACE + (PACKET_SIZE_MAX + 1).to_bytes(4, "big"))
    with pytest.raises(DecodeError):
        AcceptedFraming(ChunkFraming).feed(chunk(bytes(PACKET_SIZE_MAX + 1))[:-1])


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_packets_or_a_decode_error(data: bytes) -> None:
    accepted = AcceptedFraming(ChunkFraming)
    try:
        accepted.feed(data)
    except DecodeError:
        return
    assert accepted.control() == b""
