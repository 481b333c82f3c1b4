"""A part that never ends, and neither does what it has started; it tells who that is."""

import subprocess
import sys
from pathlib import Path

from bench.figure import Effort, Row


def measure(effort: Effort) -> list[Row]:
    assert effort.history is not None
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    Path(effort.history).write_text(str(sleeper.pid))
    sleeper.wait()
    return []
