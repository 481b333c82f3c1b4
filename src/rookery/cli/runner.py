"""Runs a verb on the event loop: Ctrl-C and SIGTERM end it in good order, and in time."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Sequence

from rookery.cli.terminal.exit_codes import OK
from rookery.runtime.loop import run

GRACE_S = 4.0  # for saying goodbye; then whatever still waits is given up

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_verb(work: Coroutine[object, object, int]) -> int:
    """Carry out a verb; its exit code, or 128 + the signal that ended it."""
    return run(_interruptible(work))


def run_service(work: Coroutine[object, object, int]) -> int:
    """Carry out a verb that is meant to run until a signal ends it."""
    code = run(_interruptible(work))
    return OK if code - 128 in _SIGNALS else code


async def until_stopped() -> None:
    """Wait for the signal."""
    await asyncio.get_running_loop().create_future()


async def _interruptible(work: Coroutine[object, object, int]) -> int:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()
        loop.call_later(GRACE_S, task.cancel)

    for number in _SIGNALS:
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C raises by itself
            loop.add_signal_handler(number, stop, number)
    try:
        return await work
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]


async def until_first(works: Sequence[Coroutine[object, object, None]]) -> None:
    """Run them together; the first to end cancels the others, and its error is raised here."""
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
