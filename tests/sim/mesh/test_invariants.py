"""What must always hold: packets that break it, and packets that do not."""

import pytest

from rookery.sim.mesh.invariants import PacketTraces, ResourceBounds, TwoWayEdges
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from rookery.sim.timeline import InvariantError
from rookery.wire.mesh.forward import Forward, ForwardKind
from rookery.wire.mesh.node_id import NodeId

LINE = Topology(3, {(0, 1): 0.01, (1, 2): 0.01})


@pytest.fixture(scope="module")
def world() -> MeshWorld:
    world = MeshWorld(1, topology=LINE)
    world.converge(60)
    return world


def see(travels: PacketTraces, node: SimulatedMember, neighbour: NodeId, frame: Forward) -> None:
    travels.seen(node, neighbour, frame.head(), frame.body())


def test_a_packet_passes_each_node_once_for_each_copy(world: MeshWorld) -> None:
    travels = PacketTraces(world)
    a, b, c = (world.members[number] for number in range(3))
    route = (a.id, b.id, c.id)
    for _ in range(2):
        see(travels, b, a.id, Forward(route, b"payload"))
        see(travels, c, b.id, Forward(route, b"payload", hop_limit=15, cursor=2))
    assert travels.arrived == {b"payload": world.now}
    assert travels.last_seen(b"payload") == c.id
    assert travels.last_seen(b"another") is None
    with pytest.raises(InvariantError, match="again"):
        see(travels, c, b.id, Forward(route, b"payload", hop_limit=15, cursor=2))


def test_a_packet_never_comes_back_to_its_origin(world: MeshWorld) -> None:
    travels = PacketTraces(world)
    a, b, c = (world.members[number] for number in range(3))
    see(travels, b, a.id, Forward((a.id, b.id, c.id), b"payload"))
    with pytest.raises(InvariantError, match="again"):
        see(travels, a, b.id, Forward((b.id, a.id, c.id), b"payload"))


def test_path_errors_may_look_alike(world: MeshWorld) -> None:
    travels = PacketTraces(world)
    a, b, c = (world.members[number] for number in range(3))
    for route in ((c.id, b.id, a.id), (a.id, b.id, c.id)):
        see(travels, b, route[0], Forward(route, b"error", ForwardKind.PATH_ERROR))
        see(travels, b, route[0], Forward(route, b"error", ForwardKind.PATH_ERROR))
    assert travels.hops == 4
    assert travels.arrived == {}


def test_old_packets_are_forgotten(world: MeshWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.sim.mesh.invariants._PACKETS_MAX", 2)
    travels = PacketTraces(world)
    a, b, c = (world.members[number] for number in range(3))
    for number in range(3):
        see(travels, b, a.id, Forward((a.id, b.id, c.id), b"%d" % number))
    assert travels.last_seen(b"0") is None
    assert travels.last_seen(b"2") == b.id


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (b"\x01\x00\x10\x01\x03", "whole head"),
        (b"\x01\x00\x10\x02\x03\x00", "hop limit 16 after 2 hops"),
        (b"\x01\x00\x10\x01\x04\x00", "a node twice"),
    ],
)
def test_a_frame_that_no_honest_node_sends_is_seen(
    world: MeshWorld, head: bytes, match: str
) -> None:
    a, b, c = (world.members[number] for number in range(3))
    with pytest.raises(InvariantError, match=match):
        PacketTraces(world).seen(b, a.id, head, a.id + b.id + c.id + a.id + b"payload")


def test_edges_and_routes_are_looked_at(world: MeshWorld) -> None:
    a, b, c = (world.members[number] for number in range(3))
    edges = TwoWayEdges(world)
    assert a.core.table.to(c.id, world.now) is not None
    for _ in range(10):
        edges.check()
    weights = a.core.graph.weights
    edge = weights[b.id].pop(c.id)
    with pytest.raises(InvariantError, match="no edge"):
        edges.look_at(a)
    weights[b.id][c.id] = edge
    stranger = b"stranger"
    weights[b.id][stranger] = 1
    with pytest.raises(InvariantError, match="one side only"):
        edges.look_at(a)
    del weights[b.id][stranger]
    edges.look_at(a)


def test_a_storm_of_events_is_seen(world: MeshWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = ResourceBounds(world)
    bounds.check()
    monkeypatch.setattr("rookery.sim.mesh.invariants._PENDING_PER_MEMBER", 0)
    with pytest.raises(InvariantError, match="events are to come"):
        bounds.check()


def test_what_grows_is_seen(world: MeshWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "topology", Topology(2, {}))
    with pytest.raises(InvariantError, match="has 3 records, more than 2"):
        ResourceBounds(world).check()
