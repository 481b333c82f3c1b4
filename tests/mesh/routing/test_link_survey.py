"""All links of a realm, as one node knows them."""

from rookery.mesh.routing.graph import Graph
from rookery.mesh.routing.link_survey import LinkClaim, SurveyedLink, survey
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import LOSS_MAX, Record, RecordLink, rate_code
from tests.mesh.graphs import everybody, nodes

A, B, C = nodes(1, 2, 3)


def record(origin: NodeId, made_s: int, *links: RecordLink) -> Record:
    return Record(origin, 1, 1, made_s, 60, links=links)


def surveyed(*records: Record, own: NodeId | None = None) -> dict[frozenset[NodeId], SurveyedLink]:
    graph = Graph(everybody, own)
    for one in records:
        graph.apply(one, one.origin)
    held = {one.origin: one for one in records}
    return {frozenset(link.ends): link for link in survey(held, graph, (), 100.0)}


def test_a_link_has_both_claims_and_what_counts() -> None:
    rate = rate_code(1_000_000.0)
    link = surveyed(
        record(A, 10, RecordLink(B, 0, 5000, LOSS_MAX, rate)), record(B, 7, RecordLink(A, 0, 7000))
    )[frozenset((A, B))]
    first, second = link.claims
    assert link.ends == (A, B)
    assert first is not None
    assert (first.cost_us, first.loss, first.made_s) == (5000, 1.0, 10.0)
    assert first.bytes_per_s is not None
    assert 900_000 < first.bytes_per_s < 1_100_000
    assert second == LinkClaim(7000, 0.0, None, 7.0)
    assert (link.cost_us, link.made_s, link.is_avoided) == (7000, 7.0, False)


def test_a_link_that_one_side_claims_is_told_and_does_not_count() -> None:
    found = surveyed(record(B, 7, RecordLink(A, 0, 7000)), record(A, 9))
    link = found[frozenset((A, B))]
    assert (link.claims[0], link.cost_us, link.made_s) == (None, None, 7.0)


def test_own_links_are_as_they_are_now_and_not_as_they_were_told() -> None:
    graph = Graph(everybody, A)
    graph.measured(B, 900)
    held = {A: record(A, 1, RecordLink(B, 0, 5000), RecordLink(C, 0, 5000))}
    (link,) = survey(held, graph, [RecordLink(B, 0, 950)], 100.0)
    assert link.claims == (LinkClaim(950, 0.0, None, 100.0), None)
    assert link.cost_us == 900


def test_an_avoided_link_says_so_and_what_it_costs() -> None:
    records = record(A, 1, RecordLink(B, 0, 5)), record(B, 1, RecordLink(A, 0, 7))
    graph = Graph(everybody)
    for one in records:
        graph.apply(one, one.origin)
    graph.avoid(B, A)
    (link,) = survey({one.origin: one for one in records}, graph, (), 100.0)
    assert (link.is_avoided, link.cost_us) == (True, 7)
