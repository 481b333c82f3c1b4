"""The rest of some bytes: copied where that is cheaper than a view, which is up to a few KB."""

_COPY_SIZE_MAX = 4096


def tail(data: bytes | memoryview, start: int) -> bytes | memoryview:
    """What follows from there."""
    return data[start:] if len(data) <= _COPY_SIZE_MAX else memoryview(data)[start:]
