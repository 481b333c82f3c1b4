"""Choices that stay current while the mesh changes."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.routing import route_table
from rookery.mesh.routing.graph import EdgeChange, Graph
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.mesh.routing.route_explanation import RouteVerdict
from rookery.mesh.routing.route_table import (
    AVOIDED_MAX,
    DESTINATIONS_MAX,
    SPARES_REFRESH_S,
    RouteTable,
)
from rookery.mesh.routing.routes import RouteChoice, Routes
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.graphs import everybody, graph_of, mesh_of, node, nodes

A, B, C, D, E = nodes(1, 2, 3, 4, 5)
DIAMOND = [(1, 2, 10), (2, 4, 10), (1, 3, 20), (3, 4, 20)]


def route(
    table: RouteTable, destination: NodeId = D, now: float = 0.0
) -> tuple[NodeId, ...] | None:
    choice = table.to(destination, now)
    return None if choice is None else choice.route.nodes


def set_edge(graph: Graph, u: NodeId, v: NodeId, cost_us: int | None) -> list[EdgeChange]:
    changes = []
    for origin, peer in ((u, v), (v, u)):
        costs = {other: cost for other, cost in graph.neighbours(origin).items() if other != peer}
        changes += graph.claim(origin, costs if cost_us is None else {**costs, peer: cost_us})
    return changes


def test_a_choice_stays_the_same_value_until_something_changes() -> None:
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    first = table.to(D, 0.0)
    table.changed([])
    assert table.to(D, 5.0) is first
    assert list(table.in_use) == [D]


def test_the_routes_in_use_and_their_spares_are_listed() -> None:
    table = RouteTable(graph_of(DIAMOND), A)
    table.to(D, 0.0)
    assert list(table.used()) == [(A, B, D), (A, C, D)]


def test_any_route_has_a_price_while_it_counts() -> None:
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    assert table.priced((A, C, D)) == Route((A, C, D), (20, 20))
    table.changed(set_edge(graph, C, D, None))
    assert table.priced((A, C, D)) is None


def test_news_that_does_not_matter_leaves_the_choice_as_it_was() -> None:
    graph = graph_of([*DIAMOND, (4, 5, 7)])
    table = RouteTable(graph, A)
    first = table.to(D, 0.0)
    table.changed(set_edge(graph, D, E, 9))
    assert table.to(D, 0.1) is first
    assert table.to(D, SPARES_REFRESH_S) is first


def test_a_local_loss_is_felt_by_the_next_packet() -> None:
    """Our own links need no record and no wait."""
    graph = Graph(everybody, own=A)
    table = RouteTable(graph, A)
    table.changed(graph.measured(B, 10))
    assert route(table, B) == (A, B)
    table.changed(graph.measured(C, 20) + graph.claim(B, {D: 10}) + graph.claim(C, {D: 20}))
    table.changed(graph.claim(D, {B: 10, C: 20}))
    assert route(table) == (A, B, D)
    table.changed(graph.lost(B))
    assert route(table) == (A, C, D)
    assert route(table, B) == (A, C, D, B)
    table.changed(graph.lost(C))
    assert route(table) is None
    assert list(table.in_use) == [B]
    assert route(table, B) is None


def test_a_choice_tells_what_changed_since_the_one_before() -> None:
    """R13."""
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    table.to(D, 1.0)
    table.changed(set_edge(graph, A, B, 90))
    choice = table.to(D, 2.0)
    assert choice is not None
    assert choice.explanation.at_s == 2.0
    previous = choice.explanation.previous
    assert previous is not None
    assert (previous.at_s, previous.route) == (1.0, Route((A, B, D), (10, 10)))
    assert previous.costs_now_us == (90, 10)
    assert [one.verdict for one in choice.explanation.candidates] == [
        RouteVerdict.CHEAPEST,
        RouteVerdict.LET_GO,
    ]
    assert choice.explanation.candidates[1].stands_by


def test_the_route_in_use_is_held_across_changes() -> None:
    graph = graph_of([(1, 2, 50), (2, 4, 50), (1, 3, 51), (3, 4, 51)])
    table = RouteTable(graph, A)
    assert route(table) == (A, B, D)
    table.changed(set_edge(graph, A, B, 54))
    assert route(table) == (A, B, D)
    table.changed(set_edge(graph, A, B, 58))
    assert route(table) == (A, C, D)


def test_a_spare_that_broke_is_replaced_at_once() -> None:
    graph = graph_of([*DIAMOND, (1, 5, 30), (5, 4, 30)])
    table = RouteTable(graph, A, RoutePolicy(disjoint_max=2))
    first = table.to(D, 0.0)
    table.changed(set_edge(graph, C, D, None))
    choice = table.to(D, 0.0)
    assert first is not None
    assert choice is not None
    assert (first.alternates[0].nodes, choice.alternates[0].nodes) == ((A, C, D), (A, E, D))
    assert choice.explanation.previous is None  # the route itself is the same


def test_better_spares_are_looked_for_a_second_later() -> None:
    graph = graph_of([*DIAMOND, (1, 5, 30), (5, 4, 30)])
    table = RouteTable(graph, A, RoutePolicy(disjoint_max=2))
    first = table.to(D, 0.0)
    table.changed(set_edge(graph, A, E, 5))
    assert table.to(D, 0.5) is first
    choice = table.to(D, SPARES_REFRESH_S)
    assert choice is not None
    assert choice.alternates[0].nodes == (A, E, D)
    assert table.to(D, 2.5) is choice


def test_an_edge_that_failed_is_avoided_for_a_while() -> None:
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    assert route(table) == (A, B, D)
    assert table.deadline is None
    table.avoid(D, B, until=5.0)
    assert table.deadline == 5.0
    assert route(table) == (A, C, D)
    table.tick(4.9)
    assert route(table) == (A, C, D)
    table.tick(5.0)
    assert table.deadline is None
    assert route(table) == (A, B, D)


def test_an_avoided_edge_is_taken_where_nothing_else_leads() -> None:
    """A lying error report cannot cut anybody off."""
    table = RouteTable(graph_of([(1, 2, 10), (2, 4, 10)]), A)
    table.avoid(B, D, until=5.0)
    assert route(table) == (A, B, D)


def test_avoiding_lasts_until_the_later_of_two_reports() -> None:
    table = RouteTable(graph_of(DIAMOND), A)
    table.avoid(B, D, until=5.0)
    table.avoid(D, B, until=3.0)
    assert table.deadline == 5.0


def test_nobody_tells_us_to_avoid_our_own_links() -> None:
    table = RouteTable(graph_of(DIAMOND), A)
    table.avoid(B, A, until=5.0)
    assert table.deadline is None
    assert route(table) == (A, B, D)


def test_so_many_edges_are_avoided_at_once_and_no_more() -> None:
    table = RouteTable(graph_of(DIAMOND), A)
    table.avoid(B, D, until=1.0)
    for number in range(AVOIDED_MAX):
        table.avoid(B, node(1000 + number), until=2.0 + number)
    assert route(table) == (A, B, D)  # the first to end made room
    assert table.deadline == 2.0


def test_destinations_in_use_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert DESTINATIONS_MAX == 4096
    monkeypatch.setattr(route_table, "DESTINATIONS_MAX", 2)
    table = RouteTable(graph_of(DIAMOND), A)
    for destination in (B, C, D):
        assert route(table, destination) is not None
    assert list(table.in_use) == [C, D]


def test_news_that_nobody_asks_about_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_table, "PENDING_MAX", 3)
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    for cost_us in range(20, 30):
        table.changed(set_edge(graph, B, D, cost_us * 10))
    assert route(table) == (A, C, D)
    table.changed(set_edge(graph, B, D, 1))
    assert route(table) == (A, B, D)


def test_a_detour_passes_none_of_the_nodes_named() -> None:
    graph = graph_of([*DIAMOND, (2, 3, 1), (1, 4, 99)])
    table = RouteTable(graph, A)
    assert table.detour(D, ()) == Route((A, B, D), (10, 10))
    assert table.detour(D, {B}) == Route((A, C, D), (20, 20))
    assert table.detour(D, {B, C}) == Route((A, D), (99,))
    assert table.detour(D, {B, C, D}) is None  # the link to the destination itself is the one lost
    assert table.detour(D, {B}, hop_max=1) == Route((A, D), (99,))


def test_a_detour_knows_the_latest_news() -> None:
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    table.changed(set_edge(graph, C, D, None))
    assert table.detour(D, {B}) is None


@given(st.integers(0, 2**32))
def test_the_table_chooses_as_if_everything_were_computed_anew(seed: int) -> None:
    random = Random(seed)
    edges = mesh_of(seed, 12, 24)
    graph = graph_of(edges)
    table, now = RouteTable(graph, node(0)), 0.0
    used: dict[NodeId, RouteChoice] = {}
    for _ in range(12):
        now += SPARES_REFRESH_S  # so that spares are looked for each time
        for _ in range(random.randrange(3)):
            u, v, cost_us = random.choice(edges)
            after = random.choice([None, cost_us, cost_us // 2, cost_us * 2])
            table.changed(set_edge(graph, node(u), node(v), after))
        for destination in map(node, (5, 11)):
            right = Routes(graph, node(0), RoutePolicy()).to(
                destination, used.get(destination), now
            )
            choice = table.to(destination, now)
            assert (choice is None) == (right is None)
            used.pop(destination, None)
            if choice is not None and right is not None:
                assert (choice.route, choice.alternates) == (right.route, right.alternates)
                used[destination] = choice


def test_whoever_listens_hears_of_other_routes_only_p2() -> None:
    graph = graph_of(DIAMOND)
    table = RouteTable(graph, A)
    heard: list[tuple[NodeId, tuple[NodeId, ...], tuple[NodeId, ...]]] = []

    def listen(
        destination: NodeId, choice: RouteChoice | None, previous: RouteChoice | None
    ) -> None:
        after, before = (() if one is None else one.route.nodes for one in (choice, previous))
        heard.append((destination, after, before))

    table.on_choice = listen
    table.to(D, 0.0)
    table.to(D, 1.0)
    assert heard == [(D, (A, B, D), ())]
    table.changed(set_edge(graph, B, D, 11))  # dearer, but the same route
    table.to(D, 2.0)
    assert len(heard) == 1
    table.changed(set_edge(graph, B, D, None))
    table.to(D, 3.0)
    assert heard[1:] == [(D, (A, C, D), (A, B, D))]
    table.changed(set_edge(graph, C, D, None))
    assert table.to(D, 4.0) is table.to(D, 5.0) is None
    assert heard[2:] == [(D, (), (A, C, D))]
