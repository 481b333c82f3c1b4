"""Graphs to test on, and what networkx says about them."""

from collections.abc import Callable, Iterable, Mapping
from random import Random

import networkx  # type: ignore[import-untyped]

from rookery.mesh.routing.graph import Graph
from rookery.wire.mesh.node_id import NodeId

Claims = Mapping[NodeId, Mapping[NodeId, int]]


def node(number: int) -> NodeId:
    return number.to_bytes(8, "big")


def nodes(*numbers: int) -> tuple[NodeId, ...]:
    return tuple(map(node, numbers))


def everybody(_: NodeId) -> bool:
    return True


def graph_of(
    edges: Iterable[tuple[int, int, int]],
    may_relay: Callable[[NodeId], bool] = everybody,
    own: NodeId | None = None,
) -> Graph:
    """Both ends claim each edge (u, v, cost)."""
    graph = Graph(may_relay, own)
    claims: dict[NodeId, dict[NodeId, int]] = {}
    for u, v, cost_us in edges:
        claims.setdefault(node(u), {})[node(v)] = cost_us
        claims.setdefault(node(v), {})[node(u)] = cost_us
    for origin, costs in claims.items():
        graph.claim(origin, costs)
    return graph


def mesh_of(seed: int, size: int, edge_count: int) -> list[tuple[int, int, int]]:
    """A connected mesh with random costs."""
    random = Random(seed)
    ends = {(random.randrange(number), number) for number in range(1, size)}
    while len(ends) < edge_count:
        u, v = sorted(random.sample(range(size), 2))
        ends.add((u, v))
    return [(u, v, random.randrange(500, 100_000)) for u, v in sorted(ends)]


def networkx_graph(
    claims: Claims, relays: Iterable[NodeId], source: NodeId, avoided: Iterable[frozenset[NodeId]]
) -> networkx.DiGraph:
    """The rules once more, in the plainest words: who can pass a packet to whom, at which cost."""
    graph = networkx.DiGraph()
    graph.add_node(source)
    carriers, shunned = {source, *relays}, set(avoided)
    for u, costs in claims.items():
        for v, cost_us in costs.items():
            if u in carriers and u in claims.get(v, {}):
                worse = max(cost_us, claims[v][u])
                graph.add_edge(u, v, weight=worse + (2**32 - 2) * (frozenset((u, v)) in shunned))
    return graph


def networkx_distances(graph: networkx.DiGraph, source: NodeId) -> dict[NodeId, int]:
    return dict(networkx.single_source_dijkstra_path_length(graph, source))
