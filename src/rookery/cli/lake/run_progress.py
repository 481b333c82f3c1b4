"""What a run of the pipeline shows while it works: lines for people, JSON for programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.cli.terminal import units
from rookery.cli.terminal.screen import print_json, remark

if TYPE_CHECKING:
    from rich.status import Status

    from rookery.lake.engine.progress import Progress, RunReport, StepReport


class RunProgress:
    """Called for every step; steps without work are only counted."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._status: Status | None = None

    def __call__(self, event: "Progress") -> None:
        from rookery.lake.engine.progress import StepStarted

        if isinstance(event, StepStarted):
            if self._is_json:
                print_json({"is": "started", "table": event.step, "number": event.number})
            else:
                self.wait(f"{event.number}/{event.steps}  {event.step}")
        else:
            self._step(event)

    def wait(self, text: str) -> None:
        """Show on a terminal that something takes its time; elsewhere, nothing."""
        if self._is_json or not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status(text, console=Console(stderr=True))
            self._status.start()
        self._status.update(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self._is_json:
            remark(text)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        self.wait(text)
        try:
            yield
        finally:
            self.stop()

    def end(self, report: "RunReport", log: Path) -> None:
        """The sum of it; of one that failed, where to read on."""
        self.stop()
        lag_s = report.lag_s(datetime.now(UTC))
        if self._is_json:
            print_json({"is": "run", **_run_json(report, lag_s), **_failure_json(report, log)})
            return
        self._sum(report, lag_s)
        if (failed := report.failed) is not None:
            remark(f"the run failed: {failed.step}: {failed.text}; see {log}")

    def failed(self, step: str, error: str, log: Path) -> None:
        """A run that failed before its steps; for people the error itself is printed."""
        self.stop()
        if self._is_json:
            print_json({"is": "run", "ok": False, "step": step, "error": error, "log": str(log)})

    def lost(self, ending: str, log: Path) -> None:
        """Between two runs; the next one has another session."""
        if self._is_json:
            print_json({"is": "lost", "error": ending, "log": str(log)})
        else:
            remark(f"{ending}; a new one is started; see {log}")

    def _sum(self, report: "RunReport", lag_s: float | None) -> None:
        if report.is_idle:
            remark(f"nothing is new{_newest(report, lag_s)}")
            return
        outcomes = [each.outcome for each in report.steps]
        parts = [f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes)]
        remark(f"{', '.join(parts)} in {units.span(report.seconds)}{_newest(report, lag_s)}")

    def stop(self) -> None:
        """Leave the terminal to whatever comes next."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _step(self, report: "StepReport") -> None:
        from rookery.lake.engine.progress import StepOutcome

        if self._is_json:
            print_json({"is": "step", **_step_json(report)})
        elif report.outcome is StepOutcome.DONE:
            remark(step_line(report))
        elif report.outcome in {
            StepOutcome.FAILED,
            StepOutcome.CONFLICT,
        }:  # what waits for it is counted
            remark(f"{report.step:<32} {report.outcome}: {report.text}")


def step_line(report: "StepReport") -> str:
    """`facts/link_hours    34560 → 960 rows   1.2 s   28 k/s`."""
    line = f"{report.step:<32} {report.rows_in:>10} → {report.rows_out} rows"
    if report.quarantined:
        line += f", {report.quarantined} set aside"
    return f"{line}  {report.seconds:.1f} s  {_rate(report.rows_per_s)}"


def _rate(rows_s: float) -> str:
    return f"{rows_s / 1000:.1f} k rows/s" if rows_s >= 1000 else f"{rows_s:.0f} rows/s"


def _newest(report: "RunReport", lag_s: float | None) -> str:
    if report.newest is None or lag_s is None:
        return "; the lake is empty"
    behind = f", {units.span(lag_s)} ago" if lag_s > 0 else ""
    return f"; newest event {report.newest:%Y-%m-%d %H:%M:%S} UTC{behind}"


def _step_json(report: "StepReport") -> dict[str, object]:
    return {
        "stage": report.step.partition("/")[0],
        "table": report.step,
        "outcome": str(report.outcome),
        "rows_in": report.rows_in,
        "rows_out": report.rows_out,
        "quarantined": report.quarantined,
        "took_s": round(report.seconds, 3),
        "rows_s": round(report.rows_per_s, 1),
        "text": report.text,
    }


def _failure_json(report: "RunReport", log: Path) -> dict[str, object]:
    """The same names whether it failed or not."""
    if (failed := report.failed) is None:
        return {"step": None, "error": None, "log": None}
    return {"step": failed.step, "error": failed.text, "log": str(log)}


def _run_json(report: "RunReport", lag_s: float | None) -> dict[str, object]:
    return {
        "run": report.run,
        "ok": report.is_ok,
        "took_s": round(report.seconds, 3),
        "newest": None if report.newest is None else report.newest.isoformat(),
        "lag_s": None if lag_s is None else round(lag_s, 1),
    }
