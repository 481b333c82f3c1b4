"""Reason: what delta-rs says of a failure, as one line; it draws coloured trees of causes."""

import re

_DRAWN = re.compile(r"\x1b\[[0-9;]*m|↳")


def reason(error: Exception) -> str:
    """For people, in a sentence of ours."""
    lines = (_DRAWN.sub("", line).strip() for line in str(error).splitlines())
    return ": ".join(line for line in lines if line)
