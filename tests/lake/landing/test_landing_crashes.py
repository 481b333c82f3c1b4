"""P3: kill -9 of the writers of spools and of their lander, at random moments."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.landing.lander import Lander
from rookery.lake.schema import landing, quarantine
from tests.lake.crashes import GROUP_MAX, ROUND, SPOOLS

# Two writers and two landers are killed in each.
ROUNDS = max(int(os.environ.get("ROOKERY_CRASH_ROUNDS", "0")), 42)

TABLES = (landing.CALLS, landing.LINK_SAMPLES, quarantine.OBSERVATIONS)


def acknowledged(folder: Path, name: str) -> dict[int, int]:
    """How many of each round."""
    lines = (folder / f"{name}.acks").read_text().splitlines()
    return {int(turn): int(count) for turn, count in (line.split() for line in lines)}


def landed_numbers(lake: Lake, name: str) -> list[int]:
    """Of all tables, with repeats if there are any."""
    numbers: list[int] = []
    for table in TABLES:
        rows = lake.dataset(table).to_table()
        column = "content" if table is quarantine.OBSERVATIONS else "sequence"
        both = zip(rows["spool"].to_pylist(), rows[column].to_pylist(), strict=True)
        numbers += [int(number) for spool, number in both if spool == name]
    return numbers


@pytest.mark.slow
def test_what_was_acknowledged_lands_exactly_once_through_kills(tmp_path: Path) -> None:
    """What was on disk, but not acknowledged yet, may land: once, and nothing before it lacks."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    subprocess.run(
        [sys.executable, "-m", "tests.lake.crashes", str(tmp_path), str(seed), str(ROUNDS)],
        check=True,
        timeout=400,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    lake = Lake(str(tmp_path / "lake"))
    assert sum(lake.version(table) or 0 for table in TABLES) > 10  # it was not for nothing
    for name in SPOOLS:
        Lander(lake, tmp_path / name, name).run()
    for name in SPOOLS:
        numbers = landed_numbers(lake, name)
        assert max(Counter(numbers).values()) == 1
        acks = acknowledged(tmp_path, name)
        assert len(acks) > ROUNDS / 4
        for turn in {number // ROUND for number in numbers} | set(acks):
            found = sorted(number % ROUND for number in numbers if number // ROUND == turn)
            assert found == list(range(len(found)))
            assert acks.get(turn, 0) <= len(found) <= acks.get(turn, 0) + GROUP_MAX
    before = [lake.version(table) for table in landing.TABLES]
    for name in SPOOLS:
        assert Lander(lake, tmp_path / name, name).run().rows == 0
    assert [lake.version(table) for table in landing.TABLES] == before
