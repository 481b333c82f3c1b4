"""P1: what a run tells people and programs while it works."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from rookery.cli.lake_progress import RunProgress, step_line
from rookery.cli.lake_run import finished
from rookery.lake.progress import Outcome, RunReport, StepReport, StepStarted

AGO = timedelta(hours=1, minutes=5)
DONE = StepReport("clean/calls", Outcome.DONE, 5000, 4990, 3, 2.0)
SKIPPED = StepReport("facts/call_hours", Outcome.SKIPPED)
FAILED = StepReport("facts/sessions", Outcome.FAILED, text="no room")


def report(*steps: StepReport) -> RunReport:
    return RunReport("20260302T000000-12345678", steps, 61.0, datetime.now(UTC) - AGO)


def test_people_see_what_was_done_and_how_fast(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=False)
    progress(StepStarted("clean/calls", 1, 3))
    for step in (DONE, SKIPPED, FAILED):
        progress(step)
    assert finished(report(DONE, SKIPPED, FAILED), progress) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    done, failed, end = captured.err.splitlines()
    assert done == step_line(DONE)
    assert "5000 → 4990 rows, 3 set aside  2.0 s  2.5 k rows/s" in done
    assert failed.split() == ["facts/sessions", "failed:", "no", "room"]
    assert end.startswith("1 done, 1 skipped, 1 failed in 1 min 1 s; newest event ")
    assert end.endswith("1 h 5 min ago")


def test_programs_get_a_line_for_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=True)
    progress(StepStarted("clean/calls", 1, 3))
    progress(DONE)
    progress(SKIPPED)
    assert finished(report(DONE, SKIPPED), progress) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    started, done, skipped, end = map(json.loads, captured.out.splitlines())
    assert (started["is"], started["table"]) == ("started", "clean/calls")
    assert (done["stage"], done["rows_s"], done["quarantined"]) == ("clean", 2500.0, 3)
    assert skipped["outcome"] == "skipped"
    assert end["ok"] is True
    assert end["lag_s"] == pytest.approx(3900, abs=120)


def test_a_run_without_news_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(is_json=False)
    progress(SKIPPED)
    assert finished(report(SKIPPED), progress) == 0
    assert capsys.readouterr().err.startswith("nothing is new; newest event ")
    progress.end(RunReport("x", (SKIPPED,), 1.0, None))
    assert "the lake is empty" in capsys.readouterr().err
