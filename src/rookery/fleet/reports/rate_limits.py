"""Allowance: so much a second, and a little saved up; whatever the wall clock does."""

from ipaddress import IPv6Address, ip_address


class RateAllowance:
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


_NETWORK_BITS = 64  # an IPv6 user has so many addresses to choose from


class HelloLimiter:
    """A bounded table of addresses; the longest silent ones are forgotten first, by halves."""

    __slots__ = ("_burst", "_half", "_old", "_rate", "_total", "_young")

    def __init__(
        self, total: RateAllowance, *, rate: float, burst: float, addresses_max: int = 65_536
    ) -> None:
        self._total = total
        self._rate = rate
        self._burst = burst
        self._half = addresses_max // 2
        self._young: dict[str, RateAllowance] = {}
        self._old: dict[str, RateAllowance] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def admits(self, address: str, now: float) -> bool:
        """Whether a hello from that `ip:port` may be looked at."""
        host = network(address)
        allowance = self._young.get(host)
        if allowance is None:
            allowance = self._old.pop(host, None) or RateAllowance(self._rate, self._burst, now)
            if len(self._young) >= self._half:
                self._old, self._young = self._young, {}
            self._young[host] = allowance
        # In this order: what one address has too much of is not taken from the others.
        return allowance.take(now) and self._total.take(now)


def network(address: str) -> str:
    """Whom an `ip:port` belongs to: the IPv4 address, or the /64 of an IPv6 one."""
    host = address.rpartition(":")[0].strip("[]").partition("%")[0]
    if ":" not in host:
        return host
    try:
        ip = ip_address(host)
    except ValueError:
        return host
    assert isinstance(ip, IPv6Address)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return f"{int(ip) >> _NETWORK_BITS:x}::/{_NETWORK_BITS}"
