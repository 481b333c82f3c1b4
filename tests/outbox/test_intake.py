"""Intake: repeats are recognised however old, and nothing grows without a bound."""

import pytest

from rookery.errors import ProtocolError
from rookery.outbox import intake as module
from rookery.outbox.intake import Arrival, Intake, Outcome
from rookery.outbox.limits import OutboxLimits
from rookery.wire.outbox import Acknowledgement, ErrorCode, ErrorFrame, Qos, Reply
from rookery.wire.outbox_request import RequestFrame
from tests.outbox.ends import ALICE

LIMITS = OutboxLimits(window_requests=2, window_bytes=20)


def frame(id_: int, payload: bytes = b"x", *, asks: bool = False, floor: int = 1) -> RequestFrame:
    return RequestFrame(id_, Qos.ONCE, asks, floor, payload)


def made(epoch: int = 7) -> Intake:
    intake = Intake(ALICE, LIMITS)
    intake.introduced(epoch)
    return intake


def arrived(intake: Intake, one: RequestFrame) -> Arrival:
    arrival = intake.arrived(one)
    assert isinstance(arrival, Arrival)
    return arrival


def test_a_repeat_is_answered_and_not_handled() -> None:
    intake = made()
    plain = arrived(intake, frame(1))
    assert intake.arrived(frame(1)) is None  # it is being handled
    assert intake.done(plain, Outcome()) == Acknowledgement(1)
    assert intake.arrived(frame(1)) == Acknowledgement(1)
    asking = arrived(intake, frame(2, asks=True))
    assert intake.done(asking, Outcome(b"yes")) == Reply(2, b"yes")
    assert intake.arrived(frame(2, asks=True)) == Reply(2, b"yes")
    failing = arrived(intake, frame(3))
    error = intake.done(failing, Outcome(code=ErrorCode.HANDLER_FAILED, text="no"))
    assert intake.arrived(frame(3)) == error


def test_a_reply_is_forgotten_when_nobody_asks_for_it_any_more() -> None:
    intake = made()
    intake.done(arrived(intake, frame(1, asks=True)), Outcome(b"yes"))
    assert intake.settled == 0
    arrived(intake, frame(2, floor=2))
    assert intake.settled == 1
    answer = intake.arrived(frame(1, asks=True))
    assert isinstance(answer, ErrorFrame)
    assert answer.code == ErrorCode.FORGOTTEN


def test_another_epoch_numbers_anew() -> None:
    intake = made(1)
    old = arrived(intake, frame(5))
    intake.introduced(2)
    new = arrived(intake, frame(1))
    assert intake.done(old, Outcome()) is None
    assert intake.done(new, Outcome()) == Acknowledgement(1)
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
        intake.done(arrived(intake, frame(id_, asks=True)), Outcome(b"yes"))
    assert intake.arrived(frame(4, asks=True)) == Reply(4, b"yes")
    assert isinstance(intake.arrived(frame(3, asks=True)), ErrorFrame)
    monkeypatch.setattr(module, "KEPT_BYTES_MAX", 8)
    intake.done(arrived(intake, frame(8, asks=True)), Outcome(b"12345678"))
    assert isinstance(intake.arrived(frame(7, asks=True)), ErrorFrame)
    assert intake.arrived(frame(8, asks=True)) == Reply(8, b"12345678")


def test_memory_survives_a_restart() -> None:
    intake = Intake(ALICE, LIMITS)
    intake.restore(7, 3, [Reply(3, b"yes")])
    intake.introduced(7)
    assert intake.arrived(frame(2)) == Acknowledgement(2)
    assert intake.arrived(frame(3, asks=True)) == Reply(3, b"yes")
    assert isinstance(intake.arrived(frame(4)), Arrival)
