"""Mutants of the core are caught: each of these mistakes makes the state machine fail."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from rookery.outbox.intake import Intake
from rookery.outbox.peer import Peer
from rookery.outbox.request import Request
from rookery.outbox.sending import Sending
from rookery.outbox.session import Session
from rookery.outbox.state import Failure, State
from rookery.outbox.working_list import WorkingList
from rookery.wire.outbox_request import RequestFrame
from tests.outbox.test_state_machine import OutboxMachine

SEARCH = settings(
    max_examples=500,
    stateful_step_count=50,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],  # to find it is enough
    suppress_health_check=list(HealthCheck),
)

Patch = Callable[[pytest.MonkeyPatch], None]


def wrong_end_of_the_list(patch: pytest.MonkeyPatch) -> None:
    def requeue(self: WorkingList, requests: Iterable[Request]) -> None:
        self._requests.extend(requests)

    patch.setattr(WorkingList, "requeue", requeue)


def requeued_backwards(patch: pytest.MonkeyPatch) -> None:
    def requeue(self: WorkingList, requests: Iterable[Request]) -> None:
        self._requests.extendleft(requests)

    patch.setattr(WorkingList, "requeue", requeue)


def lost_reference(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Request, "release", lambda self: None)


def reference_not_taken(patch: pytest.MonkeyPatch) -> None:
    real = Request.set_queued

    def set_queued(self: Request, id_: int, holder: Peer) -> None:
        real(self, id_, holder)
        self.references -= 1

    patch.setattr(Request, "set_queued", set_queued)


def late_invalidation(patch: pytest.MonkeyPatch) -> None:
    """set_invalid wins although the write began."""

    def set_invalid(self: Request) -> bool:
        self._border = State.CANCELLED
        return True

    patch.setattr(Request, "set_invalid", set_invalid)


def write_in_spite_of_invalidation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Request, "begin_write", lambda self: True)
    patch.setattr(Request, "cross_border", lambda self: True)
    patch.setattr(Request, "is_valid", lambda self: True)


def half_written_one_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = Peer.lost

    def lost(self: Peer, session: Session, now: float) -> None:
        if session.sending is not None:
            session.sending.half = None
        real(self, session, now)

    patch.setattr(Peer, "lost", lost)


def at_most_once_written_again(patch: pytest.MonkeyPatch) -> None:
    real = Peer.end

    def end(self: Peer, request: Request, state: State, failure: Failure | None = None) -> None:
        if failure is Failure.FATE_UNKNOWN and not request.qos:
            request.set_requeued()
            self._working.requeue([request])
        else:
            real(self, request, state, failure)

    patch.setattr(Peer, "end", end)


def repeats_not_recognised(patch: pytest.MonkeyPatch) -> None:
    real = Intake.arrived

    def arrived(self: Intake, frame: RequestFrame) -> object:
        if frame.id <= self.handled:
            self.received = frame.id - 1
            self.handled = frame.id - 1
        return real(self, frame)

    patch.setattr(Intake, "arrived", arrived)


def their_loss_of_memory_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Peer, "_they_forgot", lambda self: None)


def written_before_the_last_byte(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sending, "began", Sending.wrote)


def written_after_its_time(patch: pytest.MonkeyPatch) -> None:
    """What was cancelled by time is written by a session that does not look."""
    patch.setattr(Request, "shut", lambda self, end: True)


MUTANTS: tuple[Patch, ...] = (
    wrong_end_of_the_list,
    requeued_backwards,
    lost_reference,
    reference_not_taken,
    late_invalidation,
    write_in_spite_of_invalidation,
    half_written_one_forgotten,
    at_most_once_written_again,
    repeats_not_recognised,
    their_loss_of_memory_overlooked,
    written_before_the_last_byte,
    written_after_its_time,
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_state_machine_notices(mutant: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - an assertion, or a group of them
        run_state_machine_as_test(OutboxMachine, settings=SEARCH)
