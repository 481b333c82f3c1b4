import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.chunking import Dechunker
from rookery.wire.link.framing import (
    FRAME_SIZE_MAX,
    KEEPALIVE,
    PREFACE,
    Deframer,
    SpareBuffer,
    frame,
)


@given(st.lists(st.binary(max_size=300), max_size=8), st.integers(1, 400))
def test_packets_survive_any_cut_of_the_stream(packets: list[bytes], step: int) -> None:
    stream = b"".join(frame(packet) if packet else KEEPALIVE for packet in packets)
    deframer = Deframer()
    received = []
    for at in range(0, len(stream), step):
        received += deframer.feed(stream[at : at + step])
    assert received == [packet for packet in packets if packet]


@given(
    st.lists(st.integers(1, 30_000), min_size=1, max_size=6),
    st.lists(st.integers(1, 40_000), min_size=1, max_size=8),
)
def test_what_is_read_in_place_is_the_same_as_what_is_fed(
    sizes: list[int], reads: list[int]
) -> None:
    """A reader asks each time where to read to, and is told for large frames that are cut."""
    packets = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    stream, deframer, at, turn = b"".join(map(frame, packets)), Deframer(), 0, 0
    received: list[bytes] = []
    while at < len(stream):
        count = reads[turn % len(reads)]
        room = deframer.room()
        data = stream[at : at + (count if room is None else min(count, len(room)))]
        if room is None:
            received += map(bytes, deframer.feed(data))
        else:
            room[: len(data)] = data
            received += map(bytes, deframer.placed(len(data)))
        at, turn = at + len(data), turn + 1
    assert received == packets


def test_a_few_bytes_do_not_make_room_for_a_whole_frame() -> None:
    deframer = Deframer()
    deframer.feed(FRAME_SIZE_MAX.to_bytes(4, "big") + bytes(4091))
    assert deframer.room() is None
    deframer.feed(b"x")
    room = deframer.room()
    assert room is not None
    assert len(room) == FRAME_SIZE_MAX - 4092


def test_room_is_used_again_though_never_by_two_at_a_time() -> None:
    spare = SpareBuffer()
    one, other = Deframer(spare), Deframer(spare)
    rooms = [begun(one, b"1"), begun(other, b"2")]
    assert rooms[0].obj is not rooms[1].obj
    assert whole(one, rooms[0], b"1") == b"1" * FRAME_SIZE_MAX
    assert whole(other, rooms[1], b"2") == b"2" * FRAME_SIZE_MAX
    again = begun(other, b"3")
    assert any(again.obj is room.obj for room in rooms)
    assert whole(other, again, b"3") == b"3" * FRAME_SIZE_MAX


def begun(deframer: Deframer, letter: bytes) -> memoryview:
    assert deframer.feed(frame(letter * FRAME_SIZE_MAX)[:5000]) == []
    room = deframer.room()
    assert room is not None
    return room


def whole(deframer: Deframer, room: memoryview, letter: bytes) -> bytes:
    room[:] = letter * len(room)
    return bytes(*deframer.placed(len(room)))


def test_frames_up_to_the_bound_pass() -> None:
    packet = b"x" * FRAME_SIZE_MAX
    deframer = Deframer()
    stream = frame(packet) + frame(b"next")
    assert deframer.feed(stream[:70_000]) == []
    assert deframer.feed(stream[70_000:]) == [packet, b"next"]


@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_frame_beyond_the_bound_is_refused_by_its_length_alone(cut: int) -> None:
    stream = (FRAME_SIZE_MAX + 1).to_bytes(4, "big")
    deframer = Deframer()
    deframer.feed(stream[:cut])
    with pytest.raises(DecodeError):
        deframer.feed(stream[cut:])


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_arbitrary_bytes_make_packets_or_raise_decode_error(pieces: list[bytes]) -> None:
    deframer = Deframer()
    try:
        for piece in pieces:
            assert all(deframer.feed(piece))
    except DecodeError:
        return


def test_a_chunking_receiver_takes_no_packet_from_the_preface() -> None:
    assert Dechunker(1 << 17).feed(PREFACE) == []
