"""The bench of the spool runs, on a real disk."""

from pathlib import Path

from bench import spool
from bench.figure import QUICK


def test_the_spool_is_measured_beside_a_bare_loop(tmp_path: Path) -> None:
    figure = spool.throughput(QUICK, tmp_path)
    assert figure.value > 0
    assert figure.ratio is not None


def test_a_record_costs_the_loop_little() -> None:
    assert spool.appending(QUICK).value < spool.APPEND_US_MAX * 5  # the machine may be busy


def test_latency_and_reading_are_measured(tmp_path: Path) -> None:
    assert spool.alone(QUICK, tmp_path).value > 0
    assert spool.reading(QUICK, tmp_path).value > 0
