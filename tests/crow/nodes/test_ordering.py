"""Frames in order."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rookery.crow.nodes.ordering import AHEAD_MAX, UNREAD_MAX, UNREAD_SIZE_MAX, FrameOrdering

MODULUS = 1 << 16


def drain(ordering: FrameOrdering) -> list[bytes]:
    frames = []
    while (frame := ordering.take()) is not None:
        frames.append(frame)
    return frames


@given(count=st.integers(0, 60), random=st.randoms(use_true_random=False))
def test_frames_leave_in_order_however_they_come(count: int, random: Random) -> None:
    """C6."""
    frames = [(number, b"%d" % number) for number in range(count)]
    coming = frames + random.choices(frames, k=5) if frames else []
    random.shuffle(coming)
    ordering = FrameOrdering()
    taken = [ordering.put(frame_id, data) for frame_id, data in coming]
    assert sum(taken) == count
    assert drain(ordering) == [data for _, data in frames]
    assert not ordering.has_gap


def test_ids_wrap() -> None:
    """C6."""
    ordering = FrameOrdering()
    for number in range(MODULUS + 10):
        assert ordering.put(number % MODULUS, b"")
        assert ordering.take() == b""
    assert ordering.next_id == 10
    assert not ordering.put(9, b"")
    assert not ordering.put(MODULUS - 1, b"")
    assert ordering.put(11, b"")
    assert ordering.has_gap


def test_a_frame_too_far_ahead_is_taken_for_a_copy() -> None:
    """C6."""
    ordering = FrameOrdering()
    assert not ordering.put(AHEAD_MAX, b"")
    assert ordering.put(AHEAD_MAX - 1, b"")
    assert len(ordering) == 1


def test_the_end_waits_for_what_is_before_it() -> None:
    """C6."""
    ordering = FrameOrdering()
    ordering.end(2)
    assert ordering.has_gap
    ordering.put(1, b"b")
    assert not ordering.is_ended
    ordering.put(0, b"a")
    assert ordering.is_ended
    assert drain(ordering) == [b"a", b"b"]


def test_what_is_kept_has_a_bound() -> None:
    """C6: ahead of a gap, unread frames, unread bytes."""
    ahead = FrameOrdering()
    for number in range(1, 30):
        ahead.put(number, bytes(50_000))
    assert ahead.is_overrun
    ahead.abandon()
    assert not ahead.is_overrun
    many = FrameOrdering()
    for number in range(UNREAD_MAX + 1):
        assert not many.is_overrun
        many.put(number, b"")
    assert many.is_overrun
    many.take()
    assert not many.is_overrun
    large = FrameOrdering()
    for number in range(UNREAD_SIZE_MAX // 50_000 + 1):
        large.put(number, bytes(50_000))
    assert large.is_overrun
