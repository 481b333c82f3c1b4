"""Octets: bytes in any form, so that large packets need not be copied.

A receiver reads them at once: they may be part of a buffer that the next read overwrites.
"""

from collections.abc import Sequence
from typing import Final

Octets = bytes | bytearray | memoryview
Parts = Sequence[Octets]  # of a packet that is not in one piece yet


_COPY_SIZE_MAX: Final = 4096


def tail(data: Octets, start: int) -> bytes | memoryview:
    """The rest from `start`: copied up to a few KB, where that is cheaper than a view."""
    if isinstance(data, bytes) and len(data) <= _COPY_SIZE_MAX:  # apart, as compiled code is quick
        return data[start:]
    return bytes(data[start:]) if len(data) <= _COPY_SIZE_MAX else memoryview(data)[start:]
