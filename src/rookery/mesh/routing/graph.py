"""The graph: which links there are in the realm, and what each costs.

A record claims its origin's links; an edge is what two claims agree on:

    u claims v at 5 ms,  v claims u at 7 ms   →  edge u–v at 7 ms, the worse of both claims
    u claims v at 5 ms,  v says nothing of u  →  no edge

So a member cannot invent a link that the other end does not confirm, nor make a link look cheaper
than its honest end says. Our own links are the exception: we measure them both ways ourselves, so
they exist exactly while we say so (`measured`, `lost`), at once and regardless of records.

Edges that failed a packet can be avoided for a while. They keep counting, but for so much that
they are taken only where nothing else leads: a forged error report cannot cut off a member.

The `weights` are for searching: `cost << HOP_BITS | 1`, so that the least sum is the
cheapest route, and among equally cheap ones the one with the fewest hops.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import COST_MAX, Record

AVOIDED_US: Final = COST_MAX  # added to the cost of an avoided edge
HOP_BITS: Final = 16

Edge = tuple[NodeId, NodeId]  # the smaller id first
_NOTHING: Mapping[NodeId, int] = {}


def edge(u: NodeId, v: NodeId) -> Edge:
    return (u, v) if u < v else (v, u)


class EdgeChange(NamedTuple):
    """An edge whose cost or use by relays changed."""

    edge: Edge
    before_us: int | None
    after_us: int | None


class Graph:
    """All claims, and the edges that follow from them.

    `may_relay` says who carries others' packets. It is asked when a node claims something, and by
    `reconsider`.
    """

    def __init__(self, may_relay: Callable[[NodeId], bool], own: NodeId | None = None) -> None:
        self.weights: dict[NodeId, dict[NodeId, int]] = {}
        self.relays: set[NodeId] = set()
        self._may_relay = may_relay
        self.own = own
        self._claims: dict[NodeId, dict[NodeId, int]] = {}
        self._avoided: set[Edge] = set()

    def apply(self, record: Record | None, origin: NodeId) -> list[EdgeChange]:
        """A new record of `origin`, or None when the last one is gone."""
        if origin == self.own:
            return []  # our own record is older than our measurements
        links = record.links if record is not None else ()
        return self.claim(origin, {link.peer: link.cost_us for link in links})

    def claim(self, origin: NodeId, costs: Mapping[NodeId, int]) -> list[EdgeChange]:
        """Replace the claims of `origin`."""
        before = self._claims.get(origin, _NOTHING)
        if costs:
            self._claims[origin] = dict(costs)
        else:
            self._claims.pop(origin, None)
        peers = [peer for peer, cost_us in costs.items() if before.get(peer) != cost_us]
        peers += [peer for peer in before if peer not in costs]
        changes = {change.edge: change for change in self.reconsider(origin)}
        changes |= {change.edge: change for change in self._weigh_all(origin, peers)}
        return list(changes.values())

    def measured(self, peer: NodeId, cost_us: int) -> list[EdgeChange]:
        """Our own link to `peer` is up and costs this."""
        assert self.own is not None
        return self.claim(self.own, {**self._claims.get(self.own, _NOTHING), peer: cost_us})

    def lost(self, peer: NodeId) -> list[EdgeChange]:
        """Our own link to `peer` is down."""
        assert self.own is not None
        ours = self._claims.get(self.own, _NOTHING)
        return self.claim(self.own, {other: ours[other] for other in ours if other != peer})

    def reconsider(self, node: NodeId) -> list[EdgeChange]:
        """Its roles may have changed: ask again whether it may relay."""
        may_relay = node in self._claims and self._may_relay(node)
        if may_relay == (node in self.relays):
            return []
        if may_relay:
            self.relays.add(node)
        else:
            self.relays.discard(node)
        return [
            EdgeChange(edge(node, peer), cost_us, cost_us)
            for peer, cost_us in self.neighbours(node).items()
        ]

    def avoid(self, u: NodeId, v: NodeId) -> list[EdgeChange]:
        """Use this edge only where there is no other route."""
        self._avoided.add(edge(u, v))
        return self._weigh_all(u, [v])

    def forgive(self, u: NodeId, v: NodeId) -> list[EdgeChange]:
        """The edge counts as before."""
        self._avoided.discard(edge(u, v))
        return self._weigh_all(u, [v])

    def is_avoided(self, u: NodeId, v: NodeId) -> bool:
        return edge(u, v) in self._avoided

    def cost(self, u: NodeId, v: NodeId) -> int | None:
        """What the edge counts, in microseconds; None when there is none."""
        weight = self.weights.get(u, _NOTHING).get(v)
        return None if weight is None else weight >> HOP_BITS

    def neighbours(self, node: NodeId) -> dict[NodeId, int]:
        """The other ends of its edges, and what those cost."""
        weights = self.weights.get(node, _NOTHING)
        return {peer: weight >> HOP_BITS for peer, weight in weights.items()}

    def seen_from(self, source: NodeId) -> "Graph":
        """The graph as `source` sees it: its own claims count for its links, not our measurements.

        Edges that we avoid count as before: what failed for us may not have failed for it.
        """
        graph = Graph(self._may_relay, source)
        for origin, costs in self._claims.items():
            graph.claim(origin, costs)
        return graph

    def claims(self) -> Iterator[tuple[NodeId, NodeId, int]]:
        """All claims: origin, peer, and cost in microseconds."""
        for origin, costs in self._claims.items():
            for peer, cost_us in costs.items():
                yield origin, peer, cost_us

    def claimed(self, u: NodeId, v: NodeId) -> tuple[int, int] | None:
        """The costs that both ends claim for their link, the first end's first."""
        here = self._claims.get(u, _NOTHING).get(v)
        there = self._claims.get(v, _NOTHING).get(u)
        return None if here is None or there is None else (here, there)

    def knows(self, node: NodeId) -> bool:
        """True if the node claims anything, or we have a link to it."""
        return node in self._claims or node in self.weights

    def _weigh_all(self, node: NodeId, peers: list[NodeId]) -> list[EdgeChange]:
        changes = [self._weigh(node, peer) for peer in peers]
        return [change for change in changes if change.before_us != change.after_us]

    def _weigh(self, u: NodeId, v: NodeId) -> EdgeChange:
        before, after = self.cost(u, v), self._agreed(u, v)
        for node, peer in ((u, v), (v, u)):
            if after is not None:
                self.weights.setdefault(node, {})[peer] = after << HOP_BITS | 1
            elif before is not None:
                del self.weights[node][peer]
                if not self.weights[node]:
                    del self.weights[node]
        return EdgeChange(edge(u, v), before, after)

    def _agreed(self, u: NodeId, v: NodeId) -> int | None:
        here = self._claims.get(u, _NOTHING).get(v)
        there = self._claims.get(v, _NOTHING).get(u)
        if self.own == u:
            there = here if there is None else there
        elif self.own == v:
            here = there if here is None else here
        if here is None or there is None or u == v:
            return None
        return max(here, there) + (AVOIDED_US if edge(u, v) in self._avoided else 0)
