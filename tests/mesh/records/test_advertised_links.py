"""Which links the realm is told of."""

from hashlib import sha256
from itertools import combinations
from math import dist
from random import Random

import networkx as nx  # type: ignore[import-untyped]

from rookery.mesh.records.advertised_links import CHOSEN_MAX, advertised_links, only_links
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import LINKS_MAX, Record, RecordLink


def node(number: int) -> NodeId:
    return sha256(str(number).encode()).digest()[:8]


def links(costs: dict[NodeId, int]) -> dict[NodeId, RecordLink]:
    return {peer: RecordLink(peer, 0, cost) for peer, cost in costs.items()}


def record(origin: NodeId, peers: set[NodeId]) -> Record:
    return Record(origin, 1, 1, 0, 60, links=tuple(RecordLink(p, 0, 1) for p in sorted(peers)))


OWN = node(0)
MANY = links({node(number): 1000 + number for number in range(1, 101)})


def test_few_links_are_all_told() -> None:
    few = dict(list(MANY.items())[:CHOSEN_MAX])
    assert advertised_links(OWN, few, (), {}) == set(few)


def test_of_many_the_cheapest_and_some_far_ones_are_told() -> None:
    chosen = advertised_links(OWN, MANY, (), {})
    assert len(chosen) == CHOSEN_MAX
    assert {node(number) for number in range(1, 19)} <= chosen
    ring = sorted([OWN, *MANY])
    at = ring.index(OWN)
    assert {ring[at - 1], ring[(at + 1) % len(ring)]} <= chosen


def test_a_told_link_stays_while_others_are_little_cheaper() -> None:
    costs = {node(number): 1000 for number in range(1, 101)}
    told = advertised_links(OWN, links(costs), (), {})
    rivals = {peer: 900 if peer not in told else 1000 for peer in costs}
    assert advertised_links(OWN, links(rivals), told, {}) == told
    rivals = {peer: 700 if peer not in told else 1000 for peer in costs}
    assert advertised_links(OWN, links(rivals), told, {}) != told


def test_those_who_chose_us_are_told_of_too_up_to_the_bound() -> None:
    """An edge counts only when both ends tell of it."""
    by_themselves = advertised_links(OWN, MANY, (), {})
    unchosen = sorted(MANY.keys() - by_themselves, key=lambda peer: MANY[peer].cost_us)
    records = {peer: record(peer, {OWN}) for peer in [*unchosen[5:8], *by_themselves]}
    assert advertised_links(OWN, MANY, (), records) >= by_themselves | set(unchosen[5:8])
    records = {peer: record(peer, {OWN}) for peer in MANY}
    assert len(advertised_links(OWN, MANY, (), records)) == LINKS_MAX


def test_the_only_link_into_another_part_is_told_however_dear() -> None:
    far, beyond = node(1000), node(1001)
    dear = {**MANY, far: RecordLink(far, 0, 10**9)}
    ring = sorted(MANY)
    records = {
        peer: record(peer, {ring[at - 1], ring[(at + 1) % len(ring)]})
        for at, peer in enumerate(ring)
    }
    assert far not in advertised_links(OWN, dear, (), records)
    records[far] = record(far, {beyond})
    records[beyond] = record(beyond, {far})
    records[OWN] = record(OWN, {far})
    assert far in advertised_links(OWN, dear, (), records)
    records[far] = record(far, {beyond, ring[0]})  # there is another route
    records[ring[0]] = record(ring[0], {ring[-1], ring[1], far})
    assert far not in advertised_links(OWN, dear, (), records)


def test_a_one_sided_claim_joins_no_parts() -> None:
    far, liar = node(1000), sorted(MANY)[0]
    dear = {**MANY, far: RecordLink(far, 0, 10**9)}
    records = {far: record(far, set()), liar: record(liar, {far})}
    assert far in advertised_links(OWN, dear, (), records)


def test_a_full_mesh_of_which_little_is_told_keeps_short_routes() -> None:
    """All links of 120 nodes in a plane, told as here: nearly the routes of all links."""
    chance = Random(3)
    nodes = [node(number) for number in range(120)]
    places = {each: (chance.random(), chance.random()) for each in nodes}
    whole = nx.Graph()
    for one, other in combinations(nodes, 2):
        cost = 500 + int(dist(places[one], places[other]) * 50_000 * chance.uniform(1.0, 2.5))
        whole.add_edge(one, other, weight=cost)
    records: dict[NodeId, Record] = {}
    for _ in range(3):  # until everybody has heard who chose whom
        told = {
            each: advertised_links(
                each,
                links({peer: whole[each][peer]["weight"] for peer in whole[each]}),
                {link.peer for link in records[each].links} if each in records else (),
                records,
            )
            for each in nodes
        }
        records = {each: record(each, peers) for each, peers in told.items()}
    kept = nx.Graph()
    for one, other in whole.edges:
        if other in told[one] and one in told[other]:
            kept.add_edge(one, other, weight=whole[one][other]["weight"])
    assert nx.is_connected(kept)
    assert max(len(peers) for peers in told.values()) <= LINKS_MAX
    stretch = []
    for start in nodes[:20]:
        best = nx.single_source_dijkstra_path_length(whole, start)
        told_best = nx.single_source_dijkstra_path_length(kept, start)
        stretch += [told_best[end] / best[end] for end in nodes if end != start]
    assert sum(stretch) / len(stretch) < 1.05


def test_there_is_one_link_into_each_part_that_is_not_reached_otherwise() -> None:
    a, b, c, d, e = sorted(node(number) for number in range(1, 6))
    records = {
        a: record(a, {b, OWN}),
        b: record(b, {a, OWN}),
        c: record(c, {d, OWN}),
        d: record(d, {c, OWN}),
    }
    assert only_links(OWN, {a}, {b, c, d, e}, records) == {c}
    assert only_links(OWN, {a, d}, {b, c, e}, records) == set()
    assert only_links(OWN, (), {a, b, c, d}, records) == {a, c}
