"""How long pings fail after trouble: ten nodes as processes, a ping between all pairs all the time.

In network namespaces behind a relay of IP packets where that is possible; on loopback elsewhere,
where nothing can be blocked and nobody moves. The trouble falls on what most packets pass, and its
gap is that of the pair that waited longest; where a reset tells, of two pairs that are pinged 23
times a second, from the last ping to the first one that was answered, so that true gaps are shorter
by some 45 ms. Smaller is better.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figure import Effort, Figure, Goal, middle
from tests.e2e.mesh.flock import flock, laboratory
from tests.e2e.mesh.lab import Lab, is_possible
from tests.e2e.mesh.pinger import Outages, pinging
from tests.e2e.mesh.trouble import Trouble, ready

NODES = 10
TOLD_MS = 100.0  # the goals: after a reset,
SILENT_MS = 3000.0  # and when nothing tells


def measure(effort: Effort) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, _lab() as lab:
        outages = asyncio.run(_measure(Path(folder), lab, effort.runs))
    where = "in namespaces" if lab is not None else "on loopback"
    return [_figure(what, each, where) for what, each in outages.items()]


async def _measure(folder: Path, lab: Lab | None, repetitions: int) -> dict[str, list[Outages]]:
    found: dict[str, list[Outages]] = {}
    async with flock(folder, NODES if lab is None else lab.hosts) as birds:
        await ready(birds)
        async with pinging(birds) as pinger:
            trouble = Trouble(birds, pinger, lab)
            for _ in range(repetitions):
                for outages in await _round(trouble, is_lab=lab is not None):
                    found.setdefault(outages.trouble, []).append(outages)
    return found


async def _round(trouble: Trouble, *, is_lab: bool) -> list[Outages]:
    """Each kind once, each in a flock that is well."""
    outages = [await trouble.kill()]
    await trouble.revive()
    if is_lab:
        outages.append(await trouble.block())
        await trouble.revive()
    outages += await trouble.freeze()
    await trouble.revive()
    if is_lab:
        outages.append(await trouble.move())
        await trouble.revive()
    return outages


def _figure(what: str, outages: list[Outages], where: str) -> Figure:
    is_told = "reset" in what
    gaps_ms = [1000 * (each.silence_s if is_told else each.longest_s) for each in outages]
    pairs = middle(len(each.seconds) for each in outages)
    return Figure(
        what=f"{NODES} nodes {where}: {what}",
        value=middle(gaps_ms),
        unit="ms",
        goal=Goal(value_max=TOLD_MS if is_told else SILENT_MS),
        remark=f"{max(gaps_ms):,.0f} ms at most, of {len(gaps_ms)}; {pairs:.0f} pairs lost pings",
    )


@contextlib.contextmanager
def _lab() -> Iterator[Lab | None]:
    if not is_possible():
        yield None
        return
    with laboratory(NODES) as lab:
        yield lab
