"""A NAT: hosts behind one public address, and which outside addresses may send to them.

    kind                  a mapping is for        packets come in from
    full cone             an inner address        anybody
    address restricted    an inner address        addresses it has sent to
    port restricted       an inner address        addresses and ports it has sent to
    symmetric             inner and outer         that outer address and port alone

Mappings live as long as something goes out through them now and then. What is sent from behind the
NAT to its own public address is dropped (no hairpin). The kinds are those of RFC 3489.
"""

from enum import Enum
from random import Random

from rookery.wire.link.path import NetPath

DATAGRAM_MAPPING_S = 60.0
STREAM_MAPPING_S = 7200.0
_PORTS = (1024, 0x10000)


class NatKind(Enum):
    """Which sources may answer, from the most permissive to the strictest."""

    FULL_CONE = "full cone"
    ADDRESS_RESTRICTED = "address restricted"
    PORT_RESTRICTED = "port restricted"
    SYMMETRIC = "symmetric"


class NatMapping:
    """One port of the public address, and the inner address that it maps to."""

    __slots__ = ("inner", "is_fixed", "lifetime_s", "outer", "sent_to", "used_s")

    def __init__(self, inner: NetPath, outer: NetPath, lifetime_s: float, now: float) -> None:
        self.inner = inner
        self.outer = outer
        self.lifetime_s = lifetime_s
        self.used_s = now  # when something last went out
        self.is_fixed = False  # an operator's own entry: for ever, and open to all
        self.sent_to: dict[NetPath, float] = {}  # where to, and when last

    def is_alive(self, now: float) -> bool:
        return self.is_fixed or now - self.used_s <= self.lifetime_s

    def went_out(self, target: NetPath, now: float) -> None:
        self.used_s = self.sent_to[target] = now


class Nat:
    """The gateway at a public address."""

    def __init__(self, kind: NatKind, ip: str, random: Random) -> None:
        self.kind = kind
        self.ip = ip
        self.datagram_mapping_s = DATAGRAM_MAPPING_S
        self.stream_mapping_s = STREAM_MAPPING_S
        self.refused = 0  # packets from outside without a mapping that admits them
        self._random = random
        self._by_inner: dict[tuple[NetPath, NetPath | None], NatMapping] = {}
        self._by_outer: dict[NetPath, NatMapping] = {}

    def outbound(self, source: NetPath, target: NetPath, now: float) -> NatMapping | None:
        """The mapping for a packet from inside; None for a hairpin."""
        if target.ip == self.ip:
            return None
        key = (source, target if self.kind is NatKind.SYMMETRIC else None)
        mapping = self._by_inner.get(key)
        if mapping is None or not mapping.is_alive(now):
            mapping = self._by_inner[key] = self._map(source, now)
        mapping.went_out(target, now)
        return mapping

    def inbound(self, source: NetPath, target: NetPath, now: float) -> NetPath | None:
        """The inner address that a packet from outside is for, if it may pass."""
        mapping = self._by_outer.get(target)
        if mapping is None or not mapping.is_alive(now) or not self._admits(mapping, source, now):
            self.refused += 1
            return None
        return mapping.inner

    def forward(self, port: int, inner: NetPath) -> NetPath:
        """Forward a port permanently, as an operator would; returns the public path."""
        outer = NetPath(inner.kind, self.ip, port)
        mapping = self._by_outer[outer] = NatMapping(inner, outer, 0.0, 0.0)
        mapping.is_fixed = True
        self._by_inner[inner, None] = mapping
        return outer

    def restart(self) -> None:
        """Forget all mappings but forwarded ports."""
        fixed = [mapping for mapping in self._by_outer.values() if mapping.is_fixed]
        for mapping in self._by_outer.values():
            mapping.used_s = float("-inf")
        self._by_outer = {mapping.outer: mapping for mapping in fixed}
        self._by_inner = {(mapping.inner, None): mapping for mapping in fixed}

    def _map(self, inner: NetPath, now: float) -> NatMapping:
        lifetime_s = self.datagram_mapping_s if inner.is_datagram else self.stream_mapping_s
        while (outer := self._any_port(inner.kind)) in self._by_outer:
            if not self._by_outer[outer].is_alive(now):
                break
        mapping = self._by_outer[outer] = NatMapping(inner, outer, lifetime_s, now)
        return mapping

    def _any_port(self, kind: str) -> NetPath:
        return NetPath(kind, self.ip, self._random.randrange(*_PORTS))

    def _admits(self, mapping: NatMapping, source: NetPath, now: float) -> bool:
        if mapping.is_fixed or self.kind is NatKind.FULL_CONE:
            return True
        contacted = (
            to for to, sent_s in mapping.sent_to.items() if now - sent_s <= mapping.lifetime_s
        )
        if self.kind is NatKind.ADDRESS_RESTRICTED:
            return any(to.ip == source.ip for to in contacted)
        return source in contacted
