"""Whole meshes in the deterministic world: how soon they settle, how they mend, what they cost.

Times are virtual, so they say what nodes do, not how fast this machine is; a seed gives the same
figures everywhere. Links take 2 to 60 ms one way, and each node has six of them. What is computed
grows with the square of the nodes: `python -m bench mesh_large` has time for more of them.
"""

import gc

from bench.figure import Effort, Figure, Goal
from rookery.sim.mesh.world import MeshWorld
from tests.mesh_sim.ordeal import Figures, Ordeal
from tests.mesh_sim.probes import REPAIRED_WITHIN_S, Repair

SEED = 7
SIZES = (50, 100)
QUIET_SIZES = (50, 100)
QUICK_SIZE = 20
_KINDS = ("tcp4",)
_UNTIL_QUIET_S = 60.0
_QUIET_S = 60.0


def measure(effort: Effort) -> list[Figure]:
    is_quick = effort.is_quick
    sizes = (QUICK_SIZE,) if is_quick else SIZES
    quiet_sizes = (QUICK_SIZE,) if is_quick else QUIET_SIZES
    figures = [row for size in sizes for row in ordeal_rows(size)]
    return figures + [control_row(size) for size in quiet_sizes]


def ordeal_rows(size: int) -> list[Figure]:
    """Cut links, dead relays, a flapping link, a partition, and all restarted at once."""
    world = MeshWorld(SEED, size, kinds=_KINDS)
    figures = Ordeal(world, SEED).everything()
    rows = [*_repair_rows(size, figures), *_settling_rows(size, figures)]
    del world
    gc.collect()
    return rows


def _repair_rows(size: int, figures: Figures) -> list[Figure]:
    return [
        row for what, repair in figures.repairs.items() for row in _repair_row(size, what, repair)
    ]


def _repair_row(size: int, what: str, repair: Repair) -> list[Figure]:
    return [
        Figure(
            what=f"{what}, {size} nodes: a pair's packets pass, after the one before it knew",
            value=repair.mended_s * 1000,
            unit="ms",
            goal=_hardest(size, Goal(value_max=REPAIRED_WITHIN_S * 1000)),
            remark=f"the slowest of {repair.pairs} pairs",
        ),
        Figure(
            what=f"{what}, {size} nodes: all packets pass, after the first who knew",
            value=repair.repaired_s * 1000,
            unit="ms",
            limit=(repair.word_s + REPAIRED_WITHIN_S) * 1000,
            against="30 ms, and what word takes to all whose links are harmed",
            goal=_hardest(size, Goal(ratio_max=1.0)),
            remark=f"{repair.pairs} pairs; known after {repair.detected_s:.3f} s",
        ),
    ]


def _hardest(size: int, goal: Goal) -> Goal | None:
    """The smaller meshes are there to compare with."""
    return goal if size >= SIZES[-1] else None


def _settling_rows(size: int, figures: Figures) -> list[Figure]:
    rows = [
        Figure(what=f"{what}, {size} nodes: everybody knows all", value=seconds, unit="s")
        for what, seconds in figures.converged_s.items()
        if what in ("start", "healed", "all restarted")
    ]
    stretch = figures.stretch
    rows.append(Figure(what=f"routes, {size} nodes, worst", value=stretch, unit="× Dijkstra"))
    return rows


def control_row(size: int) -> Figure:
    """All bytes that a node sends while no program does anything."""
    world = MeshWorld(SEED, size, kinds=_KINDS)
    world.converge()
    world.run(_UNTIL_QUIET_S)
    sent = 0

    def count(*packet: object) -> None:
        nonlocal sent
        data = packet[-1]
        assert isinstance(data, bytes)
        sent += len(data)

    world.overhear(count)
    world.run(_QUIET_S)
    return Figure(
        what=f"control traffic of a quiet node among {size}",
        value=sent / size / _QUIET_S,
        unit="bytes/s",
        remark=f"{2 * len(world.topology.delays_s) / size:.0f} links each",
    )
