"""Peer: all requests for one host, through whatever sessions there are.

`add_packet` and `invalidated` may be called from any thread: they touch the inbox only, under the
guard. Everything else belongs to the loop's thread.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from rookery.errors import CongestionError, UnreachableError
from rookery.outbox.intake import IncomingRequest, RequestIntake, RequestOutcome
from rookery.outbox.ledger import Ledger, RequestNumbering
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.lists import RequestExpiry, WorkingList
from rookery.outbox.pool import Guard
from rookery.outbox.request import OutboxRequest
from rookery.outbox.session import OutboxSession
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import IntroductionFrame, Qos

_ID_MAX: Final = 2**63
_ACKNOWLEDGED: Final = RequestState.ACKNOWLEDGED


class OutboxPeerContext:
    """What all peers of an outbox share."""

    __slots__ = ("ended", "expiry", "guard", "hashname", "ledger", "limits", "stirred")

    def __init__(
        self,
        hashname: bytes,
        limits: OutboxLimits,
        guard: Guard,
        expiry: RequestExpiry,
        stirred: Callable[["OutboxPeer"], None],
        ended: Callable[["OutboxPeer", list[OutboxRequest]], None],
        ledger: Ledger | None = None,
    ) -> None:
        self.hashname = hashname
        self.limits = limits
        self.guard = guard
        self.expiry = expiry
        self.stirred = stirred  # from any thread: the loop shall call process_packet_queue
        self.ended = ended  # of one and the same state
        self.ledger = ledger


class OutboxPeer:
    """Made by `Outbox.add_peer`."""

    def __init__(self, host: str, numbering: RequestNumbering, context: OutboxPeerContext) -> None:
        self.host = host
        self.epoch = numbering.epoch
        self.memory = numbering.memory
        self.their_memory = numbering.their_memory
        self.intake = RequestIntake(host, context.limits)
        self.session: OutboxSession | None = None
        self.is_removed = False
        self.is_alarmed = False
        self.sessions = 0  # so far
        self.count = 0  # of requests without an end
        self.bytes = 0  # as the pool counts them
        self._context = context
        self.guard = context.guard
        self._requests_max = context.limits.peer_requests_max
        self._bytes_max = context.limits.peer_bytes_max
        self._queue_max = context.limits.session_queue_max
        self._next_id = numbering.next_id
        self._added: deque[OutboxRequest] = deque()  # the inbox
        self._dropped: deque[OutboxRequest] = deque()
        self._is_stirred = False
        self._working = WorkingList()
        self._last_id = 0  # of those that came out of the inbox
        self._cleared_id = 0 if context.ledger is not None else _ID_MAX
        self._clear_requested_id = 0

    # --- from any thread ---

    def add_packet(self, request: OutboxRequest) -> None:
        """Queue it, behind all that were added before.

        UnreachableError when the peer was removed, CongestionError at a bound. One that is invalid
        already is left alone.
        """
        size = request.size
        with self.guard:
            if self.is_removed:
                raise UnreachableError(f"{self.host[:8]} was removed")
            if self.count >= self._requests_max or self.bytes + size > self._bytes_max:
                raise CongestionError(
                    f"{self.count} requests with {self.bytes} bytes wait for {self.host[:8]}"
                )
            if not request.is_valid():
                return
            request.set_queued(self._next_id, self)
            self._next_id += 1
            self.count += 1
            self.bytes += size
            self._added.append(request)
            if self._is_stirred:
                return
            self._is_stirred = True
        self._context.stirred(self)

    def invalidated(self, request: OutboxRequest) -> None:
        """One of ours will never be written: take it out of its list."""
        with self.guard:
            self._dropped.append(request)
            is_first, self._is_stirred = not self._is_stirred, True
        if is_first:
            self._context.stirred(self)

    # --- from the loop's thread ---

    def process_packet_queue(self, now: float) -> None:
        """From the inbox to the working list, and on to the session."""
        with self.guard:
            added, self._added = self._added, deque()
            dropped, self._dropped = self._dropped, deque()
            self._is_stirred = False
        for request in added:
            if self.is_removed:
                self._end_removed(request)
            elif request.is_valid():
                self._wait(request)
            else:
                self.end(request, request.end_unwritten)
        for request in dropped:
            self._drop(request)
        self.fill(now)

    def _wait(self, request: OutboxRequest) -> None:
        self._working.append(request)
        self._last_id = request.id
        self._context.expiry.add(request)
        if self._context.ledger is not None:
            self._context.ledger.added(self.host, request)

    def _drop(self, request: OutboxRequest) -> None:
        if not request.state.is_end:
            in_working_list = request.state is RequestState.QUEUED
            self.end(request, request.end_unwritten)
            if in_working_list:
                self._working.dropped(request)

    def fill(self, now: float) -> None:
        """From the working list to the session's queue, as far as that has room."""
        session = self.session
        if session is None or session.sending is None:
            return
        sending = session.sending
        queue, queue_max = sending.queue, self._queue_max
        has_more = False
        while len(queue) < queue_max and (request := self._working.first) is not None:
            if request.id > self._cleared_id:
                self._ask_to_clear(request.id)
                break
            self._working.popleft()
            if request.is_valid():
                sending.append(request)
                has_more = True
            else:
                self.end(request, request.end_unwritten)
        if has_more:
            session.stir()

    def _ask_to_clear(self, first_id: int) -> None:
        ledger = self._context.ledger
        assert ledger is not None
        assert self.their_memory is not None
        if first_id > self._clear_requested_id:
            self._clear_requested_id = min(first_id + self._queue_max, self._last_id)
            ledger.clear(self.host, self._clear_requested_id, self.their_memory)

    def cleared(self, id_: int, now: float) -> None:
        """The ledger has it that requests up to this id may be written."""
        self._cleared_id = max(self._cleared_id, id_)
        self.fill(now)

    def restore(self, requests: list[OutboxRequest], began_id: int) -> None:
        """What an earlier process left behind, in order; up to `began_id` it may be written."""
        for request in requests:
            with self.guard:
                request.set_queued(request.id, self)
                self.count += 1
                self.bytes += request.size
            request.restore(is_begun=request.id <= began_id)
            self._working.append(request)
            self._last_id = request.id
            self._context.expiry.add(request)
            request.release()  # the list's reference is the only one
        self._next_id = max(self._next_id, self._last_id + 1, began_id + 1)
        self._cleared_id = max(self._cleared_id, began_id)

    def floor(self, floor: int) -> int:
        ledger = self._context.ledger
        return floor if ledger is None else ledger.floor(self.host, floor)

    # --- sessions ---

    @property
    def introduction(self) -> IntroductionFrame:
        limits = self._context.limits
        return IntroductionFrame(
            self._context.hashname,
            self.epoch,
            self.memory,
            self.intake.epoch,
            self.intake.settled,
            limits.window_requests,
            limits.window_bytes,
        )

    def introduced(self, session: OutboxSession, them: IntroductionFrame, now: float) -> None:
        """The peer has introduced itself: this session replaces an earlier one."""
        if self.session is not None:
            self.session.close(now)
        self.intake.introduced(them.epoch)
        if them.heard == self.epoch:
            self._they_handled(them.handled)
        if self.their_memory not in (None, them.memory):
            self._they_forgot()
        if self.their_memory != them.memory:
            self.their_memory = them.memory
            self._clear_requested_id = 0  # the ledger records which memory of the peer we write to
            if self._context.ledger is not None:
                self._cleared_id = 0
        self.session = session
        self.sessions += 1
        self.fill(now)

    def _begun(self) -> list[OutboxRequest]:
        """What waits to be written again: always the first of those that wait."""
        return list(takewhile(lambda request: request.has_begun, self._working))

    def _they_handled(self, id_: int) -> None:
        """Also what a session was too short to acknowledge: so each one gets further."""
        for request in self._begun():
            if request.id > id_ or not request.was_written or request.wants_reply:
                break
            self.end(request, RequestState.ACKNOWLEDGED)
            self._working.dropped(request)

    def _they_forgot(self) -> None:
        """Whether they handled what we wrote they cannot tell; again might be once too often."""
        for request in self._begun():
            if request.was_written and request.qos is Qos.ONCE:
                self.end(request, RequestState.FAILED, RequestFailure.FATE_UNKNOWN)
                self._working.dropped(request)

    def lost(self, session: OutboxSession, now: float) -> None:
        """A session is over: what it had goes back to the head, in its old order."""
        if session is not self.session:
            return
        self.session = None
        sending = session.sending
        assert sending is not None
        back = []
        for request in sending.written:
            if request.qos is Qos.ONCE_AT_MOST or request.is_late(now):
                self.end(request, RequestState.FAILED, RequestFailure.FATE_UNKNOWN)
            else:
                back.append(request)
        if sending.half is not None:
            if sending.half.is_late(now):
                self._end_late(sending.half)
            else:
                back.append(sending.half)
        back += [request for request in sending.queue if request.is_queued]
        for request in back:
            request.set_requeued()
        self._working.requeue(back)

    def handled(self, arrival: IncomingRequest, outcome: RequestOutcome) -> None:
        """The application has handled an incoming request."""
        answer = self.intake.done(arrival, outcome)
        if answer is not None and self.session is not None:
            self.session.answer(arrival, answer)

    # --- ends ---

    def expired(self, request: OutboxRequest) -> None:
        """The request has expired: it is dropped if it waits; one in flight may still arrive."""
        state = request.state
        if request.shut(RequestState.EXPIRED):
            self.end(request, request.end_unwritten)
        elif request.is_queued and state is not RequestState.WRITING:
            self._end_late(request)
        if state is RequestState.QUEUED:
            self._working.dropped(request)

    def _end_late(self, request: OutboxRequest) -> None:
        """Begun, and not to be written again."""
        if request.was_written:
            self.end(request, RequestState.FAILED, RequestFailure.FATE_UNKNOWN)
        else:
            self.end(request, RequestState.EXPIRED)

    def remove(self, now: float) -> None:
        """The host is gone from the configuration, and everything for it with it."""
        with self.guard:
            self.is_removed = True
        if self.session is not None:
            self.session.close(now)
        self.process_packet_queue(now)
        for request in list(self._working):
            self._end_removed(request)
        self._working = WorkingList()

    def close(self, now: float) -> None:
        """The process ends: what a ledger has is left to the next one.

        From here on it is too late to cancel, since that would not be recorded.
        """
        with self.guard:
            self.is_removed = True
            added, self._added = self._added, deque()
        for request in added:
            self._wait(request)
        if self.session is not None:
            self.session.close(now)
        for request in list(self._working):
            if not request.begin_write():
                self.end(request, request.end_unwritten)

    def _end_removed(self, request: OutboxRequest) -> None:
        if request.shut(RequestState.FAILED) and request.end_unwritten is not RequestState.FAILED:
            self.end(request, request.end_unwritten)
        elif request.was_written:
            self.end(request, RequestState.FAILED, RequestFailure.FATE_UNKNOWN)
        else:
            self.end(request, RequestState.FAILED, RequestFailure.PEER_REMOVED)

    def end(
        self, request: OutboxRequest, state: RequestState, failure: RequestFailure | None = None
    ) -> None:
        """It is over: out of all lists, and its reference released."""
        assert not request.state.is_end, "a request ended twice"
        request.reset_queued()
        request.state = state
        request.failure = failure
        context = self._context
        if request.id <= self._last_id:
            if request.expires_at is not None:
                context.expiry.ended(request)
            if context.ledger is not None:
                context.ledger.ended(self.host, request)
        with self.guard:
            self.count -= 1
            self.bytes -= request.size
        context.ended(self, [request])
        request.release()

    def acknowledged(self, requests: list[OutboxRequest]) -> None:
        """As `end` for each, at the price of one: most requests end here."""
        context, size = self._context, 0
        for request in requests:
            assert not request.state.is_end, "a request ended twice"
            request.state = _ACKNOWLEDGED
            size += request.size
            if request.expires_at is not None:
                context.expiry.ended(request)
            if context.ledger is not None:
                context.ledger.ended(self.host, request)
        with self.guard:
            self.count -= len(requests)
            self.bytes -= size
        context.ended(self, requests)
        with self.guard:
            for request in requests:
                request.let_go()

    def requests(self) -> Iterator[OutboxRequest]:
        """All without an end, oldest first."""
        sending = self.session.sending if self.session is not None else None
        if sending is not None:
            yield from sending.written
            if sending.half is not None:
                yield sending.half
            yield from [request for request in sending.queue if request.is_queued]
        yield from self._working
        with self.guard:
            added = list(self._added)
        yield from added
