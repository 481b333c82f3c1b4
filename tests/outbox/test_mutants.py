"""Mutants of the core are caught: each of these mistakes makes the state machine fail."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from rookery.outbox.intake import RequestIntake
from rookery.outbox.lists import WorkingList
from rookery.outbox.peer import OutboxPeer
from rookery.outbox.request import OutboxRequest
from rookery.outbox.send_queue import SendQueue
from rookery.outbox.session import OutboxSession
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.request import RequestFrame
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
    def requeue(self: WorkingList, requests: Iterable[OutboxRequest]) -> None:
        self._requests.extend(requests)

    patch.setattr(WorkingList, "requeue", requeue)


def requeued_backwards(patch: pytest.MonkeyPatch) -> None:
    def requeue(self: WorkingList, requests: Iterable[OutboxRequest]) -> None:
        self._requests.extendleft(requests)

    patch.setattr(WorkingList, "requeue", requeue)


def lost_reference(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OutboxRequest, "release", lambda self: None)


def reference_not_taken(patch: pytest.MonkeyPatch) -> None:
    real = OutboxRequest.set_queued

    def set_queued(self: OutboxRequest, id_: int, holder: OutboxPeer) -> None:
        real(self, id_, holder)
        self.references -= 1

    patch.setattr(OutboxRequest, "set_queued", set_queued)


def late_invalidation(patch: pytest.MonkeyPatch) -> None:
    """set_invalid wins although the write began."""

    def set_invalid(self: OutboxRequest) -> bool:
        self._border = RequestState.CANCELLED
        return True

    patch.setattr(OutboxRequest, "set_invalid", set_invalid)


def write_in_spite_of_invalidation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OutboxRequest, "begin_write", lambda self: True)
    patch.setattr(OutboxRequest, "cross_border", lambda self: True)
    patch.setattr(OutboxRequest, "is_valid", lambda self: True)


def half_written_one_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = OutboxPeer.lost

    def lost(self: OutboxPeer, session: OutboxSession, now: float) -> None:
        if session.sending is not None:
            session.sending.half = None
        real(self, session, now)

    patch.setattr(OutboxPeer, "lost", lost)


def at_most_once_written_again(patch: pytest.MonkeyPatch) -> None:
    real = OutboxPeer.end

    def end(
        self: OutboxPeer,
        request: OutboxRequest,
        state: RequestState,
        failure: RequestFailure | None = None,
    ) -> None:
        if failure is RequestFailure.FATE_UNKNOWN and not request.qos:
            request.set_requeued()
            self._working.requeue([request])
        else:
            real(self, request, state, failure)

    patch.setattr(OutboxPeer, "end", end)


def repeats_not_recognised(patch: pytest.MonkeyPatch) -> None:
    real = RequestIntake.arrived

    def arrived(self: RequestIntake, frame: RequestFrame) -> object:
        if frame.id <= self.handled:
            self.received = frame.id - 1
            self.handled = frame.id - 1
        return real(self, frame)

    patch.setattr(RequestIntake, "arrived", arrived)


def their_loss_of_memory_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OutboxPeer, "_they_forgot", lambda self: None)


def written_before_the_last_byte(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SendQueue, "began", SendQueue.wrote)


def written_after_its_time(patch: pytest.MonkeyPatch) -> None:
    """What was cancelled by time is written by a session that does not look."""
    patch.setattr(OutboxRequest, "shut", lambda self, end: True)


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
