"""P3: a lake that cannot take anything says so; nothing is lost, and nothing comes twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lake.full_disk import MESSAGES

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


def has_namespaces() -> bool:
    try:
        return not subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not has_namespaces(), reason="no mount namespaces here")
def test_a_disk_that_is_full_or_read_only_is_an_error_and_nothing_else(tmp_path: Path) -> None:
    said = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.lake.full_disk", str(tmp_path)],
        capture_output=True,
        timeout=200,
    )
    assert not said.returncode, said.stderr.decode()
    found = json.loads(said.stdout)
    assert len(found["full"]) > 3
    assert all("cannot be" in error for error in found["full"] + found["refused"])
    assert {error.split(":")[0] for error in found["full"]} >= {
        "landing/messages cannot be written",
        "landing/messages cannot be made",
        "landing/messages cannot be committed",
    }
    assert not any("\n" in error or "\x1b" in error for error in found["full"])
    assert len(found["refused"]) == 1
    assert found["numbers"] == {
        "messages": list(range(MESSAGES + 1)),
        "calls": list(range(MESSAGES + 1)),
    }
    assert "No space left" in found["recorded"]
