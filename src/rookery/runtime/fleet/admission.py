"""Limits on the number and rate of inbound connections, in all and per network.

Limits apply before a peer has proved its identity, so the source network is all there is to tell
expected connections from others. Part of each limit is reserved for networks that are expected.
"""

from collections import Counter

import msgspec

from rookery.link.source_network import source_network
from rookery.link.token_bucket import TokenBucket, TokenBuckets

EXPECTED_MAX = 65_536  # addresses
_RESERVED_SHARE = 4  # 1/4 of all connections is reserved for expected networks


class ConnectionAdmissionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of all listeners together; a knock is a new connection, and may cost us RSA."""

    connections_max: int = 4096
    address_connections_max: int = 256  # many may share one NAT
    address_per_s: float = 20.0  # knocks
    address_burst: float = 200.0
    knocks_per_s: float = 200.0  # from all unexpected networks: a fifth of a core at most
    knocks_burst: float = 400.0  # and as much again from expected networks


class ConnectionAdmission:
    """Counts the connections of all listeners; call `let_go` for every one that was admitted."""

    def __init__(self, limits: ConnectionAdmissionLimits, now: float) -> None:
        self._limits = limits
        self._knocks = TokenBuckets(limits.address_per_s, limits.address_burst)
        self._all_knocks = TokenBucket(limits.knocks_per_s, limits.knocks_burst, now)
        self._expected_knocks = TokenBucket(limits.knocks_per_s, limits.knocks_burst, now)
        self._expected: dict[str, float] = {}  # network → until when, the oldest first
        self._origins: Counter[str] = Counter()
        self._strange_origins: Counter[str] = Counter()  # of unexpected connections
        self._strangers = 0
        self.count = 0
        self.tally: Counter[str] = Counter()  # connections by what became of them

    def expect(self, ip: str, seconds: float, now: float) -> None:
        """Expect a connection from there for so long; text that is no address is ignored."""
        whence = source_network(ip)
        if not whence:
            return
        until = max(self._expected.pop(whence, 0.0), now + seconds)
        self._expected[whence] = until
        if len(self._expected) > EXPECTED_MAX:
            del self._expected[next(iter(self._expected))]

    def admit(self, ip: str, now: float) -> bool:
        """True if one more connection from there is admitted."""
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
        """A connection that was admitted is closed."""
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
