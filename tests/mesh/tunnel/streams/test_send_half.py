"""M4: the sending half of a stream."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.mesh.tunnel.limits import WINDOW_START
from rookery.mesh.tunnel.streams.send_half import Part, SendHalf

ROOM = 1 << 30


def content(half: SendHalf, part: Part) -> bytes:
    parts: list[bytes | memoryview] = []
    half.views(part[0], part[1], parts)
    return b"".join(parts)


@settings(max_examples=40)
@given(st.data())
def test_whatever_is_lost_is_sent_until_all_has_arrived(data: st.DataObject) -> None:
    """M4: bytes and end, in any order of fates."""
    half, text = SendHalf(), bytes(range(256)) * 20
    assert half.write(text, ROOM) == len(text)
    half.finish()
    arrived = bytearray(len(text))
    flying: list[Part] = []
    for _ in range(400):
        part = half.next_part(data.draw(st.integers(1, 3000)), ROOM)
        if part is not None:
            flying.append(part)
        if not flying:
            break
        start, end, fin = flying.pop(data.draw(st.integers(0, len(flying) - 1)))
        if data.draw(st.integers(0, 3)):
            arrived[start:end] = text[start:end]
            half.acknowledged(start, end, fin=fin)
        else:
            half.lost(start, end, fin=fin)
    if half.is_over:
        assert bytes(arrived) == text
        assert not half.is_ready
        assert half.next_part(1000, ROOM) is None


def test_never_sent_bytes_wait_for_credit_and_repeated_ones_do_not() -> None:
    half = SendHalf()
    half.write(bytes(WINDOW_START + 5), ROOM)
    assert half.next_part(ROOM, 100) == (0, 100, False)
    assert half.next_part(ROOM, ROOM) == (100, WINDOW_START, False)
    assert not half.is_ready
    assert half.next_part(ROOM, ROOM) is None
    half.lost(0, 100, fin=False)
    assert half.is_ready
    assert half.next_part(60, 0) == (0, 60, False)
    assert half.next_part(60, 0) == (60, 100, False)
    half.credit += 5
    assert half.next_part(60, 60) == (WINDOW_START, WINDOW_START + 5, False)


def test_an_empty_stream_ends_too() -> None:
    half = SendHalf()
    assert not half.is_ready
    half.finish()
    assert half.next_part(100, 0) == (0, 0, True)
    assert not half.is_ready
    assert half.next_part(100, 0) is None
    half.lost(0, 0, fin=True)
    assert half.is_ready
    assert half.next_part(100, 0) == (0, 0, True)
    half.acknowledged(0, 0, fin=True)
    assert half.is_over


def test_a_write_is_cut_to_the_room_there_is() -> None:
    half = SendHalf()
    assert half.write(b"abcdef", 4) == 4
    assert half.wants_room
    assert half.write(b"ef", 0) == 0
    assert half.unsent == 4
    part = half.next_part(10, 10)
    assert part is not None
    assert content(half, part) == b"abcd"


def test_a_copy_that_was_lost_after_the_other_arrived_is_not_sent_again() -> None:
    half = SendHalf()
    half.write(bytes(100), ROOM)
    half.next_part(100, 100)
    half.acknowledged(20, 60, fin=False)
    half.lost(0, 100, fin=False)
    assert half.next_part(100, 0) == (0, 20, False)
    half.acknowledged(60, 80, fin=False)
    assert half.next_part(100, 0) == (80, 100, False)
    half.acknowledged(0, 100, fin=False)
    half.lost(0, 100, fin=False)
    assert not half.is_ready


def test_what_is_given_up_is_not_sent_and_over_once_that_is_known() -> None:
    half = SendHalf()
    half.write(bytes(100), ROOM)
    half.next_part(100, 100)
    half.reset(7)
    half.lost(0, 100, fin=False)
    half.acknowledged(0, 50, fin=False)
    half.finish()
    assert not half.is_ready
    assert not half.is_over
    half.is_reset_known = True
    assert half.is_over
