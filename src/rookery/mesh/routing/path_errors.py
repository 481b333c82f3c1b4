"""Path errors: edges that a relay of our route could not pass, avoided for a while.

An error is a hint, not a proof: any relay on its way back could have forged it. So it counts only
when it names an edge of a route that we use, right after the relay that reports, and comes back
through that route's first hop. Whoever could forge such a one could drop our packets as well.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rookery.mesh.routing.forwarding import RouteNodes
from rookery.wire.mesh.forward import PathError, PathErrorReason
from rookery.wire.mesh.node_id import NodeId

AVOID_S = 5.0
EDGES_MAX = 256

Edge = tuple[NodeId, NodeId]


class PathErrors:
    """The edges that one node avoids for now."""

    __slots__ = ("_until", "unrelated")

    def __init__(self) -> None:
        self.unrelated = 0  # errors about no route of ours
        self._until: dict[Edge, float] = {}  # soonest first

    def received(
        self, route: RouteNodes, error: PathError, used: Iterable[Sequence[NodeId]], now: float
    ) -> bool:
        """Note an error that came over `route`; True when an edge is avoided from now on."""
        if error.reason is PathErrorReason.HOP_LIMIT:  # says nothing about the edge
            return False
        relay, first_hop = route[0], route[-2]
        failed = (relay, error.failed)
        if not any(nodes[1] == first_hop and failed in pairwise(nodes) for nodes in used):
            self.unrelated += 1
            return False
        edge = _edge(*failed)
        is_new = self._until.pop(edge, None) is None
        if len(self._until) == EDGES_MAX:
            del self._until[next(iter(self._until))]
        self._until[edge] = now + AVOID_S
        return is_new

    @property
    def avoided(self) -> frozenset[Edge]:
        """The edges, each with the lower node first."""
        return frozenset(self._until)

    def avoids(self, nodes: Sequence[NodeId]) -> bool:
        """Whether a route passes an avoided edge."""
        until = self._until
        return bool(until) and any(_edge(*pair) in until for pair in pairwise(nodes))

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return next(iter(self._until.values()), None)

    def tick(self, now: float) -> None:
        while (deadline := self.deadline) is not None and deadline <= now:
            del self._until[next(iter(self._until))]


def _edge(one: NodeId, other: NodeId) -> Edge:
    return (one, other) if one < other else (other, one)
