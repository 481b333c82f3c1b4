"""How a route is chosen."""

import networkx  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.routing.graph import Graph
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.mesh.routing.route_explanation import RouteVerdict
from rookery.mesh.routing.routes import RouteChoice, Routes, routes
from tests.mesh.graphs import graph_of, mesh_of, node, nodes

A, B, C, D, E, F = nodes(1, 2, 3, 4, 5, 6)
POLICY = RoutePolicy()


def choose(graph: Graph, previous: RouteChoice | None = None) -> RouteChoice:
    """From A to D."""
    choice = routes(graph, A, POLICY).to(D, previous)
    assert choice is not None
    return choice


def verdicts(choice: RouteChoice) -> dict[tuple[bytes, ...], RouteVerdict]:
    return {one.route.nodes: one.verdict for one in choice.explanation.candidates}


def test_the_cheapest_route_is_taken() -> None:
    """M3."""
    choice = choose(graph_of([(1, 2, 5), (2, 4, 5), (1, 3, 6), (3, 4, 6)]))
    assert choice.route == Route((A, B, D), (5, 5))
    assert choice.route.cost_us == 10
    assert choice.route.inner == (B,)
    assert verdicts(choice)[A, B, D] is RouteVerdict.CHEAPEST


@pytest.mark.parametrize(("detour_us", "route"), [(79, (A, B, D)), (80, (A, D)), (99, (A, D))])
def test_the_direct_link_wins_unless_a_detour_is_clearly_cheaper(
    detour_us: int, route: tuple[bytes, ...]
) -> None:
    """R6."""
    choice = choose(graph_of([(1, 4, 100), (1, 2, 9), (2, 4, detour_us - 9)]))
    assert choice.route.nodes == route
    given_reasons = {
        (A, B, D): {(A, B, D): RouteVerdict.CHEAPEST, (A, D): RouteVerdict.DETOUR_CLEARLY_CHEAPER},
        (A, D): {(A, D): RouteVerdict.DIRECT, (A, B, D): RouteVerdict.NOT_CLEARLY_CHEAPER},
    }
    assert verdicts(choice) == given_reasons[route]


def test_a_direct_link_that_is_also_the_cheapest_needs_no_rule() -> None:
    choice = choose(graph_of([(1, 4, 10), (1, 2, 9), (2, 4, 9)]))
    assert verdicts(choice)[A, D] is RouteVerdict.CHEAPEST


def two_routes(over_b_us: int, over_c_us: int) -> Graph:
    return graph_of([(1, 2, 10), (2, 4, over_b_us - 10), (1, 3, 10), (3, 4, over_c_us - 10)])


def test_the_route_in_use_stays_while_it_is_within_five_percent_of_the_best() -> None:
    used = choose(two_routes(100, 110))
    kept = choose(two_routes(105, 100), used)
    assert kept.route == Route((A, B, D), (10, 95))
    assert verdicts(kept)[A, B, D] is RouteVerdict.HELD
    assert verdicts(kept)[A, C, D] is RouteVerdict.WITHIN_HOLD


def test_the_route_in_use_is_let_go_beyond_five_percent() -> None:
    used = choose(two_routes(100, 110))
    moved = choose(two_routes(106, 100), used)
    assert moved.route.nodes == (A, C, D)
    assert verdicts(moved)[A, B, D] is RouteVerdict.LET_GO


def test_a_better_route_is_never_refused_because_the_metric_once_was_lower() -> None:
    """R12: all links have become dearer than anything seen before; only today's costs count."""
    used = choose(two_routes(20, 500))
    moved = choose(two_routes(5000, 4000), used)
    assert moved.route.nodes == (A, C, D)


def test_the_hold_also_steadies_the_change_between_direct_link_and_detour() -> None:
    def world(detour_us: int) -> Graph:
        return graph_of([(1, 4, 1000), (1, 2, 10), (2, 4, detour_us - 10)])

    direct, detour = choose(world(900)), choose(world(700))
    assert choose(world(770), direct).route.nodes == (A, D)
    assert choose(world(760), direct).route.nodes == (A, B, D)
    assert choose(world(830), detour).route.nodes == (A, B, D)
    assert choose(world(850), detour).route.nodes == (A, D)


def test_a_route_in_use_that_broke_is_gone() -> None:
    """R3, R13."""
    used = choose(two_routes(100, 200))
    moved = choose(graph_of([(2, 4, 90), (1, 3, 10), (3, 4, 190)]), used)
    assert moved.route.nodes == (A, C, D)
    (gone,) = (one for one in moved.explanation.candidates if one.verdict is RouteVerdict.GONE)
    assert gone.culprits == ((A, B),)
    assert moved.explanation.previous is not None
    assert moved.explanation.previous.costs_now_us == (None, 90)


def test_a_route_in_use_whose_relay_may_no_longer_relay_is_gone() -> None:
    used = choose(two_routes(100, 200))
    edges = [(1, 2, 10), (2, 4, 90), (1, 3, 10), (3, 4, 190)]
    moved = choose(graph_of(edges, {C}.__contains__), used)
    assert moved.route.nodes == (A, C, D)
    (gone,) = (one for one in moved.explanation.candidates if one.verdict is RouteVerdict.GONE)
    assert gone.culprits == ((B,),)


def test_who_may_not_relay_is_never_passed_but_can_be_reached() -> None:
    edges = [(1, 2, 1), (2, 4, 1), (1, 3, 50), (3, 4, 50)]
    graph = graph_of(edges, {C}.__contains__)
    assert choose(graph).route.nodes == (A, C, D)
    assert choose(graph).alternates == ()
    to_b = routes(graph, A, POLICY).to(B)
    assert to_b is not None
    assert to_b.route.nodes == (A, B)


def test_nothing_leads_to_oneself_or_to_where_nothing_leads() -> None:
    table = routes(graph_of([(1, 2, 1), (4, 5, 1)]), A, POLICY)
    assert table.to(A) is None
    assert table.to(D) is None
    assert table.to(node(99)) is None


def test_routes_have_at_most_so_many_hops() -> None:
    chain = [(number, number + 1, 1) for number in range(1, 19)]
    table = routes(graph_of(chain), A, POLICY)
    reached = table.to(node(17))
    assert reached is not None
    assert len(reached.route.costs_us) == 16
    assert table.to(node(18)) is None
    shorter = routes(graph_of([*chain, (1, 10, 10_000)]), A, POLICY).to(node(18))
    assert shorter is not None
    assert shorter.route.cost_us == 10_008


def test_spares_share_no_node_with_the_route_nor_with_each_other() -> None:
    edges = [(1, 2, 1), (2, 4, 1), (2, 3, 1), (1, 3, 5), (3, 4, 5), (1, 5, 9), (5, 4, 9)]
    choice = choose(graph_of([*edges, (1, 6, 99), (6, 4, 99)]))
    assert [route.nodes for route in choice.alternates] == [(A, C, D), (A, E, D)]
    assert verdicts(choice)[A, E, D] is RouteVerdict.SPARE


def test_the_direct_link_is_a_spare_of_a_detour() -> None:
    choice = choose(graph_of([(1, 2, 1), (2, 4, 1), (1, 4, 50)]))
    assert [route.nodes for route in choice.alternates] == [(A, D)]


def test_where_all_routes_share_a_node_a_spare_shares_at_least_no_link() -> None:
    edges = [(1, 2, 1), (2, 3, 1), (1, 5, 2), (5, 3, 2), (3, 4, 1), (3, 6, 2), (6, 4, 2)]
    choice = choose(graph_of(edges))
    assert [route.nodes for route in choice.alternates] == [(A, E, C, F, D)]
    (spare,) = (
        one
        for one in choice.explanation.candidates
        if one.verdict is RouteVerdict.SPARE_SHARING_NODES
    )
    assert spare.culprits == ((C,),)


def test_spares_can_be_done_without() -> None:
    graph = graph_of([(1, 2, 1), (2, 4, 1), (1, 3, 5), (3, 4, 5)])
    choice = Routes(graph, A, RoutePolicy(disjoint_max=1)).to(D)
    assert choice is not None
    assert choice.alternates == ()


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_choices_in_random_meshes_obey_all_rules(seed: int, size: int) -> None:
    """R6, and node-disjoint spares that networkx cannot better."""
    edges = mesh_of(seed, size, min(3 * size, size * (size - 1) // 2))
    source, target = node(0), node(size - 1)
    choice = routes(graph_of(edges), source, POLICY).to(target)
    judge = networkx.Graph()
    judge.add_weighted_edges_from((*nodes(u, v), cost) for u, v, cost in edges)
    best = networkx.shortest_path_length(judge, source, target, weight="weight")
    assert choice is not None
    direct = judge.get_edge_data(source, target)
    if direct is not None and best >= 0.8 * direct["weight"]:
        assert choice.route == Route((source, target), (direct["weight"],))
    else:
        assert choice.route.cost_us == best
    judge.remove_nodes_from(choice.route.inner)
    if choice.route.is_direct:
        judge.remove_edge(source, target)
    spare = choice.alternates[0] if choice.alternates else None
    if not networkx.has_path(judge, source, target):
        assert spare is None or set(spare.inner) & set(choice.route.inner)
        return
    assert spare is not None
    assert spare.cost_us == networkx.shortest_path_length(judge, source, target, weight="weight")
    used = [node for route in (choice.route, *choice.alternates) for node in route.inner]
    assert len(used) == len(set(used))


@given(st.integers(50, 200), st.integers(50, 200), st.integers(50, 200), st.booleans())
def test_what_is_in_use_is_never_worse_than_the_hold_allows(
    b_us: int, c_us: int, direct_us: int, uses_b: bool
) -> None:
    """R12, for any history: whatever was in use, the choice counts at most 1.05 × the best."""
    used = choose(two_routes(100, 200) if uses_b else two_routes(200, 100))
    edges = [(1, 2, 10), (2, 4, b_us - 10), (1, 3, 10), (3, 4, c_us - 10), (1, 4, direct_us)]
    choice = choose(graph_of(edges), used)
    least = min(b_us, c_us, 0.8 * direct_us)
    assert POLICY.counted(choice.route) <= 1.05 * least
    in_use_us = b_us if uses_b else c_us
    if in_use_us <= 1.05 * least:
        assert choice.route.nodes == used.route.nodes
