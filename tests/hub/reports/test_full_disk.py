"""P3: a hub whose disk is full acknowledges no more, says so, and goes on once there is room."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.reports.full_disk import REPORTS
from tests.lake.test_full_disk import NAMESPACE, has_namespaces


@pytest.mark.slow
@pytest.mark.skipif(not has_namespaces(), reason="no mount namespaces here")
def test_a_full_disk_stops_acknowledging_and_says_so(tmp_path: Path) -> None:
    told = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.hub.reports.full_disk", str(tmp_path / "hub")],
        check=True,
        capture_output=True,
        timeout=200,
    )
    found = json.loads(told.stdout)
    assert found["code"] == 0
    assert found["lost"] == []
    assert 0 < found["full"] < REPORTS
    assert found["full"] + 10 < found["acknowledged"] <= REPORTS
    assert "is full, and takes nothing more: No space left on device" in found["said"]
    assert "has room again" in found["said"]
