"""The rest of some bytes: copied where that is cheaper than a view, which is up to a few KB."""

from typing import Final

from rookery.wire.octets import Octets

_COPY_SIZE_MAX: Final = 4096


def tail(data: Octets, start: int) -> bytes | memoryview:
    """What follows from there."""
    if isinstance(data, bytes) and len(data) <= _COPY_SIZE_MAX:  # apart, as compiled code is quick
        return data[start:]
    return bytes(data[start:]) if len(data) <= _COPY_SIZE_MAX else memoryview(data)[start:]
