"""What claims make of links."""

from rookery.mesh.routing.graph import AVOIDED_US, EdgeChange, Graph
from rookery.wire.mesh.record import Record, RecordLink
from tests.mesh.graphs import everybody, graph_of, node, nodes

A, B, C = nodes(1, 2, 3)


def record(origin: bytes, *links: tuple[bytes, int]) -> Record:
    return Record(
        origin=origin,
        epoch=1,
        sequence=1,
        made_s=0,
        lifetime_s=60,
        links=tuple(RecordLink(peer, 0, cost_us) for peer, cost_us in links),
    )


def test_an_edge_needs_both_ends() -> None:
    """A one-way edge does not count."""
    graph = Graph(everybody)
    assert graph.apply(record(A, (B, 5)), A) == []
    assert graph.cost(A, B) is None
    assert graph.apply(record(B, (A, 7)), B) == [EdgeChange((A, B), None, 7)]
    assert graph.cost(A, B) == graph.cost(B, A) == 7


def test_an_edge_costs_what_its_worse_end_says() -> None:
    """A liar cannot make a link look cheaper than its honest end says."""
    graph = graph_of([(1, 2, 40)])
    assert graph.claim(A, {B: 1}) == []
    assert graph.claim(A, {B: 50}) == [EdgeChange((A, B), 40, 50)]


def test_losing_one_peer_removes_only_its_own_edges() -> None:
    """R3."""
    graph = graph_of([(1, 2, 10), (2, 3, 20), (1, 3, 30)])
    assert graph.apply(None, B) == [EdgeChange((A, B), 10, None), EdgeChange((B, C), 20, None)]
    assert graph.neighbours(A) == {C: 30}
    assert graph.neighbours(B) == {}
    assert not graph.knows(B)
    assert graph.knows(C)


def test_the_same_record_again_changes_nothing() -> None:
    graph = graph_of([(1, 2, 10)])
    assert graph.apply(record(A, (B, 10)), A) == []
    assert graph.apply(None, C) == []


def test_nobody_is_its_own_neighbour() -> None:
    graph = Graph(everybody)
    assert graph.claim(A, {A: 1}) == []
    assert graph.neighbours(A) == {}


def test_our_own_links_are_there_while_we_say_so() -> None:
    """What we measure beats what records say, and needs no record."""
    graph = Graph(everybody, own=A)
    assert graph.measured(B, 10) == [EdgeChange((A, B), None, 10)]
    assert graph.knows(B)
    assert graph.apply(record(B, (A, 12), (C, 5)), B) == [EdgeChange((A, B), 10, 12)]
    assert graph.claim(C, {A: 1, B: 5}) == [EdgeChange((B, C), None, 5)]
    assert graph.lost(B) == [EdgeChange((A, B), 12, None)]
    assert graph.neighbours(A) == {}


def test_the_record_we_published_says_nothing_new_to_us() -> None:
    graph = Graph(everybody, own=A)
    graph.measured(B, 10)
    assert graph.apply(None, A) == []
    assert graph.apply(record(A, (B, 99), (C, 1)), A) == []
    assert graph.cost(A, B) == 10


def test_who_may_relay_is_asked_again_when_roles_change() -> None:
    roles = {A, B}
    graph = graph_of([(1, 2, 10), (2, 3, 20)], roles.__contains__)
    assert graph.relays == {A, B}
    assert graph.reconsider(B) == []
    roles.discard(B)
    assert graph.reconsider(B) == [EdgeChange((A, B), 10, 10), EdgeChange((B, C), 20, 20)]
    assert graph.relays == {A}
    roles.add(C)
    assert graph.claim(C, {B: 20}) == [EdgeChange((B, C), 20, 20)]
    assert graph.reconsider(node(9)) == []


def test_an_avoided_edge_counts_more_until_forgiven() -> None:
    graph = graph_of([(1, 2, 10)])
    assert graph.avoid(B, A) == [EdgeChange((A, B), 10, 10 + AVOIDED_US)]
    assert graph.is_avoided(A, B)
    assert graph.claim(A, {B: 20}) == [EdgeChange((A, B), 10 + AVOIDED_US, 20 + AVOIDED_US)]
    assert graph.forgive(A, B) == [EdgeChange((A, B), 20 + AVOIDED_US, 20)]
    assert not graph.is_avoided(A, B)
    assert graph.avoid(A, C) == []


def test_all_claims_can_be_listed_with_those_nobody_confirms() -> None:
    graph = graph_of([(1, 2, 10)])
    graph.claim(C, {A: 1})
    assert set(graph.claims()) == {(A, B, 10), (B, A, 10), (C, A, 1)}


def test_another_node_weighs_the_same_claims_with_its_own_eyes() -> None:
    graph = Graph(everybody, A)
    graph.claim(A, {B: 10})  # we measured it, and B has not told yet
    graph.claim(C, {B: 30})  # so has C
    graph.claim(B, {C: 20})
    graph.avoid(B, C)
    seen = graph.seen_from(C)
    assert seen.own == C
    assert seen.cost(A, B) is None  # to C that is a claim of one side
    assert seen.cost(B, C) == 30
    graph.claim(B, {})
    assert graph.seen_from(C).cost(B, C) == 30  # C knows its own links best
    assert graph.cost(B, C) is None
