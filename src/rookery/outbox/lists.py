"""Lists of a peer's requests: those that wait for a session in order, and deadlines as a heap.

In both, a request that was dropped or has ended stays as a mark until its turn comes; when marks
are the majority, the list is rebuilt. So dropping needs no search, and memory stays within twice
the live requests.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Final

from rookery.outbox.request import OutboxRequest

_EXPIRY_SWEEP_AT: Final = 1024


class RequestExpiry:
    """Requests by deadline, as a heap."""

    __slots__ = ("_alive", "_heap", "_number")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, OutboxRequest]] = []
        self._number = 0  # keeps requests out of comparisons
        self._alive = 0

    def __len__(self) -> int:
        return self._alive

    def add(self, request: OutboxRequest) -> None:
        if request.expires_at is not None:
            self._number += 1
            self._alive += 1
            heappush(self._heap, (request.expires_at, self._number, request))

    def ended(self, request: OutboxRequest) -> None:
        """The request has ended, so its deadline does not matter any more."""
        if request.expires_at is None:
            return
        self._alive -= 1
        if len(self._heap) >= _EXPIRY_SWEEP_AT and self._alive * 2 < len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].state.is_end]
            heapify(self._heap)

    @property
    def deadline(self) -> float | None:
        heap = self._heap
        while heap and heap[0][2].state.is_end:
            heappop(heap)
        return heap[0][0] if heap else None

    def take_due(self, now: float) -> list[OutboxRequest]:
        """Remove and return the requests that have expired."""
        due = []
        while (deadline := self.deadline) is not None and deadline <= now:
            due.append(heappop(self._heap)[2])
        return due


_SWEEP_AT: Final = 64


class WorkingList:
    """Requests that wait for a session, oldest first; for the loop's thread only."""

    __slots__ = ("_dropped", "_requests")

    def __init__(self) -> None:
        self._requests: deque[OutboxRequest] = deque()
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._requests) - self._dropped

    def __iter__(self) -> Iterator[OutboxRequest]:
        for request in self._requests:
            if request.is_queued:
                yield request

    def append(self, request: OutboxRequest) -> None:
        self._requests.append(request)

    def requeue(self, requests: Iterable[OutboxRequest]) -> None:
        """Put them back at the head in their order, before those that were added meanwhile."""
        self._requests.extendleft(reversed(list(requests)))

    @property
    def first(self) -> OutboxRequest | None:
        while self._requests:
            if self._requests[0].is_queued:
                return self._requests[0]
            self._requests.popleft()
            self._dropped -= 1
        return None

    def popleft(self) -> OutboxRequest:
        """The `first`, which there must be."""
        return self._requests.popleft()

    def dropped(self, request: OutboxRequest) -> None:
        """One of the requests is not queued any more."""
        assert not request.is_queued
        self._dropped += 1
        if self._dropped >= _SWEEP_AT and self._dropped * 2 > len(self._requests):
            self._requests = deque(self)
            self._dropped = 0
