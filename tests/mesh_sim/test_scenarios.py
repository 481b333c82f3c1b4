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
@pytest.mark.parametrize(
    ("size", "seed", "kinds"),
    [(50, 1, ("tcp4", "udp4")), (50, 2, ("tcp4",)), (100, 3, ("tcp4",))],
    ids=["50 nodes, seed 1", "50 nodes, seed 2, no datagrams", "100 nodes, seed 3, no datagrams"],
)
def test_a_mesh_survives_everything(size: int, seed: int, kinds: tuple[str, ...]) -> None:
    """M1, M2, R1 to R6; `python -m bench mesh` does the same with 300 nodes."""
    figures = Ordeal(MeshWorld(seed, size, kinds=kinds), seed).everything()
    print(*figures.lines(), sep="\n")


def test_a_mesh_that_starts_loses_a_relay_and_starts_again_replays() -> None:
    """Equal seeds give equal logs, to the last byte of the last packet."""

    def log(seed: int) -> str:
        world = MeshWorld(seed, 50)
        world.converge()
        world.kill(7)
        world.run(3.0)
        return world.journal.digest

    assert log(4) == log(4)
