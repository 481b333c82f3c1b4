"""Silence: routes along which nothing comes back.

A relay that takes packets and drops them is told by nobody: its links work, and an error is just
what it does not send. But handshakes of a sealed link are always answered by its far end, and no
relay can answer for it. A route whose handshake must be repeated is passed over for a while, if
there is another; the next one gets as long before it is doubted as well.
"""

from typing import TypeVar

from rookery.mesh.forwarding import Route
from rookery.wire.node_id import NodeId

Key = TypeVar("Key")

PASSED_OVER_S = 60.0
PATIENCE_S = 1.0
ROUTES_MAX = 256


class Silence:
    """The routes that one node passes over for now."""

    __slots__ = ("_patient_until", "_until")

    def __init__(self) -> None:
        self._until: dict[Route, float] = {}  # soonest first
        self._patient_until: dict[NodeId, float] = {}  # destinations; soonest first

    def unanswered(self, nodes: Route, now: float) -> None:
        """A handshake with the end of this route, sent long enough ago, has no answer."""
        destination = nodes[-1]
        if len(nodes) == 2 or now < self._patient_until.get(destination, now):
            return  # our own links are watched more closely than that
        _put(self._until, nodes, now + PASSED_OVER_S)
        _put(self._patient_until, destination, now + PATIENCE_S)

    def avoids(self, nodes: Route) -> bool:
        return bool(self._until) and nodes in self._until

    def towards(self, destination: NodeId) -> list[Route]:
        """The routes to a node that are passed over."""
        return [nodes for nodes in self._until if nodes[-1] == destination]

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return next(iter(self._until.values()), None)

    def tick(self, now: float) -> None:
        while (deadline := self.deadline) is not None and deadline <= now:
            del self._until[next(iter(self._until))]


def _put(table: dict[Key, float], key: Key, until: float) -> None:
    table.pop(key, None)
    if len(table) == ROUTES_MAX:
        del table[next(iter(table))]
    table[key] = until
