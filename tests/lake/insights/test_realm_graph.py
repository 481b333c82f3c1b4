"""What a realm hangs on (P4)."""

import random

import networkx as nx  # type: ignore[import-untyped]
import pytest

from rookery.lake.insights import realm_graph
from rookery.lake.insights.realm_graph import CriticalElement, RealmGraph
from tests.lake.oracle import topology_health as oracle


def test_a_node_in_the_middle_cuts_off_the_smaller_side() -> None:
    """a-b, b-c, c-d, d-e, e-c: c, d and e are a ring, b is the way to a."""
    edges = [("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c")]
    graph = RealmGraph("abcde", edges)
    assert graph.critical() == [
        CriticalElement("b", "", 1, ["a"]),
        CriticalElement("c", "", 2, ["d", "e"]),  # two and two: the one with the first name remains
        CriticalElement("a", "b", 1, ["a"]),
        CriticalElement("b", "c", 2, ["a", "b"]),
    ]
    assert graph.health() == (5, 5, 1, 2, 2, 2.0, "c", 0.666666667)


def test_a_realm_without_links_has_nothing_to_lose() -> None:
    assert RealmGraph((), ()).health() == (0, 0, 0, 0, 0, None, None, None)
    alone = RealmGraph(("a", "b"), ())
    assert alone.health() == (2, 0, 2, 0, 0, 0.0, "a", 0.0)
    assert alone.critical() == []


def test_the_first_few_of_many_are_named_and_too_many_are_not_ranked() -> None:
    leaves = [f"n{number:04}" for number in range(realm_graph.CENTRALITY_NODES_MAX)]
    star = RealmGraph([*leaves, "hub"], [("hub", leaf) for leaf in leaves])
    first, *rest = star.critical()
    assert first == CriticalElement("hub", "", len(leaves) - 1, leaves[1:21])
    assert len(rest) == len(leaves)
    assert star.health()[-2:] == (None, None)


@pytest.mark.parametrize("seed", range(200))
def test_any_realm_is_what_networkx_says(seed: int) -> None:
    """P4: components, articulation points, bridges and who they cut off."""
    chance = random.Random(seed)
    names = [f"n{number:02}" for number in range(chance.randint(1, 14))]
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(names)
    for _ in range(chance.randint(0, len(names) + 4) if len(names) > 1 else 0):
        graph.add_edge(*chance.sample(names, 2))
    found = RealmGraph(names, graph.edges)
    assert found.health() == oracle.health(graph)
    critical = [("link" if each.b else "node", *each) for each in found.critical()]
    assert sorted(critical) == sorted(oracle.critical(graph))
