"""`--data`: the bytes a verb sends. `@FILE` is that file, `-` is stdin, all else is the text."""

import os
from collections.abc import AsyncIterator

from rookery.cli.terminal import stdio
from rookery.errors import UsageError


def payload(data: str | None) -> bytes | AsyncIterator[bytes]:
    """What to send, all at once or piece by piece; UsageError when there is no such file."""
    if data is None:
        return b""
    if data == "-":
        return stdio.chunks()
    if data.startswith("@"):
        return _file(data[1:])
    return data.encode(errors="surrogateescape")


async def whole_payload(data: str | None, size_max: int) -> bytes:
    """All of it, but no more than `size_max` bytes."""
    source = payload(data)
    if isinstance(source, bytes):
        whole = source
    else:
        whole = b""
        async for piece in source:
            whole += piece
            if len(whole) > size_max:
                break
    if not 0 < len(whole) <= size_max:
        raise UsageError(f"the data must be 1 to {size_max} bytes; give --data TEXT, @FILE or -")
    return whole


def _file(name: str) -> AsyncIterator[bytes]:
    try:
        descriptor = os.open(name, os.O_RDONLY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {name!r}: {reason}; check --data @FILE") from error
    return _chunks(descriptor)


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    try:
        async for piece in stdio.chunks(descriptor):
            yield piece
    finally:
        os.close(descriptor)
