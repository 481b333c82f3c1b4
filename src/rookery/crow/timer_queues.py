"""Timer queues: deadlines of entries that use a few distinct timeouts.

Entries with the same timeout are due in the order in which they were added, so each timeout has
a plain queue and nothing is sorted. `entry.due` is authoritative: an entry that was rescheduled or
cancelled leaves an outdated place in its queue, which is skipped when it comes to the front.
"""

from collections import deque
from typing import Generic, Protocol, TypeVar


class TimerEntry(Protocol):
    """An entry of a timer queue."""

    due: float | None  # None: not scheduled


Entry = TypeVar("Entry", bound=TimerEntry)


class TimerQueues(Generic[Entry]):
    """The entries by deadline. Time must not run backwards between the calls."""

    __slots__ = ("_queues",)

    def __init__(self) -> None:
        self._queues: dict[float, deque[tuple[float, Entry]]] = {}

    def __len__(self) -> int:
        """Places in the queues, outdated ones included."""
        return sum(map(len, self._queues.values()))

    def wait(self, entry: Entry, wait_s: float, now: float) -> None:
        """Schedule the entry; this replaces an earlier schedule."""
        queue = self._queues.get(wait_s)
        if queue is None:
            queue = self._queues[wait_s] = deque()
        entry.due = due = now + wait_s
        queue.append((due, entry))

    @property
    def deadline(self) -> float | None:
        """When the next entry is due."""
        earliest = None
        emptied = []
        for wait_s, queue in self._queues.items():
            while queue and queue[0][1].due != queue[0][0]:
                queue.popleft()
            if not queue:
                emptied.append(wait_s)
            elif earliest is None or queue[0][0] < earliest:
                earliest = queue[0][0]
        for wait_s in emptied:
            del self._queues[wait_s]
        return earliest

    def take_due(self, now: float) -> list[Entry]:
        """Remove and return the entries that are due, in order within each queue."""
        due = []
        for queue in self._queues.values():
            while queue and queue[0][0] <= now:
                time, entry = queue.popleft()
                if entry.due == time:
                    entry.due = None
                    due.append(entry)
        return due
