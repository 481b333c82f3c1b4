"""Expiry: which request's time is up next."""

from heapq import heapify, heappop, heappush
from typing import Final

from rookery.outbox.request import Request

_SWEEP_AT: Final = 1024


class Expiry:
    """A heap; requests that ended stay in it until their time comes, or until they are the most."""

    __slots__ = ("_alive", "_heap", "_number")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Request]] = []
        self._number = 0  # keeps requests out of comparisons
        self._alive = 0

    def __len__(self) -> int:
        return self._alive

    def add(self, request: Request) -> None:
        if request.expires_at is not None:
            self._number += 1
            self._alive += 1
            heappush(self._heap, (request.expires_at, self._number, request))

    def ended(self, request: Request) -> None:
        """It needs no watching any more."""
        if request.expires_at is None:
            return
        self._alive -= 1
        if len(self._heap) >= _SWEEP_AT and self._alive * 2 < len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].state.is_end]
            heapify(self._heap)

    @property
    def deadline(self) -> float | None:
        heap = self._heap
        while heap and heap[0][2].state.is_end:
            heappop(heap)
        return heap[0][0] if heap else None

    def take_due(self, now: float) -> list[Request]:
        """Those whose time is up; each comes once."""
        due = []
        while (deadline := self.deadline) is not None and deadline <= now:
            due.append(heappop(self._heap)[2])
        return due
