"""Frames are found in a stream, wherever it was cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.outbox.frames import FRAME_SIZE_MAX
from rookery.wire.outbox.reader import Frame, OutboxFrameReader
from tests.wire.outbox.test_frames import FRAMES


@given(st.lists(FRAMES, max_size=8), st.data())
def test_frames_come_out_as_they_went_in(frames: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(frame.serialize() for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    reader, found = OutboxFrameReader(), []
    for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:stop])
    assert found == frames
    assert reader.is_between_frames


@given(FRAMES)
def test_every_byte_may_come_alone(frame: Frame) -> None:
    reader, stream = OutboxFrameReader(), frame.serialize()
    for at in range(len(stream) - 1):
        assert reader.feed(stream[at : at + 1]) == []
        assert not reader.is_between_frames
    assert reader.feed(stream[-1:]) == [frame]


@pytest.mark.parametrize("size", [0, FRAME_SIZE_MAX + 1, 2**32 - 1])
def test_an_impossible_length_is_refused_before_its_bytes_come(size: int) -> None:
    with pytest.raises(DecodeError):
        OutboxFrameReader().feed(size.to_bytes(4, "big"))


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_are_frames_or_a_decode_error(pieces: list[bytes]) -> None:
    reader = OutboxFrameReader()
    try:
        for piece in pieces:
            reader.feed(piece)
    except DecodeError:
        pass
