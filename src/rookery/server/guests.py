"""Guests: how many connections there may be, in all and from one address, and how often."""

from collections import Counter

from rookery.link.admission import Buckets
from rookery.runtime.gates.address import origin
from rookery.server.settings import DoorLimits


class Guests:
    """Counts the connections of all listeners; every one admitted is to be let go."""

    def __init__(self, limits: DoorLimits) -> None:
        self._limits = limits
        self._knocks = Buckets(limits.address_per_s, limits.address_burst)
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
        return None
