"""Processes that write spools and land them, killed again and again: run as a script.

    python -m tests.lake.crashes FOLDER SEED ROUNDS

Two spools, each with a writer and a lander, into one lake. In each round all four are killed: at
random moments, or half of the landers at the very edges of a commit or of the mark. They are forks
of this process, which has everything loaded, and does nothing itself but to kill them.

FOLDER/<spool>/        the spool
FOLDER/<spool>.acks    what was acknowledged: a line "round count" for each group, in order
FOLDER/lake/
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Literal

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.parquet import AddedFile
from rookery.lake.landing.lander import Lander
from rookery.lake.schema.table import Table
from rookery.store.spool import watermark
from rookery.store.spool.spool import Spool
from tests.lake import spools

SPOOLS = ("one", "two")
ROUND = 1_000_000  # numbers of a round begin at its multiple
GROUP_MAX = 12
UNKNOWN_KIND = 99

_SEGMENT_BYTES = 4000
_WRITER_S = (0.0, 0.4)  # how long they live
_LANDER_S = (0.1, 1.2)
_EDGES = ("before commit", "after commit", "before mark", "after mark")


def record(number: int) -> bytes:
    """Every fourth is one that nobody understands, every other fourth of another kind."""
    if number % 4 == 0:
        return spools.record(UNKNOWN_KIND, str(number).encode())
    return spools.linked(number) if number % 4 == 1 else spools.called(number)


async def write(folder: Path, turn: int, chance: random.Random) -> None:
    """Acknowledge what is durable, and forget what has landed, until killed."""
    spool = await Spool.open(folder, segment_bytes=_SEGMENT_BYTES, group_s=0.001)
    acks = os.open(folder.with_suffix(".acks"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    count = 0
    while True:
        first, count = count, count + chance.randint(1, GROUP_MAX)
        numbers = range(turn * ROUND + first, turn * ROUND + count)
        await spool.durable(spool.append([record(number) for number in numbers]))
        os.write(acks, b"%d %d\n" % (turn, count))
        if chance.random() < 0.2:
            spool.trim(watermark.read(folder) or 0)
        await asyncio.sleep(0.01)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingLake(Lake):
    """Kills its process right before or after one of its commits."""

    def __init__(self, url: str, edge: str, commits: int) -> None:
        super().__init__(url)
        self._edge = edge
        self._left = commits

    def commit(
        self,
        table: Table,
        added: Sequence[AddedFile],
        replaced: Collection[date] | Literal["all"] | None,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> int:
        self._left -= 1
        if not self._left and self._edge == "before commit":
            die()
        version = super().commit(table, added, replaced, claims, metadata)
        if not self._left and self._edge == "after commit":
            die()
        return version


def land(folder: Path, lake: Lake, chance: random.Random) -> None:
    """In batches of all sizes, until killed."""
    while True:
        Lander(lake, folder, folder.name, rows_max=chance.choice((5, 50, 500, 5000))).run()


def land_to_the_edge(folder: Path, url: str, chance: random.Random) -> None:
    """Land until one of the edges of a commit or of the mark."""
    edge, count = chance.choice(_EDGES), chance.randint(1, 4)
    save, marks = watermark.save, 0

    def dying_save(folder: Path, position: int) -> None:
        nonlocal marks
        marks += 1
        if marks == count and edge == "before mark":
            die()
        save(folder, position)
        if marks == count and edge == "after mark":
            die()

    watermark.save = dying_save
    land(folder, DyingLake(url, edge, count), chance)


def fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def one_round(folder: Path, turn: int, chance: random.Random) -> None:
    """Start all, kill all; whoever ended otherwise has failed."""
    lake = str(folder / "lake")
    ends: list[tuple[float, int]] = []
    for name in SPOOLS:
        spool, own = folder / name, random.Random(chance.random())
        spool.mkdir(exist_ok=True)
        works: list[Callable[[], None]] = [lambda: asyncio.run(write(spool, turn, own))]  # noqa: B023
        if chance.random() < 0.5:
            works.append(lambda: land_to_the_edge(spool, lake, own))  # noqa: B023
        else:
            works.append(lambda: land(spool, Lake(lake), own))  # noqa: B023
        lives = (chance.uniform(*_WRITER_S), chance.uniform(*_LANDER_S))
        ends += zip(lives, map(fork, works), strict=True)
    began = time.monotonic()
    for after_s, pid in sorted(ends):
        time.sleep(max(began + after_s - time.monotonic(), 0.0))
        os.kill(pid, signal.SIGKILL)
    for _, pid in ends:
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status), f"round {turn}: a process ended by itself"


def main(folder: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for turn in range(rounds):
        one_round(folder, turn, chance)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
