"""`rookery bench`: throughput and latency to a member, and which paths carried the data."""

import sys
from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    NodeName,
    print_line,
    print_row,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.errors import ProtocolError, UsageError
from rookery.mesh.bench import BYTES_MAX, SECONDS_MAX
from rookery.runtime.bench.report import BenchFlow, BenchLatency, BenchProgress, BenchReport
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import SECONDS_DEFAULT, ControlCommand, ControlRequest

PATIENCE_S = 40.0  # for what the node itself waits for

_CLEAR = "\r\x1b[K"


def bench(
    node: NodeName,
    /,
    *,
    seconds: Annotated[
        float, Parameter(name="--seconds", help="How long each direction takes.")
    ] = SECONDS_DEFAULT,
    size: Annotated[
        int | None, Parameter(name="--bytes", help="How much goes each direction at most.")
    ] = None,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if not 0 < seconds <= SECONDS_MAX:
        raise UsageError(f"give --seconds above 0 and at most {SECONDS_MAX:g}")
    if size is not None and not 0 < size <= BYTES_MAX:
        raise UsageError(f"give --bytes 1 to {BYTES_MAX}")
    request = ControlRequest(
        do=ControlCommand.BENCH, node=node, seconds=seconds, bytes=size or BYTES_MAX
    )

    async def work() -> int:
        async with control_options.connected() as control:
            report = await _report(control, request, output)
        if not output.json:
            for line in described(report):
                print_line(line)
        return OK

    return run_verb(work())


async def _report(control: ControlClient, request: ControlRequest, output: Output) -> BenchReport:
    report: BenchReport | None = None
    try:
        async for row in control.bench(request, patience_s=PATIENCE_S):
            if output.json:
                print_row(row)
            elif isinstance(row, BenchProgress) and sys.stderr.isatty():
                print(f"{_CLEAR}{shown(row)}", end="", file=sys.stderr, flush=True)
            if isinstance(row, BenchReport):
                report = row
    finally:
        if sys.stderr.isatty() and not output.json:
            print(_CLEAR, end="", file=sys.stderr, flush=True)
    if report is None:
        raise ProtocolError("the node answers without a report")
    return report


def shown(progress: BenchProgress) -> str:
    """Progress on one line."""
    text = f"{progress.phase.value:<4}  {progress.took_s:5.1f} s"
    return f"{text}  {units.size(progress.size_bytes)}" if progress.size_bytes else text


def described(report: BenchReport) -> Iterator[str]:
    """The report for people."""
    yield f"idle  {_latency(report.idle)}"
    for name, flow in (("up", report.up), ("down", report.down)):
        amount = f"{units.size(flow.size_bytes)} in {flow.took_s:.1f} s"
        yield f"{name:<4}  {units.rate(flow.rate_bytes_s)} ({amount}); {_latency(flow.latency)}"
        yield from _paths(flow)


def _latency(latency: BenchLatency) -> str:
    if not latency.count:
        return "no small message came back"
    p50, p99 = units.milliseconds(latency.p50_ms), units.milliseconds(latency.p99_ms)
    return f"small messages p50 {p50}, p99 {p99}"


def _paths(flow: BenchFlow) -> Iterator[str]:
    total = sum(path.sent_bytes for path in flow.paths) or 1
    for path in flow.paths:
        yield (
            f"      {path.path}: {units.size(path.sent_bytes)} "
            f"({units.percent(round(path.sent_bytes / total, 3))}), "
            f"rtt {units.milliseconds(path.rtt_ms)}, {path.lost_packets} packets lost"
        )
