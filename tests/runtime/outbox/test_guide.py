"""The programs in the outbox guide run to their end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "outbox.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_program_runs(program: str) -> None:
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
