"""Routes that leave something out; networkx is the judge."""

from itertools import pairwise

import networkx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.routing.graph import Edge, edge
from rookery.mesh.routing.search import cheapest
from rookery.mesh.routing.shortest_paths import ShortestPaths
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.graphs import graph_of, mesh_of, node, nodes

A, B, C, D = nodes(0, 1, 2, 3)
SIZE = 7
_edges = st.dictionaries(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
    .filter(lambda ends: ends[0] != ends[1])
    .map(lambda ends: (min(ends), max(ends))),
    st.integers(1, 4),
    max_size=16,
)
_some = st.frozensets(st.integers(1, SIZE - 1).map(node), max_size=3)


def judge_of(
    edges: dict[tuple[int, int], int],
    relays: frozenset[NodeId],
    without: frozenset[NodeId],
    cut: frozenset[Edge],
    target: NodeId,
) -> networkx.DiGraph:
    judge = networkx.DiGraph()
    judge.add_nodes_from([A, target])
    for (u, v), cost_us in edges.items():
        for tail, head in (nodes(u, v), nodes(v, u)):
            passes = tail == A or (tail in relays and tail not in without)
            if passes and edge(tail, head) not in cut:
                judge.add_edge(tail, head, weight=cost_us)
    return judge


@given(_edges, _some, _some, st.data(), st.integers(1, SIZE))
def test_networkx_finds_nothing_cheaper(
    edges: dict[tuple[int, int], int],
    idle: frozenset[NodeId],
    without: frozenset[NodeId],
    data: st.DataObject,
    hop_max: int,
) -> None:
    relays = frozenset(map(node, range(SIZE))) - idle
    cut = frozenset(
        edge(*nodes(*ends)) for ends in edges if data.draw(st.integers(0, 4), label=str(ends)) == 0
    )
    target = node(SIZE - 1)
    paths = ShortestPaths(
        graph_of([(u, v, cost) for (u, v), cost in edges.items()], relays.__contains__), A
    )
    found = cheapest(paths, target, hop_max, without=without, cut=cut)
    judge = judge_of(edges, relays, without, cut, target)
    routes = networkx.all_simple_paths(judge, A, target, cutoff=hop_max)
    weights = [sum(judge.edges[hop]["weight"] for hop in pairwise(route)) for route in routes]
    if found is None:
        assert weights == []
    else:
        assert len(found) - 1 <= hop_max
        assert sum(judge.edges[hop]["weight"] for hop in pairwise(found)) == min(weights)


@pytest.mark.parametrize("seed", range(3))
def test_in_a_mesh_of_300_the_route_around_the_best_one_is_the_cheapest(seed: int) -> None:
    edges = mesh_of(seed, 300, 1500)
    paths = ShortestPaths(graph_of(edges), A)
    target = max(paths.labels, key=paths.labels.__getitem__)
    best = paths.path(target)
    assert best is not None
    found = cheapest(paths, target, 16, without=best[1:-1], cut={edge(A, target)})
    judge = networkx.Graph()
    judge.add_weighted_edges_from((*nodes(u, v), cost) for u, v, cost in edges)
    judge.remove_nodes_from(best[1:-1])
    assert found is not None
    assert networkx.path_weight(judge, found, "weight") == networkx.shortest_path_length(
        judge, A, target, weight="weight"
    )


def test_among_equal_routes_the_smaller_ids_win() -> None:
    edges = [(0, 3, 1), (3, 5, 1), (0, 2, 1), (2, 5, 1), (0, 1, 1), (1, 5, 1)]
    for order in (edges, edges[::-1]):
        paths = ShortestPaths(graph_of(order), A)
        assert cheapest(paths, node(5), 16, without={B}) == (A, C, node(5))


def test_among_equal_routes_onward_the_smaller_id_wins() -> None:
    edges = [(0, 1, 1), (1, 2, 1), (1, 3, 1), (2, 4, 1), (3, 4, 1)]
    for order in (edges, edges[::-1]):
        assert cheapest(ShortestPaths(graph_of(order), A), node(4), 16) == (A, B, C, node(4))
    later = [(0, 9, 1), (9, 2, 1), (9, 3, 1), (2, 4, 1), (3, 4, 1)]
    found = cheapest(ShortestPaths(graph_of(later), A), node(4), 16)
    assert found == (A, node(9), C, node(4))


def test_among_equal_routes_onward_the_smaller_id_wins_even_if_it_is_found_later() -> None:
    edges = [(0, 1, 5), (1, 2, 1), (1, 3, 1), (2, 5, 1), (3, 5, 1), (0, 4, 1), (4, 3, 1)]
    paths = ShortestPaths(graph_of(edges), A)
    assert cheapest(paths, node(5), 16, without={node(4)}) == (A, B, C, node(5))


def test_a_dearer_route_is_taken_when_the_cheapest_has_too_many_hops() -> None:
    edges = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 4, 9), (4, 3, 9)]
    paths = ShortestPaths(graph_of(edges), A)
    assert cheapest(paths, D, 3) == (A, B, C, D)
    assert cheapest(paths, D, 2) == (A, node(4), D)
    assert cheapest(paths, D, 1) is None
    assert cheapest(paths, D, 2, without={node(4)}) is None


def test_there_is_no_route_to_itself_or_to_no_node() -> None:
    paths = ShortestPaths(graph_of([(0, 1, 1)]), A)
    assert cheapest(paths, A, 16) is None
    assert cheapest(paths, D, 16) is None
