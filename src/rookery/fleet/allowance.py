"""Allowance: so much a second, and a little saved up; whatever the wall clock does."""


class Allowance:
    """`rate` a second, at most `burst` of them saved; full at first."""

    __slots__ = ("_at", "_burst", "_level", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = burst
        self._at = now

    def take(self, now: float) -> bool:
        """One, or False."""
        # A clock set back must not stop what it limits until it has caught up.
        passed = max(0.0, now - self._at)
        self._at = now
        self._level = min(self._burst, self._level + passed * self._rate)
        if self._level < 1.0:
            return False
        self._level -= 1.0
        return True
