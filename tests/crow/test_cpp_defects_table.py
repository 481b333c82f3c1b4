"""The table of defects names tests that exist, two for each."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [
    line.split("|")[1:-1]
    for line in (TESTS / "crow" / "cpp_defects.md").read_text().splitlines()
    if line.startswith("| ") and "`" in line
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip())
def test_every_defect_has_a_test_for_either_side(row: list[str]) -> None:
    """C8."""
    _, *sides = row
    assert len(sides) == 2
    for side in sides:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", side)
        assert named
        for path, name in named:
            assert re.search(rf"\bdef {name}\(", (TESTS / path).read_text()), (path, name)


def test_the_table_is_whole() -> None:
    assert len(ROWS) > 30
