"""Drivers and workers killed without a word, at the worst moments and at any (P3).

Spools and landers have their own rounds. Here a cluster with two workers does the work for a
Connect server, and drivers die under its hands. ROOKERY_CRASH_ROUNDS asks for more of them.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.schema import quarantine
from tests.lake import counters
from tests.lake.counters import CLEAN, DAYS, LANDED, START, STEPS, TOTAL, Row
from tests.lake.spark_processes import Cluster, connect_server
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]

ROUNDS = int(os.environ.get("ROOKERY_CRASH_ROUNDS", "6"))
SEED = int(os.environ.get("ROOKERY_CRASH_SEED", "1"))
FATAL = (CLEAN, quarantine.OBSERVATIONS, STEPS, DAYS, TOTAL)
BATCH = 60
HOUR_STEPS = 7200  # moments of three days that rows may have


class Drivers:
    """Starts drivers, one after the other."""

    def __init__(self, master: str, lake: Lake) -> None:
        self._start = f"{master} {lake.url}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.lake.crash_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )

    def begin(self, path: str = "-", moment: str = "-", killed_after_s: float = 0.0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self._start} {path} {moment} {killed_after_s}\n")
        self._process.stdin.flush()

    def end(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, path: str = "-", moment: str = "-", killed_after_s: float = 0.0) -> str:
        self.begin(path, moment, killed_after_s)
        return self.end()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()


class Input:
    """What landed, and what has to come of it."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._rows: list[Row] = []

    def land(self) -> None:
        """Rows of all three days in any order, some bad, some twice."""
        first = len(self._rows) + 1
        new = []
        for position in range(first, first + BATCH):
            moment = position * 7919 % HOUR_STEPS
            is_bad = position % 17 == 0
            new.append(Row(position, moment / 100, None if is_bad else moment + 1))
        self._rows += new
        counters.land(self._lake, [*new, *(row for row in new[:5] if row.n is not None)])

    def check(self) -> None:
        """Every stage holds each row once."""
        numbers = [row.n for row in self._rows if row.n is not None]
        clean = self._lake.dataset(CLEAN).to_table()
        assert sorted(clean["n"].to_pylist()) == sorted(numbers)
        aside = self._lake.dataset(quarantine.OBSERVATIONS).to_table()["position"].to_pylist()
        assert sorted(aside) == [row.position for row in self._rows if row.n is None]
        tops = [max(n for n in numbers if n <= (day + 1) * 2400) for day in range(3)]
        days = {START + timedelta(days=day): tops[day] - (0, *tops)[day] for day in range(3)}
        assert counters.growth_of_days(self._lake) == days
        assert self._lake.rows(STEPS) == len(numbers)
        total = self._lake.dataset(TOTAL).to_table().to_pylist()
        assert total == [{"growth": tops[2], "rows": len(numbers)}]
        assert self._lake.rows(LANDED) > len(self._rows)


@pytest.fixture(scope="module")
def server(spark_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect"), spark_cluster.url) as url:
        yield url


@pytest.fixture
def drivers(server: str, lake: Lake) -> Iterator[Drivers]:
    started = Drivers(server, lake)
    yield started
    started.close()


def test_drivers_and_workers_may_die_and_every_row_counts_once(
    spark_cluster: Cluster, drivers: Drivers, lake: Lake
) -> None:
    """P3: whatever is killed, the next run goes on from there, and one more changes nothing."""
    chance = random.Random(SEED)
    landed = Input(lake)
    landed.land()
    begun = time.monotonic()
    assert drivers.run() == "ok"
    usual_s = time.monotonic() - begun
    landed.check()
    outcomes = []
    for number in range(ROUNDS):
        landed.land()
        match number % 3:
            case 0:
                table, moment = chance.choice(FATAL), chance.choice(("before", "after"))
                outcomes.append(drivers.run(table.path, moment))
            case 1:
                outcomes.append(drivers.run(killed_after_s=chance.uniform(0.1, usual_s)))
            case _:
                drivers.begin()
                time.sleep(chance.uniform(0.1, usual_s / 2))
                spark_cluster.replace_worker(chance.randrange(2))
                outcomes.append(drivers.end())
    assert outcomes.count("killed") >= ROUNDS // 3
    assert set(outcomes[2::3]) <= {"ok"}
    assert drivers.run() == "ok"
    landed.check()
    before = counters.versions(lake)
    assert drivers.run() == "ok"
    assert counters.versions(lake) == before


def test_two_drivers_at_once_double_nothing(server: str, drivers: Drivers, lake: Lake) -> None:
    """P3: both do the work, and the log takes one of them."""
    landed = Input(lake)
    landed.land()
    other = Drivers(server, lake)
    drivers.begin()
    other.begin()
    assert {drivers.end(), other.end()} <= {"ok", "failed"}
    other.close()
    assert drivers.run() == "ok"
    landed.check()
