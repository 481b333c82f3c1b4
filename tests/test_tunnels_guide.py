"""The Python blocks of the page on tunnels are one program, which runs to its end (M4, M11)."""

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "tunnels.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 3
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
