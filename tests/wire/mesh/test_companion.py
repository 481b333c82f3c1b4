"""M10: the codec of what is told about the datagram path beside a stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import COMPANION
from rookery.wire.mesh.companion import CompanionFrame, CompanionKind

ATTEMPTS = st.integers(1, 2**32 - 1)


@given(
    st.one_of(
        st.builds(
            CompanionFrame, st.just(CompanionKind.HEARD), ATTEMPTS, st.integers(0, 3), st.booleans()
        ),
        st.builds(CompanionFrame, st.sampled_from(CompanionKind), ATTEMPTS),
    )
)
def test_a_frame_survives_the_wire(frame: CompanionFrame) -> None:
    assert CompanionFrame.parse(*frame.serialize()) == frame


@given(st.binary(max_size=4), st.binary(max_size=6))
def test_arbitrary_bytes_parse_or_raise_decode_error(rest: bytes, body: bytes) -> None:
    head = bytes((COMPANION,)) + rest
    try:
        frame = CompanionFrame.parse(head, body)
    except DecodeError:
        return
    assert frame.serialize() == (head, body)


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (bytes((COMPANION, 1)), b"\0\0\0\1", "cannot be BESIDE"),
        (bytes((8, 1, 0)), b"\0\0\0\1", "cannot be BESIDE"),
        (bytes((COMPANION, 1, 0)), b"\0\0\1", "cannot be BESIDE"),
        (bytes((COMPANION, 0, 0)), b"\0\0\0\1", "no BESIDE of kind 0"),
        (bytes((COMPANION, 6, 0)), b"\0\0\0\1", "no BESIDE of kind 6"),
        (bytes((COMPANION, 1, 1)), b"\0\0\0\1", "with sizes 0x1"),
        (bytes((COMPANION, 1, 0x80)), b"\0\0\0\1", "with sizes 0x80"),
        (bytes((COMPANION, 3, 4)), b"\0\0\0\1", "with sizes 0x4"),
        (bytes((COMPANION, 1, 0)), b"\0\0\0\0", "attempt 0"),
    ],
)
def test_what_makes_no_sense_is_refused(head: bytes, body: bytes, text: str) -> None:
    with pytest.raises(DecodeError, match=text):
        CompanionFrame.parse(head, body)
