"""Wall time for a hub, and who is silent although clocks may be set.

Entries carry wall seconds, as several hubs share them. When the wall clock is set, everybody's
last report is suddenly long ago, or yet to come. So each reading is held against the monotonic
clock; after a step nobody is called silent until everybody had the time to report again, and from
then on a report out of the future is one from before the step.
"""

import time
from collections.abc import Callable

STEP_S = 2.0  # apart from what slewing does between two readings

Seconds = Callable[[], float]


class HubClock:
    """Reads both clocks; a step is noticed by whatever reading comes next."""

    def __init__(
        self, silent_after_s: float, wall: Seconds = time.time, monotonic: Seconds = time.monotonic
    ) -> None:
        self._silent_after_s = silent_after_s
        self._wall = wall
        self._monotonic = monotonic
        self._offset_s = wall() - monotonic()
        self._settled_at = monotonic()
        self.steps = 0  # how often the wall clock was set

    def now(self) -> float:
        """Wall seconds."""
        wall_s, monotonic_s = self._wall(), self._monotonic()
        offset_s = wall_s - monotonic_s
        if abs(offset_s - self._offset_s) > STEP_S:
            self.steps += 1
            self._settled_at = monotonic_s + self._silent_after_s
        self._offset_s = offset_s
        return wall_s

    def is_silent(self, last_seen: float) -> bool:
        """Whether somebody seen last at this time should have reported since."""
        age_s = self.now() - last_seen
        if self._monotonic() < self._settled_at:
            return False
        return not -STEP_S <= age_s <= self._silent_after_s

    def counted(self, last_seen: float) -> float:
        """The same, but neither in the future nor, right after a step, before the silence."""
        now = self.now()
        if self._monotonic() < self._settled_at:
            last_seen = max(last_seen, now - self._silent_after_s)
        return min(last_seen, now)
