r"""Relays whose links lose packets, or lose them one way, are not taken for hostile ones.

   1 ─── 2        0 and 3 have no link: packets between them go over two relays on either side,
 /         \      and probes of the routes in use tell what is lost
0           3
 \         /
   5 ─── 4
"""

import pytest

from rookery.mesh.routing.route_explanation import RouteExplanation
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld, ip
from rookery.sim.network.network import Conditions
from tests.mesh_sim.shift import route
from tests.mesh_sim.traffic import Traffic

RING = Topology(
    6, {(0, 1): 0.005, (1, 2): 0.006, (2, 3): 0.007, (3, 4): 0.02, (4, 5): 0.02, (0, 5): 0.02}
)


@pytest.mark.parametrize(("seed", "there", "back"), [(1, 0.1, 0.1), (2, 0.0, 0.2)])
def test_honest_relays_that_lose_packets_are_not_cut_off(
    seed: int, there: float, back: float
) -> None:
    """Both sides lose as much: packets go on over either, and arrive as far as links let them."""
    world = MeshWorld(seed, topology=RING)
    world.converge(60)
    for one, other in ((1, 2), (5, 4)):
        for source, target, loss in ((one, other, there), (other, one, back)):
            world.network.change(Conditions(delay_s=0.006, loss=loss), ip(source), ip(target))
    world.run(30.0)  # it is measured, and told
    traffic = Traffic(world, [(0, 3), (3, 0)], seed)
    world.run(60.0)
    arrived = traffic.arrived()
    for pair, loss in (((0, 3), there), ((3, 0), back)):
        share = arrived[pair] / traffic.sent[pair]
        assert share >= 0.9 * (1 - loss), f"seed {seed}: {share:.2f} of {pair} arrived"
    for source in (0, 3):
        core = world.members[source].core
        routes = {candidate.route.nodes for candidate in _explained(world, source).candidates}
        assert len([nodes for nodes in routes if len(nodes) == 4]) == 2, f"seed {seed}"
        assert all(relay in core.graph.relays for relay in core.graph.weights)


def _explained(world: MeshWorld, source: int) -> RouteExplanation:
    target = world.members[3 - source].hashname
    return world.members[source].core.explain(target, world.now)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_link_that_is_cut_is_no_reason_to_doubt_its_ends(seed: int) -> None:
    """Probes that were lost before it was known are forgiven once it is."""
    world = MeshWorld(seed, topology=RING)
    world.converge(60)
    Traffic(world, [(0, 3), (3, 0)], seed)
    assert route(world, 0, 3) == (0, 1, 2, 3)
    for _ in range(3):
        world.sever(1, 2)
        world.run_until(lambda: route(world, 0, 3) == (0, 5, 4, 3), 30)
        world.run(10.0)
        assert not list(world.members[0].core.data_plane.blackhole_relays), f"seed {seed}"
        world.mend(1, 2)
        world.run_until(lambda: route(world, 0, 3) == (0, 1, 2, 3), 600)
        world.run(5.0)
