"""With `lake`: the whole pipeline, on a machine that has no Java of its own."""

from pathlib import Path

import pytest

from tests.install.environment import Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

SMALL = ("--days", "1", "--routers", "3", "--interval", "60s")


def test_the_lake_demo_finds_what_was_planted(installer: Installer, tmp_path: Path) -> None:
    lake = installer.environment("lake")
    outcome = lake.rookery("lake", "demo", *SMALL, "--json", cwd=tmp_path)
    lines = outcome.json_lines()
    troubles = [line for line in lines if line["is"] == "step" and line["outcome"] != "done"]
    assert troubles == []
    assert (outcome.code, outcome.err) == (0, "")
    assert any(line["is"] == "finding" for line in lines)
