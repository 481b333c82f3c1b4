r"""Relays whose links lose packets, or lose them one way, are not taken for hostile ones.

   1 ─── 2        0 and 3 have no link: packets between them go over two relays on either side,
 /         \      and probes of the ways in use tell what is lost
0           3
 \         /
   5 ─── 4
"""

import pytest

from rookery.sim.mesh_world import MeshWorld, ip
from rookery.sim.network import Conditions
from rookery.sim.topology import Topology
from tests.mesh_sim.shift import way
from tests.mesh_sim.traffic import Traffic

RING = Topology(
    6, {(0, 1): 0.005, (1, 2): 0.006, (2, 3): 0.007, (3, 4): 0.02, (4, 5): 0.02, (0, 5): 0.02}
)
MINUTES = 1


@pytest.mark.parametrize(("seed", "there", "back"), [(1, 0.1, 0.1), (2, 0.0, 0.2)])
def test_loss_that_the_links_tell_of_is_nobodys_fault(seed: int, there: float, back: float) -> None:
    """Both relays go on relaying: they are passed over for hardly any of the time."""
    world = MeshWorld(seed, topology=RING)
    world.converge(60)
    for source, target, loss in ((1, 2, there), (2, 1, back)):
        world.network.change(Conditions(delay_s=0.006, loss=loss), ip(source), ip(target))
    world.run(40.0)  # it is measured, and told
    Traffic(world, [(0, 3), (3, 0)], seed)
    doubted = looks = 0
    for _ in range(60 * MINUTES):
        world.run(1.0)
        for node in (world.members[0], world.members[3]):
            doubted += len(list(node.core.transit.silence)) > 0
            looks += 1
    assert doubted <= 0.1 * looks, f"seed {seed}: {doubted} of {looks}"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_link_that_is_cut_is_no_reason_to_doubt_its_ends(seed: int) -> None:
    """Probes that were lost before it was known are forgiven once it is."""
    world = MeshWorld(seed, topology=RING)
    world.converge(60)
    Traffic(world, [(0, 3), (3, 0)], seed)
    assert way(world, 0, 3) == (0, 1, 2, 3)
    for _ in range(3):
        world.sever(1, 2)
        world.run_until(lambda: way(world, 0, 3) == (0, 5, 4, 3), 30)
        world.run(10.0)
        assert not list(world.members[0].core.transit.silence), f"seed {seed}"
        world.mend(1, 2)
        world.run_until(lambda: way(world, 0, 3) == (0, 1, 2, 3), 600)
        world.run(5.0)
