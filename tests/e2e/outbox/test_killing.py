"""Durable outboxes survive kill -9 of either side: the same order, and exactly once for QoS 2.

`ROOKERY_OUTBOX_ROUNDS` says how often somebody is killed; with the tests it is fewer than 200.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
ROUNDS = int(os.environ.get("ROOKERY_OUTBOX_ROUNDS", "40"))


@pytest.mark.slow
def test_whoever_is_killed_everything_kept_is_handled_once_and_in_order(tmp_path: Path) -> None:
    """Q5 and more: the receiver's effect and its memory are one transaction."""
    command = [sys.executable, "-m", "tests.e2e.outbox.killing", str(tmp_path), str(ROUNDS), "1"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True
    )
    report = json.loads(done.stdout)
    print(report)
    assert report["kills"] >= ROUNDS
    assert report["kept"] > ROUNDS
    assert (report["lost"], report["twice"], report["out of order"]) == (0, 0, 0)
