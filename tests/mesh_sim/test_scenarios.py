"""Whole meshes of real nodes in virtual time; a seed replays every packet.

In all of them the invariants hold at any time: no packet comes to a node twice, hop limits fall,
no one-way edge counts, and neither memory nor floods outgrow their bounds (`sim.mesh.invariants`).
After each blow the mesh settles, routes cost at most 1.05 × what networkx finds, and packets of all
pairs pass again 30 ms after the first member has found out, beyond what its word takes to the
others whose links are harmed.
"""

import pytest

from rookery.sim.mesh.world import MeshWorld
from tests.mesh_sim.ordeal import Ordeal

pytestmark = pytest.mark.slow


def test_fifty_nodes_survive_everything_with_seed_1() -> None:
    """M1, M2, R1 to R6; `python -m bench mesh` does the same with 100 nodes."""
    figures = Ordeal(MeshWorld(1, 50), 1).everything()
    print(*figures.lines(), sep="\n")


def test_a_hundred_nodes_survive_lost_links_and_relays_and_a_flapping_link_with_seed_3() -> None:
    """M1, M2, R1 to R6; without datagrams."""
    figures = Ordeal(MeshWorld(3, 100, kinds=("tcp4",)), 3).blows()
    assert figures.repairs.keys() == {"link cut", "relay dies", "relay vanishes"}
    assert "link flaps" in figures.converged_s
    print(*figures.lines(), sep="\n")


def test_a_mesh_that_starts_and_loses_a_relay_replays_with_seed_4() -> None:
    """Equal seeds give equal logs, to the last byte of the last packet."""

    def log() -> str:
        world = MeshWorld(4, 30)
        world.converge()
        world.kill(7)
        world.run(3.0)
        return world.journal.digest

    assert log() == log()
