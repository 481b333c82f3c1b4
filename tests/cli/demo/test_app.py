"""`rookery demo`: its scenarios, and the one of links, which says what it does."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S

STEPS = ["link", "chat", "stream", "thtp", "sock", "box", "router", "mesh"]


def test_the_demo_keeps_its_promises() -> None:
    """T7: nothing to configure."""
    outcome = rookery("demo", "--scenario", "links", "--json")
    *steps, end = outcome.json_lines()
    assert [step["step"] for step in steps if step["ok"]] == STEPS
    assert end.keys() == {"v", "steps", "failed", "seconds"}
    assert (outcome.code, outcome.err) == (0, "")


def test_the_demo_may_stay() -> None:
    with running("demo", "--scenario", "links", "--keep") as demo:
        while not (line := demo.line()).startswith("{"):
            assert "failed" not in line
        assert rookery("stream", line, stdin=b"hello\n").out == "hello\n"
        demo.signal(signal.SIGINT)
        assert demo.wait(PATIENCE_S) == 0


def test_its_scenarios_are_listed() -> None:
    lines = rookery("demo", "--list", "--json").json_lines()
    listed = [str(line["scenario"]) for line in lines]
    assert listed == ["world", "blackout", "links"]
    assert all(name in rookery("demo", "--list").out for name in listed)


def test_a_folder_of_another_program_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    outcome = rookery("demo", "--folder", tmp_path)
    assert outcome.code == 2
    assert "--folder" in outcome.complaint()
    assert (tmp_path / "precious").read_text() == "mine"


def test_an_incident_needs_a_demo(tmp_path: Path) -> None:
    outcome = rookery("demo", "incident", "--folder", tmp_path)
    assert outcome.code == 3
    assert "rookery demo" in outcome.complaint()


def test_options_that_make_no_sense_are_refused() -> None:
    assert "--days" in rookery("demo", "--days", "-1").complaint()
    assert "links" in rookery("demo", "--keep").complaint()


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; sys.argv[:] = ['rookery', 'demo']; "
        "from rookery.cli.main import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert b"pyspark" in done.stderr
    assert b"pip install 'rookery[all]'" in done.stderr
    assert not list(tmp_path.iterdir())
