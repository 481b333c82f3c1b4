"""Timers: one deadline per name, cheap to move.

A deadline that moves later is left where it is and found too early, which does no harm; one that
moves earlier is entered again. The old entries stay in the heap until they surface, or until they
outnumber the live ones.
"""

from heapq import heapify, heappop, heappush
from typing import Final

_STALE_MAX: Final = 64


class Timers:
    """The names by deadline; none is due later than its deadline."""

    __slots__ = ("_armed", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._armed: dict[str, float] = {}

    def __len__(self) -> int:
        """Entries held, the outdated ones included."""
        return len(self._heap)

    def arm(self, name: str, deadline: float) -> None:
        """Have the name come up no later than this."""
        armed = self._armed.get(name)
        if armed is not None and armed <= deadline:
            return
        self._armed[name] = deadline
        heappush(self._heap, (deadline, name))
        if len(self._heap) > 2 * len(self._armed) + _STALE_MAX:
            self._heap = [(time, name) for name, time in self._armed.items()]
            heapify(self._heap)

    def disarm(self, name: str) -> None:
        self._armed.pop(name, None)

    @property
    def deadline(self) -> float | None:
        """When the next name is due."""
        while self._heap and self._armed.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now: float) -> list[str]:
        """The names that are due; they are armed no more."""
        due = []
        while (deadline := self.deadline) is not None and deadline <= now:
            _, name = heappop(self._heap)
            del self._armed[name]
            due.append(name)
        return due
