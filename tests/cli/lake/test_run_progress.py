"""P1: what a run tells people and programs while it works."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.cli.lake.run_progress import RunProgress, step_line
from rookery.lake.engine.progress import RunReport, StepOutcome, StepReport, StepStarted

LOG = Path("/var/log/spark.log")
AGO = timedelta(hours=1, minutes=5)
DONE = StepReport("clean/calls", StepOutcome.DONE, 5000, 4990, 3, 2.0)
SKIPPED = StepReport("facts/call_hours", StepOutcome.SKIPPED)
FAILED = StepReport("facts/sessions", StepOutcome.FAILED, text="no room")
BLOCKED = StepReport("insights/x", StepOutcome.BLOCKED, text="waits for facts/sessions")


def report(*steps: StepReport) -> RunReport:
    return RunReport("20260302T000000-12345678", steps, 61.0, datetime.now(UTC) - AGO)


def test_people_see_what_was_done_and_how_fast(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=False)
    progress(StepStarted("clean/calls", 1, 3))
    for step in (DONE, SKIPPED, FAILED, BLOCKED):
        progress(step)
    progress.end(report(DONE, SKIPPED, FAILED, BLOCKED), LOG)
    captured = capsys.readouterr()
    assert captured.out == ""
    done, failed, end, why = captured.err.splitlines()
    assert done == step_line(DONE)
    assert "5000 → 4990 rows, 3 set aside  2.0 s  2.5 k rows/s" in done
    assert failed.split() == ["facts/sessions", "failed:", "no", "room"]
    assert end.startswith("1 done, 1 skipped, 1 failed, 1 blocked in 1 min 1 s; newest event ")
    assert end.endswith("1 h 5 min ago")
    assert why == "the run failed: facts/sessions: no room; see /var/log/spark.log"


def test_programs_get_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=True)
    progress(StepStarted("clean/calls", 1, 3))
    progress(DONE)
    progress(SKIPPED)
    progress.end(report(DONE, SKIPPED), LOG)
    captured = capsys.readouterr()
    assert captured.err == ""
    started, done, skipped, end = map(json.loads, captured.out.splitlines())
    assert (started["is"], started["table"]) == ("started", "clean/calls")
    assert (done["stage"], done["rows_s"], done["quarantined"]) == ("clean", 2500.0, 3)
    assert skipped["outcome"] == "skipped"
    assert (end["ok"], end["step"], end["error"], end["log"]) == (True, None, None, None)
    assert end["lag_s"] == pytest.approx(3900, abs=120)


def test_a_run_without_news_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=False)
    progress(SKIPPED)
    progress.end(report(SKIPPED), LOG)
    assert capsys.readouterr().err.startswith("nothing is new; newest event ")
    progress.end(RunReport("x", (SKIPPED,), 1.0, None), LOG)
    assert "the lake is empty" in capsys.readouterr().err


def test_json_names_the_step_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=True)
    progress.end(report(DONE, BLOCKED, FAILED), LOG)
    progress.failed("landing", "no spool", LOG)
    later, earlier = map(json.loads, capsys.readouterr().out.splitlines())
    assert (later["ok"], later["step"], later["error"]) == (False, "facts/sessions", "no room")
    assert (earlier["ok"], earlier["step"], earlier["error"]) == (False, "landing", "no spool")
    assert later["log"] == earlier["log"] == str(LOG)
