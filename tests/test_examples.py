"""Every Python block of the examples page is a program that runs to its end (T5)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "examples.md"
BLOCK = re.compile(r"^## (?P<title>.+?)$.*?^```python\n(?P<program>.*?)^```$", re.M | re.S)
PROGRAMS = {found["title"]: found["program"] for found in BLOCK.finditer(PAGE.read_text())}


def test_the_page_has_an_example_of_every_kind() -> None:
    text = PAGE.read_text()
    assert len(PROGRAMS) == text.count("```python") == text.count("\n## ")


@pytest.mark.parametrize("title", PROGRAMS)
def test_the_example_runs(title: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAMS[title]],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
