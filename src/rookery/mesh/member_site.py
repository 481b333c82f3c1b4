"""Site: where a member stands, as far as its name tells.

`berlin-gw1` and `berlin.gw2` stand in `berlin`; `gw3` says nothing. Nothing but pictures and
tables depends on it.
"""

import re

_FIRST_PART = re.compile(r"([^-.]+)[-.]")


def site_of(name: str) -> str:
    """What stands before the first dash or dot of a name; empty when there is none."""
    found = _FIRST_PART.match(name)
    return "" if found is None else found[1]
