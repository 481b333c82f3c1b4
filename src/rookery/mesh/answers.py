"""Answers: how many of them each neighbour may cause.

Echo replies and path errors are sent because somebody else sent something. A bucket of tokens for
each neighbour keeps a flood of causes from becoming a flood of answers.
"""

from rookery.mesh.bucket import Bucket
from rookery.wire.node_id import NodeId

_NEIGHBOURS_MAX = 1024


class Answers:
    """`per_s` answers a second to each neighbour, `burst` at once."""

    __slots__ = ("_buckets", "_burst", "_per_s")

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._buckets: dict[NodeId, Bucket] = {}

    def allow(self, neighbour: NodeId, now: float) -> bool:
        """Whether one more answer may go to what this neighbour sent; it is counted then."""
        bucket = self._buckets.pop(neighbour, None) or Bucket(self._per_s, self._burst, now)
        if len(self._buckets) == _NEIGHBOURS_MAX:
            del self._buckets[next(iter(self._buckets))]  # the one heard of longest ago
        self._buckets[neighbour] = bucket
        return bucket.take(1.0, now)

    def forget(self, neighbour: NodeId) -> None:
        self._buckets.pop(neighbour, None)
