"""Token bucket: so much a second, and a little saved up for bursts."""

from rookery.wire.mesh.node_id import NodeId


class MeshTokenBucket:
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


_NEIGHBOURS_MAX = 1024


class PeerRateLimit:
    """`per_s` answers a second to each neighbour, `burst` at once."""

    __slots__ = ("_buckets", "_burst", "_per_s")

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._buckets: dict[NodeId, MeshTokenBucket] = {}

    def allow(self, neighbour: NodeId, now: float) -> bool:
        """Whether one more answer may go to what this neighbour sent; it is counted then."""
        bucket = self._buckets.pop(neighbour, None) or MeshTokenBucket(
            self._per_s, self._burst, now
        )
        if len(self._buckets) == _NEIGHBOURS_MAX:
            del self._buckets[next(iter(self._buckets))]  # the one heard of longest ago
        self._buckets[neighbour] = bucket
        return bucket.take(1.0, now)

    def forget(self, neighbour: NodeId) -> None:
        self._buckets.pop(neighbour, None)
