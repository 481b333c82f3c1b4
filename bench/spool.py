"""Observations a second that the spool brings to disk, beside a bare loop of write and fdatasync.

burst ─append─▶ buffer ─▶ group ─▶ write, fdatasync ─▶ durable     the hub's loop, and a thread
                          the same groups ─▶ write, fdatasync      a loop that does nothing else
"""

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figure import Effort, Figure, Goal, middle
from rookery.runtime.loop import run
from rookery.store.spool.segment import frame
from rookery.store.spool.spool import Spool

RECORD_SIZE = 220  # of a device's report
BURST = 64  # records that a socket gives at once
BURSTS_AHEAD = 256
APPEND_US_MAX = 2.0


def measure(effort: Effort) -> list[Figure]:
    with TemporaryDirectory(dir=Path.cwd()) as folder:  # where a hub would be, not in memory
        return [
            throughput(effort, Path(folder)),
            appending(effort),
            alone(effort, Path(folder)),
            reading(effort, Path(folder)),
        ]


def throughput(effort: Effort, folder: Path) -> Figure:
    rates, limits, sizes = [], [], []
    for number in range(effort.runs):
        count, groups, took = run(_spool(folder / f"spool-{number}", effort.seconds))
        rates.append(count / took)
        sizes.append(count * (RECORD_SIZE + 8) // groups)
        limits.append(count / _bare(folder / f"bare-{number}", sizes[-1], groups))
    return Figure(
        what=f"records of {RECORD_SIZE} B, durable",
        value=middle(rates),
        unit="records/s",
        limit=middle(limits),
        against="write and fdatasync of the same groups",
        remark=f"groups of {middle(sizes) / 1024:.0f} KB",
    )


async def _spool(folder: Path, seconds: float) -> tuple[int, int, float]:
    """Records, groups, and how long it took until the last was durable."""
    spool = await Spool.open(folder)
    burst = [os.urandom(RECORD_SIZE) for _ in range(BURST)]
    ahead: deque[int] = deque()
    count, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        ahead.append(spool.append(burst))
        count += BURST
        if len(ahead) == BURSTS_AHEAD:
            await spool.durable(ahead.popleft())
    await spool.durable(ahead[-1])
    took = time.perf_counter() - began
    await spool.close()
    return count, spool.written_groups, took


def _bare(file: Path, size: int, groups: int) -> float:
    """Seconds for so many groups."""
    data = os.urandom(size)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        began = time.perf_counter()
        for _ in range(groups):
            os.write(descriptor, data)
            os.fdatasync(descriptor)
        return time.perf_counter() - began
    finally:
        os.close(descriptor)
        file.unlink()


def appending(effort: Effort) -> Figure:
    """What a record costs the hub's loop, without the disk."""
    burst = [os.urandom(RECORD_SIZE) for _ in range(BURST)]
    costs, limits = [], []
    for _ in range(effort.runs):
        costs.append(_cost(lambda: frame(burst), effort.links) / BURST)
        limits.append(_cost(lambda: b"".join(burst), effort.links) / BURST)
    return Figure(
        what="append, a record",
        value=middle(costs),
        unit="µs",
        limit=middle(limits),
        against="joining them to one write",
        goal=Goal(value_max=APPEND_US_MAX),
    )


def _cost(work: Callable[[], object], count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - began) / count * 1e6


def alone(effort: Effort, folder: Path) -> Figure:
    """How long the only record of a quiet hub waits for its acknowledgement."""
    count = effort.runs * 20
    values = run(_alone(folder / "alone", count))
    limits = [_bare(folder / f"alone-{number}", RECORD_SIZE, 1) * 1000 for number in range(count)]
    return Figure(
        what="a record alone, until durable",
        value=middle(values),
        unit="ms",
        limit=middle(limits),
        against="write and fdatasync",
        remark="waits 20 ms for company",
    )


async def _alone(folder: Path, count: int) -> list[float]:
    spool = await Spool.open(folder)
    values = []
    for _ in range(count):
        began = time.perf_counter()
        await spool.durable(spool.append([bytes(RECORD_SIZE)]))
        values.append((time.perf_counter() - began) * 1000)
    await spool.close()
    return values


def reading(effort: Effort, folder: Path) -> Figure:
    """As a hub replays it, or the lake lands it."""
    count = effort.links * 10
    run(_write(folder / "reading", count))
    rates = []
    for _ in range(effort.runs):
        began = time.perf_counter()
        run(_read(folder / "reading", count))
        rates.append(count / (time.perf_counter() - began))
    return Figure(what=f"reading {count:,} back", value=middle(rates), unit="records/s")


async def _write(folder: Path, count: int) -> None:
    spool = await Spool.open(folder)
    await spool.durable(spool.append([bytes(RECORD_SIZE)] * count))
    await spool.close()


async def _read(folder: Path, count: int) -> None:
    spool = await Spool.open(folder)
    assert sum(1 for _ in spool.read()) == count
    await spool.close()
