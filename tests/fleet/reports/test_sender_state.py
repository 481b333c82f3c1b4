"""F3, F4: what a sender keeps over a restart."""

import msgspec
import pytest

from rookery.errors import DecodeError
from rookery.fleet.reports.sender_state import KeptReport, SenderState

STATE = SenderState(
    secret=b"s" * 32, generation=5, boot=6, is_enrolled=True, kept=(KeptReport(3073, b"content"),)
)


def test_a_state_survives_a_restart_and_does_not_show_f4() -> None:
    assert SenderState.parse(STATE.serialize()) == STATE
    assert "ssss" not in repr(STATE)


@pytest.mark.parametrize("data", [b"", b"\xc0", msgspec.msgpack.encode({"version": 2})])
def test_what_is_no_state_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        SenderState.parse(data)
