"""The page of rules names tests that exist, and at least one for each rule."""

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "protocol" / "mesh-rules.md"
RULES = [f"R{number}" for number in range(1, 14)]

_NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
_LIVES = re.compile(r"`((?:mesh|link|runtime)/[\w/]+\.py)`")


def rows() -> dict[str, str]:
    """The rows of both tables by their first column."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {line.split("|")[1].strip(): line for line in lines}


def test_every_test_that_is_named_exists() -> None:
    named = set(_NAMED.findall(PAGE.read_text()))
    assert len(named) > 50
    missing = [
        f"{file}::{function}"
        for file, function in sorted(named)
        if not re.search(rf"^(async )?def {function}\(", _text(file), re.MULTILINE)
    ]
    assert missing == []


def test_every_rule_has_a_place_and_a_test() -> None:
    """R1 to R13."""
    by_rule = rows()
    for rule in RULES:
        assert _NAMED.search(by_rule[rule]), rule
        places = _LIVES.findall(by_rule[rule])
        assert places, rule
        for place in places:
            assert (TESTS.parent / "src" / "rookery" / place).exists(), place


def _text(file: str) -> str:
    path = TESTS / file
    return path.read_text() if path.exists() else ""
