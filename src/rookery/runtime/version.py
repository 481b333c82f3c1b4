"""Which version of this program is installed, and whether its cores are compiled.

The standard library knows the version too, but reads it with a parser of e-mail, which takes two
megabytes.
"""

import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

UNKNOWN = "unknown"

_BEFORE, _AFTER = "rookery-", ".dist-info"
_COMPILED = "rookery.wire.link.framing"  # one of the modules that are compiled together
_WHY_NOT = Path(__file__).parents[1] / "not_compiled.txt"  # left by whoever made the wheel


@cache
def installed_version() -> str:
    for folder in sys.path:
        for found in Path(folder or ".").glob(f"{_BEFORE}*{_AFTER}"):
            return found.name.removeprefix(_BEFORE).removesuffix(_AFTER)
    return UNKNOWN


@cache
def build() -> str:
    """`compiled, Python 3.11`, or why it is not."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    found = find_spec(_COMPILED)
    if found is not None and (found.origin or "").endswith(tuple(EXTENSION_SUFFIXES)):
        return f"compiled, {python}"
    return f"pure {python}: {_why_not()}"


def _why_not() -> str:
    try:
        return _WHY_NOT.read_text().strip()
    except FileNotFoundError:
        return "run from its sources"
