"""Lanes: deadlines of things that wait one of a few lengths of time.

Whatever waits equally long is due in the order it came, so each length has a plain queue and
nothing is ever sorted. An entry says itself when it is due; one that moved or is over leaves its
old place in the queue behind, to be skipped when it surfaces.
"""

from collections import deque
from typing import Generic, Protocol, TypeVar


class TimerEntry(Protocol):
    """Anything that can stand in a lane."""

    due: float | None  # None: it waits no more


Entry = TypeVar("Entry", bound=TimerEntry)


class TimerQueues(Generic[Entry]):
    """Who is due next. Time must not run backwards between the calls."""

    __slots__ = ("_lanes",)

    def __init__(self) -> None:
        self._lanes: dict[float, deque[tuple[float, Entry]]] = {}

    def __len__(self) -> int:
        """Places held, the outdated ones included."""
        return sum(map(len, self._lanes.values()))

    def wait(self, entry: Entry, wait_s: float, now: float) -> None:
        """Have the entry come up then, and no longer when it would have before."""
        lane = self._lanes.get(wait_s)
        if lane is None:
            lane = self._lanes[wait_s] = deque()
        entry.due = due = now + wait_s
        lane.append((due, entry))

    @property
    def deadline(self) -> float | None:
        """When the next entry is due."""
        earliest = None
        emptied = []
        for wait_s, lane in self._lanes.items():
            while lane and lane[0][1].due != lane[0][0]:
                lane.popleft()
            if not lane:
                emptied.append(wait_s)
            elif earliest is None or lane[0][0] < earliest:
                earliest = lane[0][0]
        for wait_s in emptied:
            del self._lanes[wait_s]
        return earliest

    def take_due(self, now: float) -> list[Entry]:
        """The entries that are due, each lane in order; they wait no more."""
        due = []
        for lane in self._lanes.values():
            while lane and lane[0][0] <= now:
                time, entry = lane.popleft()
                if entry.due == time:
                    entry.due = None
                    due.append(entry)
        return due
