"""Blackhole relays: relays that seem to drop packets, by destination.

No error reports a relay that takes packets and drops them: its links work, and it is the one that
would have to send the error. But handshakes and probes of a sealed link are answered by its far
end, and no relay can forge the answer or tell a probe from data. When answers are missing, the
relays of the route are passed over for that destination, if there are other routes; each time for
twice as long. Relays over which probes of other routes come back are spared, if that leaves any.
"""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from rookery.mesh.routing.forwarding import RouteNodes
from rookery.wire.mesh.node_id import NodeId

Key = TypeVar("Key")
Value = TypeVar("Value")

PASSED_OVER_S: Final = 60.0  # the first time
PASSED_OVER_S_MAX: Final = 960.0
PROVEN_S: Final = 3.0  # so long a relay is no suspect after a probe came back over it
PATIENCE_S: Final = 1.0  # as long the next route gets before it is doubted as well
DOUBTS_MAX: Final = 1024

_Relay = tuple[NodeId, NodeId]  # the destination, and the relay that is passed over


class SuspectedRelay(msgspec.Struct, frozen=True):
    """A relay that is passed over for one destination, and why."""

    relay: NodeId
    route: RouteNodes  # that failed
    until: float
    reason: str  # empty: handshakes had no answer


class BlackholeRelays:
    """The relays that one node passes over for now."""

    __slots__ = ("_doubts", "_lasted_s", "_patient_until", "_proven_s", "version")

    def __init__(self) -> None:
        self.version = 0  # of the doubts
        self._doubts: dict[_Relay, SuspectedRelay] = {}
        self._lasted_s: dict[_Relay, float] = {}  # how long each was passed over the last time
        self._patient_until: dict[NodeId, float] = {}  # destinations; soonest first
        self._proven_s: dict[NodeId, float] = {}  # relays, and when a probe last came over each

    def unanswered(self, nodes: RouteNodes, now: float) -> None:
        """A handshake with the end of this route, sent long enough ago, has no answer."""
        is_patient = now < self._patient_until.get(nodes[-1], now)
        if not is_patient and not all(self._is_proven(relay, now) for relay in nodes[1:-1]):
            self.failed(nodes, "", now)

    def delivered(self, nodes: RouteNodes, now: float) -> None:
        """A probe came back along this route."""
        for relay in nodes[1:-1]:
            _put(self._proven_s, relay, now)

    def _is_proven(self, relay: NodeId, now: float) -> bool:
        return now < self._proven_s.get(relay, -PROVEN_S) + PROVEN_S

    def failed(self, nodes: RouteNodes, reason: str, now: float) -> None:
        """Pass over the relays of this route, except proven ones, unless all are proven.

        A route without relays is a link of our own, which is watched more closely than that.
        """
        destination, relays = nodes[-1], nodes[1:-1]
        if not relays:
            return
        self.version += 1
        for relay in [relay for relay in relays if not self._is_proven(relay, now)] or relays:
            key = destination, relay
            if key in self._doubts:
                continue
            lasts_s = PASSED_OVER_S
            if reason:  # handshakes may be lost by chance; evidence is none
                lasts_s = min(2 * self._lasted_s.get(key, PASSED_OVER_S / 2), PASSED_OVER_S_MAX)
                _put(self._lasted_s, key, lasts_s)
            _put(self._doubts, key, SuspectedRelay(relay, nodes, now + lasts_s, reason))
        _put(self._patient_until, destination, now + PATIENCE_S)

    def forgive(self, destination: NodeId, route: RouteNodes) -> None:
        """Clear the relays of this route: its losses have another explanation."""
        for key in [(destination, relay) for relay in route[1:-1]]:
            doubt = self._doubts.get(key)
            if doubt is not None and doubt.route == route:
                del self._doubts[key]
                self._lasted_s.pop(key, None)
                self.version += 1

    def clear(self, destination: NodeId, relay: NodeId) -> None:
        """Clear a relay: packets for this destination do arrive over it."""
        if self._doubts.pop((destination, relay), None) is not None:
            self._lasted_s.pop((destination, relay), None)
            self.version += 1

    def avoids(self, nodes: RouteNodes) -> int:
        """How many relays of a route are passed over."""
        if not self._doubts:
            return 0
        return sum((nodes[-1], relay) in self._doubts for relay in nodes[1:-1])

    def towards(self, destination: NodeId) -> list[SuspectedRelay]:
        """The relays that are passed over for a destination."""
        return [doubt for doubt in self if doubt.route[-1] == destination]

    def __iter__(self) -> Iterator[SuspectedRelay]:
        return iter(self._doubts.values())

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return min((doubt.until for doubt in self), default=None)

    def tick(self, now: float) -> None:
        for key in [key for key, doubt in self._doubts.items() if doubt.until <= now]:
            del self._doubts[key]
            self.version += 1


def _put(table: dict[Key, Value], key: Key, value: Value) -> None:
    table.pop(key, None)
    if len(table) == DOUBTS_MAX:
        del table[next(iter(table))]
    table[key] = value
