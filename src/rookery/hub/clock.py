"""Wall time for a hub, and which senders are silent, robust against steps of the clock.

Entries carry wall seconds, as several hubs share them. When the wall clock is set, last reports
suddenly lie far in the past or in the future. So each reading is compared with the monotonic clock:
after a step no sender counts as silent until all had the time to report again, and from then on a
report dated in the future is one from before the step.
"""

import time
from collections.abc import Callable

STEP_S = 2.0  # apart from what slewing does between two readings

Seconds = Callable[[], float]


class HubClock:
    """Reads both clocks; a step is noticed at the next reading."""

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
        """True if a sender last seen at this time should have reported since."""
        age_s = self.now() - last_seen
        if self._monotonic() < self._settled_at:
            return False
        return not -STEP_S <= age_s <= self._silent_after_s

    def counted(self, last_seen: float) -> float:
        """`last_seen` corrected for steps: not in the future, and not silent right after a step."""
        now = self.now()
        if self._monotonic() < self._settled_at:
            last_seen = max(last_seen, now - self._silent_after_s)
        return min(last_seen, now)
