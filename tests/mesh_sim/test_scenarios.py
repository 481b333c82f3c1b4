"""Whole meshes of real nodes in virtual time; a seed replays every packet.

In all of them the invariants hold at any time: no packet comes to a node twice, hop limits fall,
no one-way edge counts, and neither memory nor floods outgrow their bounds (`sim.invariants`).
After each blow the mesh settles, routes cost at most 1.05 × what networkx finds, and packets pass
again no later than 30 ms after the node before the damage knows of it.
"""

import pytest

from rookery.sim.mesh_world import MeshWorld
from tests.mesh_sim.ordeal import Ordeal


@pytest.mark.slow
@pytest.mark.parametrize(("size", "seed"), [(50, 1), (50, 2), (100, 3)])
def test_a_mesh_survives_everything(size: int, seed: int) -> None:
    """M1, M2, R1 to R6."""
    ordeal = Ordeal(MeshWorld(seed, size), seed)
    ordeal.begin()
    ordeal.cut()
    ordeal.death()
    ordeal.disappearance()
    ordeal.mend()
    ordeal.flap()
    ordeal.partition()
    ordeal.restart()
    print(*ordeal.figures.lines(), sep="\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7])
def test_three_hundred_nodes_start_lose_a_relay_and_start_again(seed: int) -> None:
    """R1, R4: what made others' meshes explode."""
    ordeal = Ordeal(MeshWorld(seed, 300), seed)
    ordeal.begin()
    ordeal.death()
    ordeal.restart()
    print(*ordeal.figures.lines(), sep="\n")
