"""Fails unless the last test run took enough branches of the cores; silent when it did.

Coverage's own floor mixes lines with branches, and lines are the easy part.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from coverage import Coverage

FLOOR_PERCENT = 95.0


def branch_percent() -> float:
    """Of the data file that the test run left behind."""
    coverage = Coverage()
    coverage.load()
    with TemporaryDirectory() as folder:
        report = Path(folder, "coverage.json")
        coverage.json_report(outfile=str(report))
        return float(json.loads(report.read_text())["totals"]["percent_branches_covered"])


if __name__ == "__main__":
    percent = branch_percent()
    if percent < FLOOR_PERCENT:
        sys.exit(f"branches of the cores: {percent:.1f} % covered, {FLOOR_PERCENT:.0f} % needed")
