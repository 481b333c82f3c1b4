"""Intake: repeats are recognised however old, and nothing grows without a bound."""

import pytest

from rookery.errors import ProtocolError
from rookery.outbox import intake as module
from rookery.outbox.intake import IncomingRequest, RequestIntake, RequestOutcome
from rookery.outbox.limits import OutboxLimits
from rookery.wire.outbox.frames import (
    AcknowledgementFrame,
    ErrorFrame,
    OutboxErrorCode,
    Qos,
    ReplyFrame,
)
from rookery.wire.outbox.request import RequestFrame
from tests.outbox.ends import ALICE

LIMITS = OutboxLimits(window_requests=2, window_bytes=20)


def frame(id_: int, payload: bytes = b"x", *, asks: bool = False, floor: int = 1) -> RequestFrame:
    return RequestFrame(id_, Qos.ONCE, asks, floor, payload)


def made(epoch: int = 7) -> RequestIntake:
    intake = RequestIntake(ALICE, LIMITS)
    intake.introduced(epoch)
    return intake


def arrived(intake: RequestIntake, one: RequestFrame) -> IncomingRequest:
    arrival = intake.arrived(one)
    assert isinstance(arrival, IncomingRequest)
    return arrival


def test_a_repeat_is_answered_and_not_handled() -> None:
    intake = made()
    plain = arrived(intake, frame(1))
    assert intake.arrived(frame(1)) is None  # it is being handled
    assert intake.done(plain, RequestOutcome()) == AcknowledgementFrame(1)
    assert intake.arrived(frame(1)) == AcknowledgementFrame(1)
    asking = arrived(intake, frame(2, asks=True))
    assert intake.done(asking, RequestOutcome(b"yes")) == ReplyFrame(2, b"yes")
    assert intake.arrived(frame(2, asks=True)) == ReplyFrame(2, b"yes")
    failing = arrived(intake, frame(3))
    error = intake.done(failing, RequestOutcome(code=OutboxErrorCode.HANDLER_FAILED, text="no"))
    assert intake.arrived(frame(3)) == error


def test_a_reply_is_forgotten_when_it_is_not_needed_any_more() -> None:
    intake = made()
    intake.done(arrived(intake, frame(1, asks=True)), RequestOutcome(b"yes"))
    assert intake.settled == 0
    arrived(intake, frame(2, floor=2))
    assert intake.settled == 1
    answer = intake.arrived(frame(1, asks=True))
    assert isinstance(answer, ErrorFrame)
    assert answer.code == OutboxErrorCode.FORGOTTEN


def test_another_epoch_numbers_anew() -> None:
    intake = made(1)
    old = arrived(intake, frame(5))
    intake.introduced(2)
    new = arrived(intake, frame(1))
    assert intake.done(old, RequestOutcome()) is None
    assert intake.done(new, RequestOutcome()) == AcknowledgementFrame(1)
    assert intake.handled == 1
    assert intake.pending == 0


def test_more_than_was_agreed_is_refused() -> None:
    intake = made()
    for id_ in range(1, 5):
        arrived(intake, frame(id_))
    with pytest.raises(ProtocolError):
        intake.arrived(frame(5))
    intake = made()
    arrived(intake, frame(1, bytes(30)))
    with pytest.raises(ProtocolError):
        intake.arrived(frame(2, bytes(11)))


@pytest.mark.interpreted
def test_kept_replies_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = made()
    for id_ in range(1, 8):
        intake.done(arrived(intake, frame(id_, asks=True)), RequestOutcome(b"yes"))
    assert intake.arrived(frame(4, asks=True)) == ReplyFrame(4, b"yes")
    assert isinstance(intake.arrived(frame(3, asks=True)), ErrorFrame)
    monkeypatch.setattr(module, "KEPT_BYTES_MAX", 8)
    intake.done(arrived(intake, frame(8, asks=True)), RequestOutcome(b"12345678"))
    assert isinstance(intake.arrived(frame(7, asks=True)), ErrorFrame)
    assert intake.arrived(frame(8, asks=True)) == ReplyFrame(8, b"12345678")


def test_memory_survives_a_restart() -> None:
    intake = RequestIntake(ALICE, LIMITS)
    intake.restore(7, 3, [ReplyFrame(3, b"yes")])
    intake.introduced(7)
    assert intake.arrived(frame(2)) == AcknowledgementFrame(2)
    assert intake.arrived(frame(3, asks=True)) == ReplyFrame(3, b"yes")
    assert isinstance(intake.arrived(frame(4)), IncomingRequest)
