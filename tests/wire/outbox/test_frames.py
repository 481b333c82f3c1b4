"""Frames of an outbox session: round trips, bounds, and bytes that mean nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.outbox.frames import (
    PAYLOAD_SIZE_MAX,
    TEXT_SIZE_MAX,
    AcknowledgementFrame,
    ErrorFrame,
    IntroductionFrame,
    OutboxErrorCode,
    Qos,
    ReplyFrame,
)
from rookery.wire.outbox.reader import Frame, parse_frame
from rookery.wire.outbox.request import RequestFrame

IDS = st.integers(1, 2**63 - 1)
WORDS = st.integers(0, 2**64 - 1)


@st.composite
def requests(draw: st.DrawFn) -> RequestFrame:
    id_ = draw(IDS)
    floor = draw(st.integers(1, id_))
    qos, wants_reply = draw(st.sampled_from(Qos)), draw(st.booleans())
    return RequestFrame(id_, qos, wants_reply, floor, draw(st.binary(max_size=300)))


FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(
        IntroductionFrame,
        st.binary(min_size=32, max_size=32),
        WORDS,
        WORDS,
        WORDS,
        WORDS,
        st.integers(1, 2**32 - 1),
        st.integers(1, 2**32 - 1),
    ),
    requests(),
    st.builds(AcknowledgementFrame, IDS),
    st.builds(ReplyFrame, IDS, st.binary(max_size=300)),
    st.builds(ErrorFrame, WORDS, st.sampled_from(OutboxErrorCode), st.text(max_size=200)),
)


@given(FRAMES)
def test_a_frame_survives_a_round_trip(frame: Frame) -> None:
    assert parse_frame(frame.serialize()) == frame


@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_are_a_frame_or_a_decode_error(data: bytes, is_measured: bool) -> None:
    if is_measured:
        data = len(data).to_bytes(4, "big") + data
    try:
        frame = parse_frame(data)
    except DecodeError:
        return
    if not (isinstance(frame, IntroductionFrame) and frame.version != 1):
        assert frame.serialize() == data


def measured(text: str) -> bytes:
    data = bytes.fromhex(text)
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(4),
        bytes.fromhex("00000009 03"),
        measured("09"),
        measured("03 00000000000000"),
        measured("03 0000000000000000"),
        measured("04 00"),
        measured("04 0000000000000000"),
        measured("02 00 0000000000000001"),
        measured("02 03 0000000000000001 0000000000000001"),
        measured("02 08 0000000000000001 0000000000000001"),
        measured("02 00 0000000000000001 0000000000000002"),
        measured("02 00 0000000000000000 0000000000000000"),
        measured("02 00 8000000000000000 0000000000000001"),
        measured("05 0000000000000001"),
        measured("05 0000000000000001 11 ff"),
        measured("05 0000000000000001 11" + "61" * (TEXT_SIZE_MAX + 1)),
        measured("01 01"),
        measured("01 01" + "00" * 64 + "00000000 00000001"),
        measured("01 01" + "00" * 64 + "00000001 00000001 00"),
    ],
    ids=lambda data: data.hex()[:40],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_frame(data)


def test_a_request_has_a_largest_size() -> None:
    frame = RequestFrame(1, Qos.ONCE, False, 1, bytes(PAYLOAD_SIZE_MAX))
    assert parse_frame(frame.serialize()) == frame
    with pytest.raises(DecodeError):
        parse_frame(RequestFrame(1, Qos.ONCE, False, 1, bytes(PAYLOAD_SIZE_MAX + 1)).serialize())


def test_an_introduction_of_another_version_can_still_be_read() -> None:
    frame = IntroductionFrame(bytes(32), 1, 2, 3, 4, 5, 6, version=2)
    data = frame.serialize() + b"news"
    data = (len(data) - 4).to_bytes(4, "big") + data[4:]
    assert parse_frame(data) == frame


def test_the_text_of_an_error_is_cut_between_characters() -> None:
    frame = parse_frame(
        ErrorFrame(1, OutboxErrorCode.HANDLER_FAILED, "ж" * TEXT_SIZE_MAX).serialize()
    )
    assert frame == ErrorFrame(1, OutboxErrorCode.HANDLER_FAILED, "ж" * (TEXT_SIZE_MAX // 2))
