"""The invariants see what they are for: each rule is broken once on purpose.

The mutants stand in for the code that ships; the world around them stays as it is.
"""

import msgspec
import pytest

from rookery.mesh.routing import forwarding
from rookery.mesh.routing.data_plane import DataPlane
from rookery.mesh.routing.graph import Graph
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from rookery.sim.timeline import InvariantError
from rookery.wire.mesh.forward import Forward
from rookery.wire.mesh.node_id import NodeId
from tests.mesh_sim.probes import REPAIRED_WITHIN_S, Probes, repair, route

#      1 ─── 2
#    /   \     \
#   0     4 ─── 3 ─── 6      a ring with a chord, and a tail
#    \   /
#      5
RING = Topology(
    7,
    {
        (0, 1): 0.01,
        (1, 2): 0.01,
        (2, 3): 0.01,
        (3, 6): 0.01,
        (1, 4): 0.05,
        (3, 4): 0.05,
        (0, 5): 0.05,
        (4, 5): 0.05,
    },
)


def busy(world: MeshWorld, source: int, target: int) -> list[int]:
    """Packets pass all the time; the route they take."""
    world.converge(60)
    Probes(world, source, target)
    world.run(1.0)
    return route(world, source, target)


def test_nothing_is_wrong_with_the_code_that_ships() -> None:
    world = MeshWorld(1, topology=RING)
    assert busy(world, 0, 6) == [0, 1, 2, 3, 6]
    world.vanish(2)
    world.run(10.0)
    assert route(world, 0, 6) == [0, 1, 4, 3, 6]
    world.sever(3, 4)
    world.run(10.0)


def revisiting(self: forwarding.Forwarder, frame: Forward, at: int) -> Forward | None:
    """A repair that may send a packet back to where it has been."""
    route, destination = frame.route, frame.route[-1]
    detour = self._site.detour(destination, frozenset(route[at + 1 : at + 2]) - {destination})
    if detour is None:
        return None
    return msgspec.structs.replace(frame, route=route[:at] + detour, repairs=frame.repairs + 1)


def forgetful(self: forwarding.Forwarder, frame: Forward, at: int) -> Forward | None:
    """The same, and the route no longer tells."""
    detoured = revisiting(self, frame, at)
    if detoured is None or at == 0:
        return detoured
    return msgspec.structs.replace(detoured, route=detoured.route[at:], cursor=0)


@pytest.mark.parametrize("mutant", [revisiting, forgetful])
def test_a_repair_that_may_revisit_a_node_is_caught(
    monkeypatch: pytest.MonkeyPatch, mutant: object
) -> None:
    """R2."""
    world = MeshWorld(1, topology=RING)
    world.sever(1, 4)
    assert busy(world, 0, 6) == [0, 1, 2, 3, 6]
    monkeypatch.setattr(forwarding.Forwarder, "_detoured", mutant)
    world.vanish(2)  # from 1 the only route left leads back over 0
    with pytest.raises(InvariantError, match=r"twice|again") as caught:
        world.run(10.0)
    assert "what happened last" in caught.value.__notes__[0]


@pytest.mark.parametrize("is_mutant", [False, True])
def test_routes_that_are_not_mended_where_the_harm_is_known_are_caught(
    monkeypatch: pytest.MonkeyPatch, *, is_mutant: bool
) -> None:
    """M2: until word of it is at the source, packets would be lost."""
    world = MeshWorld(1, topology=Topology(7, {**RING.delays_s, (0, 1): 0.04}))
    world.converge(60)
    assert route(world, 0, 6) == [0, 1, 2, 3, 6]
    if is_mutant:
        monkeypatch.setattr(DataPlane, "detour", lambda *_: None)
    done = repair(world, [(0, 6)], [(1, 2), (2, 1)], lambda: world.sever(1, 2))
    assert (done.mended_s > REPAIRED_WITHIN_S) == is_mutant


def test_a_forgotten_hop_limit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """R2."""

    def onward(frame: Forward) -> Forward:
        return msgspec.structs.replace(frame, cursor=frame.cursor + 1)

    monkeypatch.setattr(forwarding, "_onward", onward)
    world = MeshWorld(1, topology=RING)
    with pytest.raises(InvariantError, match="hop limit 16 after 2 hops"):
        busy(world, 0, 6)


def test_a_one_way_edge_that_counts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """M2."""
    agreed = Graph._agreed

    def one_way(self: Graph, u: NodeId, v: NodeId) -> int | None:
        said = [dict(self._claims.get(one, {})).get(other) for one, other in ((u, v), (v, u))]
        costs = [cost_us for cost_us in said if cost_us is not None]
        return agreed(self, u, v) or max(costs, default=None)

    monkeypatch.setattr(Graph, "_agreed", one_way)
    world = MeshWorld(1, topology=RING)
    world.at(5.0, world.vanish, 3)  # its record goes on claiming what its neighbours no longer do
    with pytest.raises(InvariantError, match="one side only"):
        world.run(60.0)


def test_floods_without_a_budget_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """R4."""
    world = MeshWorld(1, topology=RING)
    world.converge(60)
    flooding = world.members[0].core.flooding

    def shout() -> None:
        flooding.bytes_sent += 1_000_000
        world.at(world.now + 0.1, shout)

    shout()
    with pytest.raises(InvariantError, match="flooded bytes"):
        world.run(5.0)
