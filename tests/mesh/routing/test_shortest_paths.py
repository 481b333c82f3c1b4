"""Cheapest routes, kept right as the graph changes; networkx is the judge."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.routing.graph import EdgeChange, Graph
from rookery.mesh.routing.shortest_paths import ShortestPaths
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.graphs import (
    graph_of,
    mesh_of,
    networkx_distances,
    networkx_graph,
    node,
    nodes,
)

A, B, C, D, E = nodes(1, 2, 3, 4, 5)
SIZE = 8
_node = st.integers(0, SIZE - 1).map(node)
_costs = st.dictionaries(_node, st.integers(1, 4), max_size=SIZE)  # few costs: many equals


class Model:
    """The graph, kept a second time as plain facts."""

    def __init__(self) -> None:
        self.claims: dict[NodeId, dict[NodeId, int]] = {}
        self.relays = set(map(node, range(SIZE)))
        self.avoided: set[frozenset[NodeId]] = set()
        self.graph = Graph(self.relays.__contains__)

    def claim(self, origin: NodeId, costs: dict[NodeId, int]) -> list[EdgeChange]:
        self.claims[origin] = {peer: cost for peer, cost in costs.items() if peer != origin}
        return self.graph.claim(origin, self.claims[origin])

    def flip_relay(self, which: NodeId) -> list[EdgeChange]:
        self.relays ^= {which}
        return self.graph.reconsider(which)

    def flip_avoided(self, u: NodeId, v: NodeId) -> list[EdgeChange]:
        self.avoided ^= {frozenset((u, v))}
        if frozenset((u, v)) in self.avoided:
            return self.graph.avoid(u, v)
        return self.graph.forgive(u, v)


_operation = st.one_of(
    st.tuples(st.just("claim"), _node, _costs),
    st.tuples(st.just("relay"), _node),
    st.tuples(st.just("avoid"), _node, _node),
)


def perform(model: Model, operation: tuple[object, ...]) -> list[EdgeChange]:
    match operation:
        case ("claim", bytes(origin), dict(costs)):
            return model.claim(origin, costs)
        case ("relay", bytes(which)):
            return model.flip_relay(which)
        case (_, bytes(u), bytes(v)):
            return model.flip_avoided(u, v)
    raise AssertionError(operation)


def assert_right(paths: ShortestPaths, model: Model) -> None:
    judge = networkx_graph(model.claims, model.relays, paths.source, model.avoided)
    right = networkx_distances(judge, paths.source)
    fresh = ShortestPaths(model.graph, paths.source)
    for number in range(SIZE):
        target = node(number)
        assert paths.distance(target) == right.get(target)
        assert paths.path(target) == fresh.path(target)
        assert paths.hops(target) == fresh.hops(target)
        route = paths.path(target)
        assert (route is None) == (target not in right)
        if route is not None:
            assert sum(judge.edges[hop]["weight"] for hop in pairwise(route)) == right[target]
            assert len(route) - 1 == paths.hops(target)
            assert len(set(route)) == len(route)


@pytest.mark.slow
@given(st.lists(st.tuples(_node, _costs), min_size=4), st.lists(st.lists(_operation, max_size=4)))
def test_after_every_batch_of_changes_networkx_agrees(
    start: list[tuple[NodeId, dict[NodeId, int]]], batches: list[list[tuple[object, ...]]]
) -> None:
    model = Model()
    for origin, costs in start:
        model.claim(origin, costs)
    paths = ShortestPaths(model.graph, node(0))
    assert_right(paths, model)
    for batch in batches:
        paths.changed([change for operation in batch for change in perform(model, operation)])
        assert_right(paths, model)


@pytest.mark.parametrize("seed", range(3))
def test_a_mesh_of_300_stays_right_through_cuts_and_changes(seed: int) -> None:
    random = Random(seed)
    edges = mesh_of(seed, 300, 1500)
    graph = graph_of(edges)
    paths = ShortestPaths(graph, node(0))
    for _ in range(60):
        u, v, cost_us = random.choice(edges)
        now_us = random.choice([None, cost_us, cost_us // 4, cost_us * 4])
        changes = set_edge(graph, node(u), node(v), now_us)
        paths.changed(changes)
        fresh = ShortestPaths(graph, node(0))
        assert paths.labels == fresh.labels
    judge = {u: graph.neighbours(u) for u in map(node, range(300))}
    right = networkx_distances(networkx_graph(judge, graph.relays, node(0), ()), node(0))
    assert {n: paths.distance(n) for n in paths.labels} == right


def set_edge(graph: Graph, u: NodeId, v: NodeId, cost_us: int | None) -> list[EdgeChange]:
    changes = []
    for origin, peer in ((u, v), (v, u)):
        costs = {other: cost for other, cost in graph.neighbours(origin).items() if other != peer}
        changes += graph.claim(origin, costs if cost_us is None else {**costs, peer: cost_us})
    return changes


def test_a_cheaper_edge_is_felt_behind_it() -> None:
    """A decrease is propagated."""
    graph = graph_of([(1, 2, 10), (2, 3, 10), (3, 4, 10)])
    paths = ShortestPaths(graph, A)
    paths.changed(set_edge(graph, A, B, 1))
    assert paths.distance(D) == 21


def test_a_cut_edge_moves_everybody_behind_it() -> None:
    graph = graph_of([(1, 2, 10), (2, 3, 10), (3, 4, 10), (1, 4, 90)])
    paths = ShortestPaths(graph, A)
    paths.changed(set_edge(graph, A, B, None))
    assert paths.path(B) == (A, D, C, B)
    assert paths.distance(B) == 110
    paths.changed(set_edge(graph, A, D, None))
    assert paths.path(D) is None
    assert paths.distance(D) is None
    assert paths.hops(D) is None


def test_who_may_not_relay_is_reached_but_never_passed() -> None:
    graph = graph_of([(1, 2, 1), (2, 3, 1), (1, 4, 10), (4, 3, 10)], {A, C, D}.__contains__)
    paths = ShortestPaths(graph, A)
    assert paths.path(B) == (A, B)
    assert paths.path(C) == (A, D, C)


def test_the_source_sends_even_if_it_relays_for_nobody() -> None:
    paths = ShortestPaths(graph_of([(1, 2, 1)], lambda _: False), A)
    assert paths.path(B) == (A, B)
    assert paths.path(A) == (A,)


def test_among_equally_cheap_routes_the_one_with_fewer_hops_wins_then_the_smaller_ids() -> None:
    edges = [(1, 2, 2), (2, 3, 2), (3, 4, 2), (1, 5, 4), (5, 4, 2), (2, 4, 4)]
    assert ShortestPaths(graph_of(edges), A).path(D) == (A, B, D)
    assert ShortestPaths(graph_of(reversed(edges)), A).path(D) == (A, B, D)


def test_a_source_without_edges_reaches_itself() -> None:
    paths = ShortestPaths(graph_of([(2, 3, 1)]), A)
    assert paths.distance(A) == 0
    assert paths.distance(C) is None
