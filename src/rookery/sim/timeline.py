"""Virtual time: nothing sleeps, time jumps from one event to the next.

    timeline.at(2.5, action, argument)     once the clock says 2.5
    timeline.last(settle)                 when everything of this very moment is done
    timeline.invariants.append(check)      after every event, whatever happens
    timeline.watch(check, every_s=1.0)     for checks that take long

A check raises InvariantError; its text includes the last events.
"""

import itertools
from collections.abc import Callable
from heapq import heappop, heappush

from rookery.errors import UnreachableError
from rookery.sim.journal import Journal

EVENTS_MAX = 1 << 16  # at one and the same moment: more is a livelock
_LINES_SHOWN = 40  # events, with a failure

Action = Callable[..., None]  # called with the arguments given to `at`
Check = Callable[[], None]


class InvariantError(AssertionError):
    """Something that must always hold does not: a bug, never the network's fault."""


class Timeline:
    """The clock, and everything that is going to happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self.journal = Journal()
        self.invariants: list[Check] = []
        self._queue: list[tuple[float, int, Action, tuple[object, ...]]] = []
        self._count = 0
        self._checked_s = -1.0
        self._closing: list[Callable[[], None]] = []

    @property
    def pending(self) -> int:
        """How many events are to come."""
        return len(self._queue)

    def at(self, time: float, action: Action, *arguments: object) -> None:
        self._count = count = self._count + 1
        now = self.now
        heappush(self._queue, (time if time > now else now, count, action, arguments))

    def soon(self, action: Action, *arguments: object) -> None:
        self.at(self.now, action, *arguments)

    def last(self, action: Callable[[], None]) -> None:
        """Do this once nothing else is left to happen at this moment."""
        self._closing.append(action)

    def watch(self, check: Check, every_s: float) -> None:
        """Have a check run now and again, for ever."""

        def again() -> None:
            check()
            self.at(self.now + every_s, again)

        self.at(self.now + every_s, again)

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        until = self.now + seconds
        self._pass(until, None)
        self.now = until

    def run_until(self, condition: Callable[[], bool], limit_s: float = 120.0) -> None:
        """Let time pass until the condition holds; UnreachableError when it never does."""
        if not self._pass(self.now + limit_s, condition):
            raise UnreachableError(f"not within {limit_s} virtual seconds")

    def _pass(self, until: float, condition: Callable[[], bool] | None) -> bool:
        """Let everything happen, one thing after the other; whether the condition came true."""
        queue = self._queue
        try:
            for count in itertools.count(1):
                if count % EVENTS_MAX == 0:
                    self._check_progress()
                if condition is not None and not self._closing and condition():
                    return True
                if queue and queue[0][0] <= until:
                    self.now, _, action, arguments = heappop(queue)
                    action(*arguments)
                elif not self._closing:
                    return False
                if self._closing and (not queue or queue[0][0] > self.now):
                    self._close()
                for check in self.invariants:
                    check()
        except InvariantError as error:
            error.add_note("\n".join(["what happened last:", *self.journal.lines(_LINES_SHOWN)]))
            raise
        raise AssertionError("unreachable")

    def _check_progress(self) -> None:
        if self.now == self._checked_s:
            raise InvariantError(f"{EVENTS_MAX} events, and time stands still")
        self._checked_s = self.now

    def _close(self) -> None:
        closing, self._closing = self._closing, []
        for close in closing:
            close()
