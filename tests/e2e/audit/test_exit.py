"""M10: an exit's rule `*` leads to the internet, and not to the exit's own machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.audit.own_address import IP
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.slow


def test_everything_is_not_the_machines_own_public_address(tmp_path: Path) -> None:
    """Whoever wants members to reach a service there names the network."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None or not Path(IP).exists():
        pytest.skip("only root can make a network namespace")
    done = subprocess.run(
        [unshare, "--net", sys.executable, "-m", "tests.e2e.audit.own_address", tmp_path],
        cwd=ROOT,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == [["DeniedError", "hello"]] * 2
