"""Standard input and output beside an event loop.

They may be files, terminals or pipes, and any of them may block. A blocking call gets a thread
that the process does not wait for, so a verb can end while a read or write is blocked.
"""

import asyncio
import os
import select
import sys
from collections.abc import AsyncIterator, Callable
from threading import Thread
from typing import TypeVar

from rookery.errors import UsageError

READ_SIZE = 1 << 16
LINE_SIZE_MAX = 1 << 16
_DIRECT_SIZE_MAX = getattr(select, "PIPE_BUF", 512)  # a ready pipe takes as much at once

Result = TypeVar("Result")


async def chunks(descriptor: int | None = None) -> AsyncIterator[bytes]:
    """Whatever comes in, as it comes, until the end."""
    source = sys.stdin.fileno() if descriptor is None else descriptor
    while data := await _in_thread(lambda: os.read(source, READ_SIZE)):
        yield data


async def lines() -> AsyncIterator[str]:
    """What comes in, line by line, without the line ends."""
    rest = b""
    async for data in chunks():
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").removesuffix("\r")
        if len(rest) > LINE_SIZE_MAX:
            raise UsageError(f"a line of more than {LINE_SIZE_MAX} bytes")
    if rest:
        yield rest.decode(errors="replace")


async def write(data: bytes) -> None:
    """Put all of `data` out."""
    target = sys.stdout.fileno()
    if len(data) <= _DIRECT_SIZE_MAX and select.select([], [target], [], 0)[1]:
        os.write(target, data)
    else:
        await _in_thread(lambda: _write_all(target, data))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


async def _in_thread(call: Callable[[], Result]) -> Result:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: OSError | None) -> None:
        if done.done():
            return  # cancelled meanwhile
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # one of the two is always there

    def work() -> None:
        result, failure = None, None
        try:
            result = call()
        except OSError as error:
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    Thread(target=work, daemon=True).start()
    return await done
