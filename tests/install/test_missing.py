"""Without an extra: one line that names it, at once, and nothing is begun."""

from pathlib import Path

import pytest

from rookery.cli.lake.app import VERBS
from tests.install.environment import Environment, Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

LAKE = {
    "run": ("--data", "."),
    "land": ("--spool", "hub"),
    "status": (),
    "tables": (),
    "query": ("SELECT 1",),
    "check": (),
    "backfill": ("2026-03-02", "2026-03-02"),
    "compact": (),
    "vacuum": (),
    "export": ("--id", "keys"),
    "demo": ("--data", "made-up"),
}
CASES = [
    (("hub",), "hub"),
    (("fleet", "account", "list"), "hub"),
    (("fleet", "code", "--server"), "hub"),
    (("fleet", "drain", "--list"), "hub"),
    (("fleet", "simulate", "--routers", "1", "--seconds", "1"), "hub"),
    *((("lake", verb, *arguments), "lake") for verb, arguments in LAKE.items()),
    (("lake", "run", "--remote", "sc://127.0.0.1:1", "--data", "."), "lake"),
    (("demo",), "all"),
    (("demo", "--days", "0"), "all"),
    (("id", "new", "old", "--cs", "1a"), "legacy"),
]


@pytest.fixture(scope="module")
def home(none: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With keys, as `lake export` asks for them first."""
    folder = tmp_path_factory.mktemp("home")
    assert none.rookery("id", "new", "keys", cwd=folder).code == 0
    return folder


def test_every_verb_of_the_lake_is_asked() -> None:
    assert LAKE.keys() == {verb.name for verb in VERBS}


@pytest.mark.parametrize(("arguments", "extra"), CASES, ids=lambda each: str(each))
def test_a_missing_extra_is_one_line(
    none: Environment, home: Path, arguments: tuple[str, ...], extra: str
) -> None:
    outcome = none.rookery(*arguments, cwd=home)
    assert outcome.code == 2, outcome.err
    assert f"pip install 'rookery[{extra}]'" in outcome.complaint()
    assert outcome.out == ""
    assert {each.name for each in home.iterdir()} == {"keys"}


def test_spark_connect_needs_its_own(installer: Installer, tmp_path: Path) -> None:
    arguments = ("lake", "run", "--remote", "sc://127.0.0.1:1", "--data", ".")
    outcome = installer.environment("lake").rookery(*arguments, cwd=tmp_path)
    assert outcome.code == 2
    assert "pip install 'rookery[connect]'" in outcome.complaint()


def test_a_device_can_still_play_the_small_demo(none: Environment, tmp_path: Path) -> None:
    assert none.rookery("demo", "--scenario", "links", "--json", cwd=tmp_path).code == 0
