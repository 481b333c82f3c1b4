"""With `lake`: its guide from end to end, on a machine that has no Java of its own.

The JVM has the settings that users have, without those that make the tests' own JVMs cheaper.
"""

import os
from pathlib import Path

import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.steps import STEPS
from tests.console import run
from tests.install.environment import ROOT, Installer

pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.slow]

# The guide also starts a hub, which users have installed elsewhere.
ROOKERY = """\
#!/bin/sh
case "$1" in
  lake) exec '{lake}' "$@" ;;
  *) exec '{hub}' "$@" ;;
esac
"""


def test_the_guide_of_the_lake_does_what_it_says(installer: Installer, tmp_path: Path) -> None:
    """Its first command is `lake demo`, whose exit code says whether each step was done."""
    lake, hub = installer.environment("lake"), installer.environment("hub")
    folder, program = tmp_path / "reader", tmp_path / "programs" / "rookery"
    folder.mkdir()
    program.parent.mkdir()
    program.write_text(ROOKERY.format(lake=lake.program, hub=hub.program))
    program.chmod(0o755)
    programs = os.pathsep.join((str(program.parent), lake.variables["PATH"]))
    run((ROOT / "docs" / "guides" / "lake.md").read_text(), folder, programs)
    made = Lake(str(folder / "lake-demo"))
    assert [step.target.path for step in STEPS if made.version(step.target) is None] == []
