"""Rate limits of hellos: per network and for all together."""

from rookery.link.source_network import source_network
from rookery.link.token_bucket import TokenBucket


class HelloLimiter:
    """A bounded table of addresses; the longest silent ones are forgotten first, by halves."""

    __slots__ = ("_burst", "_half", "_old", "_rate", "_total", "_young")

    def __init__(
        self, total: TokenBucket, *, rate: float, burst: float, addresses_max: int = 65_536
    ) -> None:
        self._total = total
        self._rate = rate
        self._burst = burst
        self._half = addresses_max // 2
        self._young: dict[str, TokenBucket] = {}
        self._old: dict[str, TokenBucket] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def admits(self, address: str, now: float) -> bool:
        """Whether a hello from that `ip:port` may be looked at."""
        host = network(address)
        allowance = self._young.get(host)
        if allowance is None:
            allowance = self._old.pop(host, None) or TokenBucket(self._rate, self._burst, now)
            if len(self._young) >= self._half:
                self._old, self._young = self._young, {}
            self._young[host] = allowance
        # In this order, so that excess hellos of one address do not use up the total.
        return allowance.take(1.0, now) and self._total.take(1.0, now)


def network(address: str) -> str:
    """The network that an `ip:port` belongs to."""
    return source_network(address.rpartition(":")[0].strip("[]").partition("%")[0])
