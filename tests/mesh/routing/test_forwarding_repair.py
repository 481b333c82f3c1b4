"""Random graphs whose links die while a packet is under way (R2), with networkx as the oracle."""

from random import Random

import networkx as nx  # type: ignore[import-untyped]
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rookery.wire.mesh.forward import HOP_LIMIT_MAX, REPAIRS_MAX, ForwardKind
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.forwarding_world import Hop, World, node_id

PAYLOAD = b"payload of a packet"
SEEDS = st.integers(0, 1 << 32)


def scattered(random: Random) -> list[tuple[int, int]]:
    """A tree that joins 3 to 16 nodes, mostly a long one, and some edges more."""
    count = random.randint(3, 16)
    edges = {(random.randint(max(1, node - 3), node - 1), node) for node in range(2, count + 1)}
    for _ in range(random.randint(0, 2 * count)):
        one = random.randint(1, count - 1)
        edges.add((one, random.randint(one + 1, min(one + 4, count))))
    return sorted(edges)


def ends(world: World, random: Random) -> tuple[NodeId, NodeId]:
    source, target = random.sample(sorted(world.known), 2)
    return source, target


def cut_some(world: World, random: Random) -> None:
    """Often the very link that the packet would take next, sometimes any others."""
    frame = world.under_way[0].frame
    if random.random() < 0.5 and frame.cursor + 1 < len(frame.route):
        world.cut_link(*frame.route[frame.cursor : frame.cursor + 2])
    for _ in range(random.choice((0, 0, 1, 2))):
        world.cut_link(*random.choice(sorted(world.known.edges)))


def there_is_a_detour(world: World, hop: Hop) -> bool:
    """What the node that got this last may still do, by the rules, in the graph as it sees it."""
    frame = hop.frame
    destination, following = frame.route[-1], frame.route[frame.cursor + 1]
    seen = world.knowledge(hop.receiver)
    seen.remove_nodes_from(frame.route[: frame.cursor])
    if following != destination:
        seen.remove_node(following)
    return bool(nx.has_path(seen, hop.receiver, destination))


@settings(max_examples=500, deadline=None)
@given(seed=SEEDS)
def test_a_packet_visits_no_node_twice_and_is_lost_only_without_a_detour(seed: int) -> None:
    random = Random(seed)
    world = World(scattered(random))
    source, target = ends(world, random)
    route = tuple(nx.shortest_path(world.known, source, target))
    hop_limit = random.choice((HOP_LIMIT_MAX, HOP_LIMIT_MAX, random.randint(1, 6)))
    world.sites[source].forwarder.send(route, PAYLOAD, hop_limit=hop_limit)
    visits, hops = [source], []
    while world.under_way and world.under_way[0].frame.kind is ForwardKind.PACKET:
        cut_some(world, random)
        hops.append(world.step())
        visits.append(hops[-1].receiver)
    last = hops[-1].frame

    assert len(set(visits)) == len(visits)
    assert tuple(visits) == last.route[: last.cursor + 1]
    assert len(hops) <= hop_limit
    assert last.repairs <= REPAIRS_MAX
    delivered = world.arrived(ForwardKind.PACKET)
    event(f"{'delivered' if delivered else 'lost'} after {last.repairs} repairs")
    if delivered:
        assert visits[-1] == target
        assert [arrival.route for arrival in delivered] == [tuple(visits)]
    elif last.repairs < REPAIRS_MAX and last.hop_limit > 1:
        assert not there_is_a_detour(world, hops[-1])
    assert len(world.hops) - len(hops) == (not delivered and bool(world.under_way))


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_what_nobody_else_may_know_yet_costs_no_packet_when_one_node_dies(seed: int) -> None:
    """A relay dies: every packet whose previous node has another route to the target arrives."""
    random = Random(seed)
    world = World(scattered(random))
    source, target = ends(world, random)
    route = tuple(nx.shortest_path(world.known, source, target))
    if len(route) < 3:
        return
    at = random.randint(1, len(route) - 2)
    for other in list(world.real[route[at]]):
        world.cut_link(route[at], other)
    world.sites[source].forwarder.send(route, PAYLOAD)
    world.settle()
    rest = world.known.copy()
    rest.remove_nodes_from([*route[: at - 1], route[at]])
    assert bool(world.arrived(ForwardKind.PACKET)) == nx.has_path(rest, route[at - 1], target)


def test_the_world_tells_old_knowledge_from_own() -> None:
    world = World([(1, 2), (2, 3)])
    world.cut(2, 3)
    assert world.knowledge(node_id(1)).has_edge(node_id(2), node_id(3))
    assert not world.knowledge(node_id(3)).has_edge(node_id(2), node_id(3))
