"""Admission: limits the work that unknown senders can cause.

Opening a handshake is expensive (an RSA operation for `2a`, a slow curve for `1a`), and its sender
is unknown until it is done. So unknown senders share a budget in seconds of processor time, each
address gets a small part of it, and a peer that has proved itself has a budget of its own.
"""

import msgspec

from rookery.link.token_bucket import TokenBucket, TokenBuckets
from rookery.wire.link.path import NetPath, Path

_COST_S = {0x1A: 0.02, 0x2A: 0.0015, 0x3A: 0.0004, 0x40: 0.0004}
_COST_UNKNOWN_S = 0.002


class AdmissionLimits(msgspec.Struct, frozen=True):
    """What an operator may tune; the defaults leave a small device time for its work."""

    stranger_share: float = 0.15  # of one core, for all unknown senders
    stranger_burst_s: float = 0.5
    address_per_s: float = 50.0  # handshakes from one address
    address_burst: float = 100.0
    peer_per_s: float = 10.0  # handshakes from one peer that is linked
    peer_burst: float = 40.0
    announcements_per_s: float = 20.0


class Admission:
    """Decides whether a handshake is worth opening."""

    __slots__ = (
        "_addresses",
        "_announcements",
        "_peers",
        "_proved",
        "_strangers",
        "_tokens",
        "refused",
    )

    def __init__(self, limits: AdmissionLimits, now: float) -> None:
        self._strangers = TokenBucket(limits.stranger_share, limits.stranger_burst_s, now)
        self._addresses = TokenBuckets(limits.address_per_s, limits.address_burst)
        self._peers = TokenBuckets(limits.peer_per_s, limits.peer_burst)
        self._announcements = TokenBucket(
            limits.announcements_per_s, limits.announcements_per_s, now
        )
        self._proved: dict[bytes, str] = {}  # routing token -> hashname, one for each peer
        self._tokens: dict[str, bytes] = {}  # hashname -> routing token
        self.refused = 0

    def prove(self, token: bytes, hashname: str) -> None:
        """A handshake with this token came from a peer that we have a link with."""
        self.forget(hashname)
        self._proved[token] = hashname
        self._tokens[hashname] = token

    def forget(self, hashname: str) -> None:
        """Treat the peer as unknown again."""
        token = self._tokens.pop(hashname, None)
        if token is not None:
            self._proved.pop(token, None)

    def admits(self, token: bytes, csid: int, path: Path, now: float) -> bool:
        """True if a handshake may be opened, on the peer's budget or that of unknown senders."""
        hashname = self._proved.get(token)
        if hashname is not None:
            return self._counted(self._peers.take(hashname, now))
        address = path.ip if isinstance(path, NetPath) else path
        cost = _COST_S.get(csid, _COST_UNKNOWN_S)
        return self._counted(self._addresses.take(address, now) and self._strangers.take(cost, now))

    def admits_announcement(self, now: float) -> bool:
        return self._counted(self._announcements.take(1.0, now))

    def _counted(self, admitted: bool) -> bool:
        self.refused += not admitted
        return admitted
