"""Guests: how many connections there may be, in all and from one address, and how often.

Strangers come before anybody has proved anything, so all that tells them from those who were called
is the address. Where somebody is expected there is a part of each bound that others cannot use up.
"""

from collections import Counter

import msgspec

from rookery.link.source_network import source_network
from rookery.link.token_bucket import TokenBucket, TokenBuckets

EXPECTED_MAX = 65_536  # addresses
_RESERVED_SHARE = 4  # one part of so many, of all connections, is for those who are expected


class ConnectionAdmissionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of all listeners together; a knock is a new connection, and may cost us RSA."""

    connections_max: int = 4096
    address_connections_max: int = 256  # many may share one NAT
    address_per_s: float = 20.0  # knocks
    address_burst: float = 200.0
    knocks_per_s: float = 200.0  # from all strangers: a fifth of a core at most
    knocks_burst: float = 400.0  # and as much from all who are expected


class ConnectionAdmission:
    """Counts the connections of all listeners; every one admitted is to be let go."""

    def __init__(self, limits: ConnectionAdmissionLimits, now: float) -> None:
        self._limits = limits
        self._knocks = TokenBuckets(limits.address_per_s, limits.address_burst)
        self._all_knocks = TokenBucket(limits.knocks_per_s, limits.knocks_burst, now)
        self._expected_knocks = TokenBucket(limits.knocks_per_s, limits.knocks_burst, now)
        self._expected: dict[str, float] = {}  # origins, and until when; the oldest first
        self._origins: Counter[str] = Counter()
        self._strange_origins: Counter[str] = Counter()  # those that were not expected
        self._strangers = 0
        self.count = 0
        self.tally: Counter[str] = Counter()  # connections by what became of them

    def expect(self, ip: str, seconds: float, now: float) -> None:
        """Somebody who was called comes from there; what is no address is passed over."""
        whence = source_network(ip)
        if not whence:
            return
        until = max(self._expected.pop(whence, 0.0), now + seconds)
        self._expected[whence] = until
        if len(self._expected) > EXPECTED_MAX:
            del self._expected[next(iter(self._expected))]

    def admit(self, ip: str, now: float) -> bool:
        """Whether another one may come from there."""
        whence = source_network(ip)
        is_expected = self._expected.get(whence, now) > now
        if (refusal := self._refusal(whence, now, is_expected=is_expected)) is not None:
            self.tally[refusal] += 1
            return False
        self._origins[whence] += 1
        self.count += 1
        if not is_expected:
            self._strange_origins[whence] += 1
            self._strangers += 1
        return True

    def let_go(self, ip: str) -> None:
        """One that was admitted is gone."""
        whence = source_network(ip)
        self.count -= 1
        self._origins[whence] -= 1
        if not self._origins[whence]:
            del self._origins[whence]
        if self._strange_origins[whence]:
            self._strange_origins[whence] -= 1
            self._strangers -= 1
        if not self._strange_origins[whence]:
            del self._strange_origins[whence]

    def _refusal(self, whence: str, now: float, *, is_expected: bool) -> str | None:
        most = self._limits.connections_max
        if self.count >= most:
            return "full"
        if not is_expected and self._strangers >= most - most // _RESERVED_SHARE:
            return "full"
        if self._origins.get(whence, 0) >= self._limits.address_connections_max:
            return "address_full"
        if not self._knocks.take(whence, now):
            return "too_often"
        knocks = self._expected_knocks if is_expected else self._all_knocks
        if not knocks.take(1.0, now):
            return "busy"
        return None
