import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.renewal import PHASE_MAX, RenewalFrame, RenewalStep

EPHEMERAL = bytes(range(32))


@pytest.mark.parametrize("step", RenewalStep)
@pytest.mark.parametrize("phase", [1, PHASE_MAX])
def test_a_frame_is_read_as_it_was_written(step: RenewalStep, phase: int) -> None:
    ephemeral = EPHEMERAL if step in (RenewalStep.OFFER, RenewalStep.ANSWER) else b""
    frame = RenewalFrame(step, phase, ephemeral)
    assert RenewalFrame.parse(*frame.serialize()) == frame


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"", bytes(4)),
        (b"\x0c", b"\0\0\0\1" + EPHEMERAL),
        (b"\x0c\1\0", b"\0\0\0\1" + EPHEMERAL),
        (b"\x0b\1", b"\0\0\0\1" + EPHEMERAL),
        (b"\x0c\0", b"\0\0\0\1"),
        (b"\x0c\5", b"\0\0\0\1"),
        (b"\x0c\1", b"\0\0\0\1"),
        (b"\x0c\1", b"\0\0\0\1" + EPHEMERAL[1:]),
        (b"\x0c\2", b"\0\0\0\1" + EPHEMERAL + b"\0"),
        (b"\x0c\3", b"\0\0\0\1" + EPHEMERAL),
        (b"\x0c\4", b"\0\0\1"),
        (b"\x0c\3", b"\0\0\0\0"),
        (b"\x0c\3", b"\1\0\0\0"),
    ],
)
def test_anything_else_is_refused(head: bytes, body: bytes) -> None:
    with pytest.raises(DecodeError):
        RenewalFrame.parse(head, body)


@given(st.binary(max_size=6), st.binary(max_size=64))
def test_arbitrary_bytes_parse_or_raise(head: bytes, body: bytes) -> None:
    try:
        frame = RenewalFrame.parse(head, body)
    except DecodeError:
        return
    assert frame.serialize() == (head, body)
