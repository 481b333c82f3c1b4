"""The cheapest route from one node to every other, kept right as edges change.

Each node has a label: the weight of its cheapest route. When edges change, only labels that may be
wrong are touched:

1. A node whose label no neighbour *supports* any more (by a label and an edge that together weigh
   no more) is lost, and so are nodes that only lost ones supported. Weights are positive, so a
   supporter always has a smaller label, and nodes cannot support each other in a circle.
2. Lost nodes are offered the best of what their remaining neighbours have; the heads of changed
   edges are offered what those edges now bring.
3. Dijkstra's algorithm runs from the offers, as far as labels improve.

Labels do not depend on the order of changes, and routes are read off them backwards, smallest id
first among equals: so equal graphs give equal routes, however they came about.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

from rookery.mesh.routing.graph import HOP_BITS, EdgeChange, Graph
from rookery.wire.mesh.node_id import NodeId

UNREACHED = 1 << 62
_HOPS_MASK = (1 << HOP_BITS) - 1
_NOTHING: Mapping[NodeId, int] = {}


class ShortestPaths:
    """From `source` to every node, over nodes that may relay."""

    def __init__(self, graph: Graph, source: NodeId) -> None:
        self.graph = graph
        self.source = source
        self.labels: dict[NodeId, int] = {}
        self.recompute()

    def recompute(self) -> None:
        """Compute all labels anew."""
        self.labels = {self.source: 0}
        self._settle([(0, self.source)])

    def changed(self, changes: Iterable[EdgeChange]) -> None:
        """The graph has changed in these edges, and in no others, since the last call."""
        labels, source = self.labels, self.source
        weights, relays = self.graph.weights, self.graph.relays
        edges = {change.edge for change in changes}
        lost = self._lost([node for edge in edges for node in edge])
        for node in lost:
            del labels[node]
        offers = [(self._offer(node), node) for node in lost]
        heap = [offer for offer in offers if offer[0] < UNREACHED]
        labels.update((node, label) for label, node in heap)
        for ends in edges:
            for tail, head in (ends, ends[::-1]):
                weight = weights.get(tail, _NOTHING).get(head, UNREACHED)
                label = labels.get(tail, UNREACHED) + weight
                if label < labels.get(head, UNREACHED) and (tail in relays or tail == source):
                    labels[head] = label
                    heap.append((label, head))
        heapify(heap)
        self._settle(heap)

    def distance(self, node: NodeId) -> int | None:
        """The cost of its cheapest route in microseconds."""
        label = self.labels.get(node)
        return None if label is None else label >> HOP_BITS

    def hops(self, node: NodeId) -> int | None:
        """How many edges its cheapest route has."""
        label = self.labels.get(node)
        return None if label is None else label & _HOPS_MASK

    def path(self, node: NodeId) -> tuple[NodeId, ...] | None:
        """Its cheapest route, both ends included."""
        labels, source = self.labels, self.source
        relays, weights = self.graph.relays, self.graph.weights
        if node not in labels:
            return None
        nodes = [node]
        while node != source:
            label = labels[node]
            node = min(
                peer
                for peer, weight in weights[node].items()
                if labels.get(peer, UNREACHED) + weight == label
                and (peer in relays or peer == source)
            )
            nodes.append(node)
        return tuple(reversed(nodes))

    def _lost(self, suspects: list[NodeId]) -> set[NodeId]:
        """The nodes whose labels are not supported any more."""
        labels, weights = self.labels, self.graph.weights
        lost: set[NodeId] = set()
        while suspects:
            node = suspects.pop()
            label = labels.get(node)
            if label is None or node in lost or node == self.source:
                continue
            if self._is_supported(node, label, lost):
                continue
            lost.add(node)
            for peer, weight in weights.get(node, _NOTHING).items():
                if labels.get(peer, -1) >= label + weight:
                    suspects.append(peer)
        return lost

    def _is_supported(self, node: NodeId, label: int, lost: set[NodeId]) -> bool:
        labels, relays, source = self.labels, self.graph.relays, self.source
        for peer, weight in self.graph.weights.get(node, _NOTHING).items():
            if (
                labels.get(peer, UNREACHED) + weight <= label
                and peer not in lost
                and (peer in relays or peer == source)
            ):
                return True
        return False

    def _offer(self, node: NodeId) -> int:
        """The best label that its neighbours can give it now."""
        labels, relays, source = self.labels, self.graph.relays, self.source
        best = UNREACHED
        for peer, weight in self.graph.weights.get(node, _NOTHING).items():
            label = labels.get(peer, UNREACHED) + weight
            if label < best and (peer in relays or peer == source):
                best = label
        return best

    def _settle(self, heap: list[tuple[int, NodeId]]) -> None:
        labels, weights, source = self.labels, self.graph.weights, self.source
        relays = self.graph.relays
        while heap:
            label, node = heappop(heap)
            if label > labels[node] or (node not in relays and node != source):
                continue
            for peer, weight in weights.get(node, _NOTHING).items():
                further = label + weight
                if further < labels.get(peer, UNREACHED):
                    labels[peer] = further
                    heappush(heap, (further, peer))
