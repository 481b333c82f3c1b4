"""Frames of a file transfer: read back as written, however they are cut, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.mesh.file_frames import (
    DATA_SIZE_MAX,
    FILE_SIZE_MAX,
    MESSAGE_SIZE_MAX,
    Frame,
    FrameReader,
    Message,
    TransferFailed,
    TransferHave,
    TransferStart,
    TransferStored,
    TransferWhole,
    data_header,
    message_frame,
)

DIGEST = "0a" * 32

sizes = st.integers(0, FILE_SIZE_MAX)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(TransferHave, sizes, digests),
    st.builds(TransferStart, sizes, sizes),
    st.builds(TransferWhole, digests),
    st.just(TransferStored()),
    st.builds(TransferFailed, st.text(max_size=32)),
)
frames: st.SearchStrategy[Frame] = messages | st.binary(min_size=1, max_size=300)


def serialized(frame: Frame) -> bytes:
    if isinstance(frame, bytes):
        return data_header(len(frame)) + frame
    return message_frame(frame)


def joined(frames: list[Frame]) -> list[Frame]:
    """Bytes of the file next to each other as one, for they may be cut anywhere."""
    whole: list[Frame] = []
    for frame in frames:
        if whole and isinstance(frame, bytes) and isinstance(last := whole[-1], bytes):
            whole[-1] = last + frame
        else:
            whole.append(frame)
    return whole


@given(st.lists(frames, max_size=8), st.data())
def test_frames_read_back_however_the_stream_is_cut(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(map(serialized, sent))
    reader, read = FrameReader(), list[Frame]()
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        read += reader.feed(stream[:size])
        stream = stream[size:]
    assert reader.is_between
    assert joined(read) == joined(sent)


def test_a_cut_frame_is_noticed() -> None:
    reader = FrameReader()
    assert reader.feed(message_frame(TransferStored())[:-1]) == []
    assert not reader.is_between
    reader = FrameReader()
    assert reader.feed(data_header(3) + b"ab") == [b"ab"]
    assert not reader.is_between


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_frames_or_a_decode_error(data: bytes) -> None:
    reader = FrameReader()
    try:
        frames = reader.feed(data)
    except DecodeError:
        return
    assert all(
        isinstance(
            frame,
            bytes | TransferHave | TransferStart | TransferWhole | TransferStored | TransferFailed,
        )
        for frame in frames
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x00\x00\x01x",
        b"\x03\x00\x00\x00\x01x",
        b"\x02\x00\x00\x00\x00",
        b"\x02" + (DATA_SIZE_MAX + 1).to_bytes(4, "big"),
        b"\x01\x00\x00\x00\x00",
        b"\x01" + (MESSAGE_SIZE_MAX + 1).to_bytes(4, "big"),
        b"\x01\x00\x00\x00\x02{}",
        b"\x01\x00\x00\x00\x02\xff\xff",
    ],
)
def test_what_is_no_frame_is_refused_by_its_first_bytes(data: bytes) -> None:
    with pytest.raises(DecodeError):
        FrameReader().feed(data)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"is":"have","size":-1,"digest":"{DIGEST}"}}',
        f'{{"is":"have","size":{FILE_SIZE_MAX + 1},"digest":"{DIGEST}"}}',
        '{"is":"have","size":1,"digest":"0A"}',
        '{"is":"start","size":1}',
        '{"is":"start","size":1.5,"offset":0}',
        f'{{"is":"whole","digest":"{DIGEST}\\n"}}',
        '{"is":"failed","fault":"' + "x" * 33 + '"}',
        '{"is":"other"}',
        '["stored"]',
        "[" * 500,
    ],
)
def test_messages_out_of_bounds_are_refused(text: str) -> None:
    frame = b"\x01" + len(text).to_bytes(4, "big") + text.encode()
    with pytest.raises(DecodeError):
        FrameReader().feed(frame)
