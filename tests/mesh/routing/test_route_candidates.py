"""The full account of a choice (R13)."""

from rookery.mesh.routing.graph import Graph
from rookery.mesh.routing.route import Route
from rookery.mesh.routing.route_candidates import NEIGHBOURS_MAX
from rookery.mesh.routing.route_explanation import RouteCandidate, RouteExplanation, RouteVerdict
from rookery.mesh.routing.route_table import RouteTable
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.graphs import everybody, graph_of, node, nodes

A, B, C, D, E = nodes(1, 2, 3, 4, 5)


def explain(graph: Graph, destination: NodeId = D) -> RouteExplanation:
    return RouteTable(graph, A).explain(destination, 7.0)


def candidate(explanation: RouteExplanation, *route: NodeId) -> RouteCandidate:
    (found,) = (one for one in explanation.candidates if one.route.nodes == route)
    return found


def test_routes_over_other_neighbours_are_told_with_what_they_cost_more() -> None:
    edges = [(1, 2, 10), (2, 4, 10), (1, 3, 30), (3, 2, 1), (1, 5, 4)]
    explanation = explain(graph_of(edges))
    assert explanation.chosen is not None
    assert explanation.chosen.route == Route((A, B, D), (10, 10))
    dearer = candidate(explanation, A, C, B, D)
    assert dearer.verdict is RouteVerdict.DEARER
    assert dearer.ratio == 41 / 20


def test_a_cheaper_route_that_the_direct_link_beats_is_told() -> None:
    edges = [(1, 4, 100), (1, 2, 50), (2, 4, 40), (1, 3, 50), (3, 4, 45)]
    explanation = explain(graph_of(edges))
    assert explanation.chosen is not None
    assert explanation.chosen.verdict is RouteVerdict.DIRECT
    beaten = candidate(explanation, A, C, D)
    assert beaten.verdict is RouteVerdict.SPARE
    fourth = explain(graph_of([*edges, (1, 5, 50), (5, 4, 48)]))
    assert candidate(fourth, A, E, D).verdict is RouteVerdict.NOT_CLEARLY_CHEAPER
    assert candidate(fourth, A, E, D).ratio == 0.98


def test_only_some_neighbours_are_told_of() -> None:
    edges = [(1, 2, 1), (2, 4, 1)]
    edges += [edge for number in range(10, 40) for edge in ((1, number, 9), (number, 2, number))]
    explanation = explain(graph_of(edges))
    assert (
        sum(one.verdict is RouteVerdict.DEARER for one in explanation.candidates) < NEIGHBOURS_MAX
    )


def test_a_link_that_one_side_claims_is_named() -> None:
    graph = graph_of([(1, 2, 10), (2, 4, 10), (1, 3, 1)])
    graph.claim(D, {B: 10, C: 1, A: 3})
    explanation = explain(graph)
    assert candidate(explanation, A, D).verdict is RouteVerdict.ONE_SIDED
    assert candidate(explanation, A, D).culprits == ((A, D),)
    assert candidate(explanation, A, C, D).verdict is RouteVerdict.ONE_SIDED
    assert candidate(explanation, A, C, D).culprits == ((C, D),)


def test_a_link_that_one_side_claims_is_no_matter_when_it_would_not_help() -> None:
    graph = graph_of([(1, 2, 10), (2, 4, 10)])
    graph.claim(D, {B: 10, A: 99})
    assert [one.verdict for one in explain(graph).candidates] == [RouteVerdict.CHEAPEST]


def test_our_own_lost_link_is_named_while_the_other_end_still_claims_it() -> None:
    graph = Graph(everybody, own=A)
    graph.measured(D, 10)
    graph.claim(D, {A: 10})
    graph.lost(D)
    explanation = explain(graph)
    assert explanation.chosen is None
    assert explanation.is_known
    assert candidate(explanation, A, D).verdict is RouteVerdict.ONE_SIDED


def test_a_node_that_may_not_relay_is_named() -> None:
    edges = [(1, 2, 1), (2, 4, 1), (1, 3, 9), (3, 4, 9)]
    explanation = explain(graph_of(edges, {C}.__contains__))
    assert candidate(explanation, A, B, D).verdict is RouteVerdict.NO_RELAY
    assert candidate(explanation, A, B, D).culprits == ((B,),)


def test_a_link_that_failed_lately_is_named() -> None:
    graph = graph_of([(1, 2, 1), (2, 4, 1), (1, 3, 9), (3, 4, 9)])
    table = RouteTable(graph, A)
    table.avoid(B, D, 5.0)
    explanation = table.explain(D, 0.0)
    avoided = [one for one in explanation.candidates if one.verdict is RouteVerdict.AVOIDED]
    assert avoided == [
        RouteCandidate(Route((A, B, D), (1, 1)), RouteVerdict.AVOIDED, None, ((B, D),))
    ]


def test_a_route_with_too_many_hops_is_told() -> None:
    chain = [(number, number + 1, 1) for number in range(100, 120)]
    chain += [(1, 100, 1), (120, 4, 1)]
    explanation = explain(graph_of([*chain, (1, 2, 900), (2, 4, 900)]))
    assert explanation.chosen is not None
    assert explanation.chosen.route.nodes == (A, B, D)
    too_long = [one for one in explanation.candidates if one.verdict is RouteVerdict.TOO_LONG]
    assert [len(one.route.costs_us) for one in too_long] == [22]
    only = explain(graph_of(chain))
    assert [one.verdict for one in only.candidates] == [RouteVerdict.TOO_LONG]


def test_a_node_that_nobody_knows_is_said_to_be_unknown() -> None:
    explanation = explain(graph_of([(1, 2, 1)]), node(99))
    assert explanation.candidates == ()
    assert not explanation.is_known
    assert explanation.at_s == 7.0
