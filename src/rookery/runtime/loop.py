"""The event loop: uvloop where it is installed, asyncio's own elsewhere."""

import asyncio
import gc
from collections.abc import Coroutine
from typing import TypeVar

Result = TypeVar("Result")

_KEEP_SIZE = 16 << 20


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        from uvloop import new_event_loop as new_uvloop
    except ImportError:  # not made for every platform
        return asyncio.new_event_loop()
    return new_uvloop()


def keep_memory() -> None:
    """Have the C library keep what it frees: new pages cost more than all that is done with them.

    glibc takes a large block that was given back as a sign to expect more of them, and returns
    memory to the system only beyond twice its size. The block itself is never touched.
    """
    bytes(_KEEP_SIZE)


def run(main: Coroutine[object, object, Result]) -> Result:
    """Run `main` to its end on the fastest loop there is."""
    keep_memory()
    gc.freeze()  # what is there by now stays, and need not be looked at again and again
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
