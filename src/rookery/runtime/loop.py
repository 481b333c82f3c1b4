"""The event loop: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

Result = TypeVar("Result")


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        from uvloop import new_event_loop as new_uvloop
    except ImportError:  # not made for every platform
        return asyncio.new_event_loop()
    return new_uvloop()


def run(main: Coroutine[object, object, Result]) -> Result:
    """Run `main` to its end on the fastest loop there is."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
