"""Octets: bytes in whichever form they came to be, so that large packets need not be copied.

Whoever is given some reads them at once: they may lie where something else will be read to next.
"""

from collections.abc import Sequence
from typing import Final

Octets = bytes | bytearray | memoryview
Parts = Sequence[Octets]  # of what nobody has put into one piece yet


_COPY_SIZE_MAX: Final = 4096


def tail(data: Octets, start: int) -> bytes | memoryview:
    """What follows from there."""
    if isinstance(data, bytes) and len(data) <= _COPY_SIZE_MAX:  # apart, as compiled code is quick
        return data[start:]
    return bytes(data[start:]) if len(data) <= _COPY_SIZE_MAX else memoryview(data)[start:]
