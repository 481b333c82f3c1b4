"""Token bucket: so much a second, and a little saved up for bursts."""


class Bucket:
    """`rate` tokens a second, at most `burst` of them saved; full at first."""

    __slots__ = ("_burst", "_filled_at", "_level", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = burst
        self._filled_at = now

    def level(self, now: float) -> float:
        """Below zero while a debt is paid off."""
        self._level = min(self._burst, self._level + max(0.0, now - self._filled_at) * self._rate)
        self._filled_at = max(now, self._filled_at)
        return self._level

    def take(self, amount: float, now: float) -> bool:
        """All of it, or nothing and False."""
        if self.level(now) < amount:
            return False
        self._level -= amount
        return True

    def charge(self, amount: float, now: float) -> None:
        """Take what has been spent already, into debt if need be, by one burst at most."""
        self._level = max(-self._burst, self.level(now) - amount)

    def ready_at(self, amount: float, now: float) -> float:
        """When `take(amount)` will work, if nobody else takes; `amount` is at most the burst."""
        # The microsecond outweighs what rounding may leave missing at that time.
        missing = min(amount, self._burst) - self.level(now)
        return now if missing <= 0 else now + missing / self._rate + 1e-6
