"""`rookery bench`: how a report reads; tests/e2e/mesh/test_copies.py makes one."""

import pytest

from rookery.cli.main import main
from rookery.cli.mesh.bench import described, shown
from rookery.runtime.bench.report import (
    BenchFlow,
    BenchLatency,
    BenchPath,
    BenchPhase,
    BenchProgress,
    BenchReport,
)
from rookery.runtime.node.members import NodeName

QUICK = BenchLatency(count=100, p50_ms=1.25, p99_ms=20.0, max_ms=30.0)
EAST = BenchPath(path="over east", sent_bytes=75_000_000, lost_packets=2, rtt_ms=3.5)
WEST = BenchPath(path="over west", sent_bytes=25_000_000, lost_packets=0, rtt_ms=9.5)


def test_a_report_has_throughput_latency_and_paths() -> None:
    report = BenchReport(
        to=NodeName("b" * 52, "bob"),
        idle=QUICK,
        up=BenchFlow(size_bytes=100_000_000, took_s=5.0, latency=QUICK, paths=(EAST, WEST)),
        down=BenchFlow(size_bytes=0, took_s=5.0, latency=BenchLatency()),
    )
    assert list(described(report)) == [
        "idle  small messages p50 1.25 ms, p99 20.0 ms",
        "up    20 MB/s (100 MB in 5.0 s); small messages p50 1.25 ms, p99 20.0 ms",
        "      over east: 75 MB (75 %), rtt 3.50 ms, 2 packets lost",
        "      over west: 25 MB (25 %), rtt 9.50 ms, 0 packets lost",
        "down  0 B/s (0 B in 5.0 s); no small message came back",
    ]


def test_progress_fits_one_line() -> None:
    assert shown(BenchProgress(phase=BenchPhase.UP, size_bytes=5_000_000, took_s=1.5)) == (
        "up      1.5 s  5 MB"
    )
    assert shown(BenchProgress(phase=BenchPhase.IDLE, size_bytes=0, took_s=0.5)) == "idle    0.5 s"


@pytest.mark.parametrize("option", ["--seconds=0", "--seconds=61", "--bytes=0"])
def test_impossible_limits_are_wrong_usage(option: str) -> None:
    assert main(["bench", "bob", option]) == 2
