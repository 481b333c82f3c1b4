"""The cheapest route to one node that leaves out certain nodes or edges.

The search starts at the destination and is drawn to the source by the labels of the shortest
paths: no route, whatever it must leave out, is shorter than they say. So it looks at little more
than the nodes of the answer and their neighbours.
"""

from collections.abc import Container
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from rookery.mesh.routing.graph import Edge, edge
from rookery.mesh.routing.shortest_paths import UNREACHED, ShortestPaths
from rookery.wire.mesh.node_id import NodeId

Nodes = tuple[NodeId, ...]
_NO_EDGES: frozenset[Edge] = frozenset()
_NO_NODES: frozenset[NodeId] = frozenset()


def cheapest(
    paths: ShortestPaths,
    destination: NodeId,
    hop_max: int,
    *,
    without: Container[NodeId] = (),
    cut: AbstractSet[Edge] = _NO_EDGES,
) -> Nodes | None:
    """From the source of `paths`; the source and the destination themselves are never left out."""
    found = _guided(paths, destination, without, cut)
    if found is None or len(found) - 1 <= hop_max:
        return found
    return _within(paths, destination, hop_max, without, cut)


def _guided(
    paths: ShortestPaths, destination: NodeId, without: Container[NodeId], cut: AbstractSet[Edge]
) -> Nodes | None:
    labels, source = paths.labels, paths.source
    weights, relays = paths.graph.weights, paths.graph.relays
    if destination not in labels or destination == source:
        return None
    severed = _severed(cut)
    remaining = {destination: 0}  # the weight from a node on to the destination,
    onward: dict[NodeId, NodeId] = {}  # and the next node there
    heap = [(labels[destination], destination)]
    while heap:
        total, node = heappop(heap)
        if node == source:
            return _followed(onward, source, destination)
        weight_on = remaining[node]
        if total > weight_on + labels[node]:
            continue  # a better route from here was found meanwhile
        barred = severed.get(node, _NO_NODES)
        for peer, weight in weights[node].items():
            offer, known = weight_on + weight, remaining.get(peer, UNREACHED)
            if offer > known or peer in barred or peer not in labels:
                continue
            if peer != source and (peer in without or peer not in relays):
                continue
            if offer < known:
                remaining[peer], onward[peer] = offer, node
                heappush(heap, (offer + labels[peer], peer))
            elif node < onward[peer]:
                onward[peer] = node
    return None


def _severed(cut: AbstractSet[Edge]) -> dict[NodeId, set[NodeId]]:
    """The peers that each node is cut off from."""
    severed: dict[NodeId, set[NodeId]] = {}
    for u, v in cut:
        severed.setdefault(u, set()).add(v)
        severed.setdefault(v, set()).add(u)
    return severed


def _followed(onward: dict[NodeId, NodeId], source: NodeId, destination: NodeId) -> Nodes:
    nodes = [source]
    while nodes[-1] != destination:
        nodes.append(onward[nodes[-1]])
    return tuple(nodes)


def _within(
    paths: ShortestPaths,
    destination: NodeId,
    hop_max: int,
    without: Container[NodeId],
    cut: AbstractSet[Edge],
) -> Nodes | None:
    """In rounds of one more hop each: slower, but it finds a dearer route with few enough hops."""
    graph, source = paths.graph, paths.source
    best = {source: 0}
    cheapest_routes: dict[NodeId, Nodes] = {source: (source,)}
    fresh = cheapest_routes.copy()
    for _ in range(hop_max):
        improved: dict[NodeId, Nodes] = {}
        labels = {node: best[node] for node in fresh}
        for node in sorted(fresh):
            if node != source and (node in without or node not in graph.relays):
                continue
            for peer, weight in graph.weights.get(node, {}).items():
                label = labels[node] + weight
                if label < best.get(peer, UNREACHED) and edge(node, peer) not in cut:
                    best[peer] = label
                    improved[peer] = (*fresh[node], peer)
        cheapest_routes.update(improved)
        fresh = improved
    return cheapest_routes.get(destination)
