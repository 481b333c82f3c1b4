"""Whom news is passed on to."""

from hashlib import sha256
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.records.flooding import FLOOD_TARGETS_MAX, flood_targets
from rookery.wire.mesh.node_id import NodeId

nodes = st.binary(min_size=8, max_size=8)


def crowd(size: int) -> list[NodeId]:
    return [sha256(str(number).encode()).digest()[:8] for number in range(size)]


@given(nodes, st.dictionaries(nodes, st.integers(1, 1000), max_size=30))
def test_they_are_distinct_neighbours_and_six_if_there_are_as_many(
    own: NodeId, costs: dict[NodeId, int]
) -> None:
    costs.pop(own, None)
    targets = flood_targets(own, costs)
    assert len(set(targets)) == len(targets) == min(len(costs), FLOOD_TARGETS_MAX)
    assert set(targets) <= set(costs)


@given(nodes, st.dictionaries(nodes, st.integers(1, 1000), min_size=7, max_size=30))
def test_the_three_cheapest_are_among_them(own: NodeId, costs: dict[NodeId, int]) -> None:
    dearest = max(costs[node] for node in sorted(costs, key=lambda node: costs[node])[:3])
    assert sum(costs[node] <= dearest for node in flood_targets(own, costs)) >= 3


def test_where_everybody_is_linked_everybody_is_reached() -> None:
    """Whatever the links cost: the circle of ids joins all."""
    everybody = crowd(300)
    chance = Random(7)
    targets = {
        own: flood_targets(own, {n: chance.randrange(1, 10**6) for n in everybody if n != own})
        for own in everybody
    }
    for start in everybody[:20]:
        reached, hops, edge = {start}, 0, {start}
        while edge:
            edge = {target for node in edge for target in targets[node]} - reached
            reached |= edge
            hops += bool(edge)
        assert len(reached) == len(everybody)
        assert hops <= 6
    chosen = [target for each in targets.values() for target in each]
    assert min(chosen.count(node) for node in everybody) >= 2


def test_whoever_has_few_links_is_always_told() -> None:
    """A leaf of a star hears of a revocation at once, whoever else there is."""
    own, *others = crowd(40)
    costs = {node: 1000 + number for number, node in enumerate(others)}
    lonely = set(others[10:20])
    targets = flood_targets(own, costs, lonely)
    assert lonely <= set(targets)
    assert len(set(targets)) == len(targets) <= FLOOD_TARGETS_MAX + len(lonely)
