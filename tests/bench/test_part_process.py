"""Parts run apart: one that fails, dies or hangs is told in one line, and leaves nothing behind."""

import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bench.figure import QUICK, Figure, Missing
from bench.part_process import measured
from bench.parts import Part

LEFT_S = 60.0


class Impatient(Part):
    """Is given up as soon as it has surely begun."""

    @property
    def limit_s(self) -> float:
        return 20.0


def part(name: str) -> Part:
    return Part(name, name.title(), 1.0, module=f"tests.bench.{name}_part")


def test_rows_come_from_another_process() -> None:
    result = measured(part("sound"), QUICK)
    assert result.failure == ""
    assert [type(row) for row in result.rows] == [Figure, Figure, Missing, Figure]


def test_what_fails_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    result = measured(part("failing"), QUICK)
    assert result.rows == ()
    assert result.failure == "TimeoutError: a child process does not answer"
    assert "failing_part.py" in capfd.readouterr().err  # where it was, for whoever mends it


def test_a_process_that_ends_early_is_a_failure() -> None:
    assert measured(part("dying"), QUICK).failure == "its process ended with exit code 7"


def test_a_module_that_is_not_there_is_a_failure() -> None:
    assert measured(part("absent"), QUICK).failure.startswith("ModuleNotFoundError: ")


@pytest.mark.slow
def test_what_hangs_is_given_up_with_all_that_it_has_started(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    hanging = Impatient(*part("hanging"))
    result = measured(hanging, replace(QUICK, history=told))
    assert result.failure.startswith("given up after")
    assert _is_gone(int(told.read_text()))


def _is_gone(pid: int) -> bool:
    deadline = time.monotonic() + LEFT_S
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False
