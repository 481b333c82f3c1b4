"""Guests: how many connections there may be, in all and from one address, and how often."""

from collections import Counter

import msgspec

from rookery.link.admission import Bucket, Buckets
from rookery.runtime.gates.address import origin


class GuestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of all listeners together; a knock is a new connection, and may cost us RSA."""

    connections_max: int = 4096
    address_connections_max: int = 256  # many may share one NAT
    address_per_s: float = 20.0  # knocks
    address_burst: float = 200.0
    knocks_per_s: float = 200.0  # from all together: a fifth of a core at most
    knocks_burst: float = 400.0


class Guests:
    """Counts the connections of all listeners; every one admitted is to be let go."""

    def __init__(self, limits: GuestLimits, now: float) -> None:
        self._limits = limits
        self._knocks = Buckets(limits.address_per_s, limits.address_burst)
        self._all_knocks = Bucket(limits.knocks_per_s, limits.knocks_burst, now)
        self._origins: Counter[bytes] = Counter()
        self.count = 0
        self.tally: Counter[str] = Counter()  # connections by what became of them

    def admit(self, ip: str, now: float) -> bool:
        """Whether another one may come from there."""
        if (refusal := self._refusal(origin(ip), now)) is not None:
            self.tally[refusal] += 1
            return False
        self._origins[origin(ip)] += 1
        self.count += 1
        return True

    def let_go(self, ip: str) -> None:
        """One that was admitted is gone."""
        whence = origin(ip)
        self.count -= 1
        self._origins[whence] -= 1
        if not self._origins[whence]:
            del self._origins[whence]

    def _refusal(self, whence: bytes, now: float) -> str | None:
        if self.count >= self._limits.connections_max:
            return "full"
        if self._origins.get(whence, 0) >= self._limits.address_connections_max:
            return "address_full"
        if not self._knocks.take(whence, now):
            return "too_often"
        if not self._all_knocks.take(1.0, now):
            return "busy"
        return None
