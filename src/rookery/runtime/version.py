"""Which version of this program is installed.

The standard library knows too, but reads it with a parser of e-mail, which takes two megabytes.
"""

import sys
from functools import cache
from pathlib import Path

UNKNOWN = "unknown"

_BEFORE, _AFTER = "rookery-", ".dist-info"


@cache
def installed_version() -> str:
    for folder in sys.path:
        for found in Path(folder or ".").glob(f"{_BEFORE}*{_AFTER}"):
            return found.name.removeprefix(_BEFORE).removesuffix(_AFTER)
    return UNKNOWN
