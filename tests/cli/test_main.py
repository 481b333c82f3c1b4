"""The program as a whole: help, version, and the edge where errors become lines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.cli.crow.app import VERBS as CROW_VERBS
from rookery.cli.fleet.app import VERBS as FLEET_VERBS
from rookery.cli.lake.app import VERBS as LAKE_VERBS
from rookery.cli.main import VERBS, main
from rookery.cli.realm.app import VERBS as REALM_VERBS
from rookery.runtime.version import build
from tests.cli.program import PROGRAM, rookery
from tests.patience import PATIENCE_S


def test_help_names_every_verb() -> None:
    help_text = rookery("--help").out
    assert all(verb.name in help_text for verb in VERBS)
    assert "Exit codes" in help_text


def test_help_is_quick() -> None:
    """The goal is 0.3 s; processor time does not grow with what else the machine does."""

    def took() -> float:
        before = os.times()
        assert rookery("--help").code == 0
        after = os.times()
        user_s = after.children_user - before.children_user
        return user_s + after.children_system - before.children_system

    assert min(took() for _ in range(3)) < 0.6


def test_help_loads_no_verb() -> None:
    """Whatever a verb needs is not needed to name it."""
    program = "import sys; from rookery.cli.main import main; main(['--help']); print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=PATIENCE_S
    ).stdout.decode()
    loaded = set(printed.splitlines()[-1].split())
    assert "rookery.cli.main" in loaded
    assert not loaded & {
        "asyncio",
        "cryptography",
        "rookery.cli.link.link",
        "rookery.runtime.endpoint.endpoint",
    }
    assert not loaded & {"numpy", "pyarrow", "pyspark", "duckdb", "deltalake"}


@pytest.mark.parametrize(
    "words",
    [[verb.name] for verb in VERBS]
    + [["id", "new"], ["box", "put"]]
    + [["queue", verb] for verb in ("list", "show", "add", "cancel")]
    + [["crow", verb.name] for verb in CROW_VERBS]
    + [["realm", verb.name] for verb in REALM_VERBS]
    + [["devices", verb] for verb in ("add", "claim")]
    + [["demo", "incident"]]
    + [["fleet", verb.name] for verb in FLEET_VERBS]
    + [["lake", verb.name] for verb in LAKE_VERBS],
    ids=" ".join,
)
def test_every_verb_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    help_text = capsys.readouterr().out
    assert f"rookery {' '.join(words)}" in help_text
    if words not in (
        ["id"],
        ["box"],
        ["queue"],
        ["crow"],
        ["realm"],
        ["devices"],
        ["fleet"],
        ["fleet", "account"],
        ["lake"],
    ):  # these have verbs of their own
        assert "Example:" in help_text
        assert "--json" in help_text


def test_version() -> None:
    outcome = rookery("--version")
    assert (outcome.code, outcome.out) == (0, f"rookery 0.1.0 ({build()})\n")


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
    command = f'"{PROGRAM}" demo --scenario links --json 2> errors | head -n 1 > first'
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    assert (tmp_path / "first").read_text().startswith('{"v":1,')
    assert (tmp_path / "errors").read_text() == ""
