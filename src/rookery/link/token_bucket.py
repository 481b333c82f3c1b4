"""Token buckets: a rate per second, and a burst that may be saved up."""

from collections import OrderedDict

BUCKETS_MAX = 4096


class TokenBucket:
    """`rate` tokens a second, at most `burst` of them saved; full at first.

    `now` may be a wall clock: one that is set back gives nothing, and refills from there on.
    """

    __slots__ = ("_burst", "_filled_at", "_level", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._level = burst
        self._filled_at = now

    def level(self, now: float) -> float:
        """Tokens at this time; below zero while a debt is paid off."""
        self._level = min(self._burst, self._level + max(0.0, now - self._filled_at) * self._rate)
        self._filled_at = now
        return self._level

    def take(self, amount: float, now: float) -> bool:
        """Take `amount` tokens, or none and return False."""
        if self.level(now) < amount:
            return False
        self._level -= amount
        return True

    def charge(self, amount: float, now: float) -> None:
        """Take tokens for work already done, into debt if need be, by one burst at most."""
        self._level = max(-self._burst, self.level(now) - amount)

    def ready_at(self, amount: float, now: float) -> float:
        """When `take(amount)` succeeds if nothing else is taken; `amount` is at most the burst."""
        # The microsecond outweighs what rounding may leave missing at that time.
        missing = min(amount, self._burst) - self.level(now)
        return now if missing <= 0 else now + missing / self._rate + 1e-6


class TokenBuckets:
    """A bucket per key; the longest unused one makes room, and starts full when it returns."""

    __slots__ = ("_buckets", "_burst", "_rate")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[object, TokenBucket] = OrderedDict()

    def take(self, key: object, now: float) -> bool:
        """Take one token of this key's bucket; False when it has none."""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(self._rate, self._burst, now)
            if len(self._buckets) > BUCKETS_MAX:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        return bucket.take(1.0, now)

    def forget(self, key: object) -> None:
        self._buckets.pop(key, None)
