"""Damping: a link that comes and goes is believed more slowly each time.

Each loss adds to a penalty that halves every minute. The first return is believed at once; from
the second loss within a minute on, a return has to last longer and longer before it is told.
"""

LOSS = 1.0
JUMP = 1.0  # a cost that fell so much that it was told at once
PENALTY_MAX = 6.0
HOLD_MAX_S = 2.0**PENALTY_MAX

_HALF_LIFE_S = 60.0
_HARMLESS = 1.5
_FORGOTTEN = 0.1


class Damping:
    __slots__ = ("_at", "_penalty")

    def __init__(self, now: float) -> None:
        self._penalty = 0.0
        self._at = now

    def penalty(self, now: float) -> float:
        self._penalty *= 0.5 ** (max(0.0, now - self._at) / _HALF_LIFE_S)
        self._at = now
        return self._penalty

    def add(self, amount: float, now: float) -> None:
        self._penalty = min(PENALTY_MAX, self.penalty(now) + amount)

    def hold_s(self, now: float) -> float:
        """How long good news has to last before it is told."""
        penalty = self.penalty(now)
        return 0.0 if penalty < _HARMLESS else 2.0**penalty

    def is_forgotten(self, now: float) -> bool:
        return self.penalty(now) < _FORGOTTEN
