"""What people hear of the demo's lake: what changes, and no more."""

import pytest

from rookery.cli.demo.printer import DemoPrinter
from rookery.cli.terminal.options import Output

OK = {"ok": True, "step": None, "error": None, "log": None}
FULL = {"ok": False, "step": "landing", "error": "no room", "log": "/demo/logs/spark.log"}


def test_a_failure_is_printed_once_and_so_is_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    show = DemoPrinter(Output(json=False))
    for run in (FULL, FULL, OK, OK):
        show.lake("run", run)
    trouble, again, insights = capsys.readouterr().err.splitlines()
    assert trouble == (
        "a run of the lake failed: landing: no room; see /demo/logs/spark.log; it is tried again"
    )
    assert again == "the lake works again"
    assert insights.startswith("the insights are there, after ")


def test_programs_hear_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    show = DemoPrinter(Output(json=True))
    for run in (FULL, FULL):
        show.lake("run", run)
    assert capsys.readouterr().out.count('"step":"landing","error":"no room"') == 2
