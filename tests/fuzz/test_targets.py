"""Every parser has a fuzz target; a few run here, others each day, and `make fuzz` runs all."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.parsers import parsers
from tests.fuzz.run import FORKED, fuzz
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import EXCEPT, MACHINES, TARGETS
from tests.patience import PATIENCE_S

SECONDS = float(os.environ.get("ROOKERY_FUZZ_SECONDS", "60"))  # for each target
TARGETS_A_DAY = 2
DAY_S = 86_400


def of_today(number: int) -> str:
    """The table is gone through from day to day, and then again."""
    names = sorted(TARGETS)
    return names[(int(time.time() // DAY_S) * TARGETS_A_DAY + number) % len(names)]


def test_every_parser_is_fuzzed_or_says_why_not() -> None:
    found = parsers()
    assert found - TARGETS.keys() - EXCEPT.keys() == set()
    assert TARGETS.keys() - found == MACHINES.keys()
    assert EXCEPT.keys() - found == set()


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_no_vector_harms_a_parser_that_it_is_not_for(name: str) -> None:
    for seed in (b"", *seeds()):
        TARGETS[name](seed)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
# Numbers, as names of the day would make workers that collect around midnight differ.
@pytest.mark.parametrize("number", range(TARGETS_A_DAY))
def test_a_minute_of_fuzzing_finds_nothing(number: int, tmp_path: Path) -> None:
    name = of_today(number)
    outcome = fuzz(name, SECONDS, tmp_path)
    assert outcome.is_clean, f"{name}:\n{outcome.text}"
    assert outcome.executions > 0


PEAK_MEMORY = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
LARGE = 256 << 20


def test_a_fuzzer_is_not_charged_for_the_memory_of_the_tests_around_it() -> None:
    """Its limit ended it at its start when a test of the same worker had taken much."""
    held = bytearray(LARGE)
    held[::4096] = b"x" * (LARGE // 4096)
    started = subprocess.run(
        [*FORKED, sys.executable, "-c", PEAK_MEMORY],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert int(started.stdout) << 10 < LARGE
