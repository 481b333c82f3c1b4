"""The program as a whole: help, version, and the edge where errors become lines."""

import subprocess
import time
from pathlib import Path

import pytest

from rookery.cli.main import VERBS, main
from tests.cli.program import PROGRAM, rookery


def test_help_names_every_verb() -> None:
    help_text = rookery("--help").out
    assert all(verb.name in help_text for verb in VERBS)
    assert "Exit codes" in help_text


def test_help_is_quick() -> None:
    """The goal is 0.3 s; a busy machine gets twice that, and three tries."""

    def took() -> float:
        began = time.perf_counter()
        assert rookery("--help").code == 0
        return time.perf_counter() - began

    assert min(took() for _ in range(3)) < 0.6


@pytest.mark.parametrize(
    "words", [[verb.name] for verb in VERBS] + [["id", "new"], ["box", "put"]], ids=" ".join
)
def test_every_verb_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert f"rookery {' '.join(words)}" in help_text
    if words not in (["id"], ["box"]):  # these have verbs of their own
        assert "Example:" in help_text
        assert "--json" in help_text


def test_version() -> None:
    outcome = rookery("--version")
    assert (outcome.code, outcome.out) == (0, "0.1.0\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["lnik", "x"],
        ["link"],
        ["link", "x", "--timeout", "soon"],
        ["link", "x", "--no-such-option"],
        ["endpoint"],
        ["endpoint", "--id", "x", "--accept", "some"],
        ["box", "put", "x"],
        ["hashname"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("rookery: ")


def test_debug_adds_the_trace() -> None:
    outcome = rookery("link", "nowhere", "--debug")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("rookery: ")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """As with any other program in a pipe."""
    command = f'"{PROGRAM}" demo --json 2> errors | head -n 1 > first'
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "first").read_text().startswith('{"v":1,')
    assert (tmp_path / "errors").read_text() == ""
