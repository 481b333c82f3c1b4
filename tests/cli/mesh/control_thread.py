"""A control socket in a thread of its own, for verbs that run in this process or another."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from rookery.runtime.control.server import ControlServer
from rookery.runtime.node.snapshot import ControlledNode
from tests.patience import PATIENCE_S


@contextmanager
def controlled(node: ControlledNode, path: Path) -> Iterator[None]:
    """The real socket, served until the block ends."""
    is_ready, is_done = Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        control = await ControlServer.bind(node, path)
        is_ready.set()
        await is_done.wait()
        await control.close()

    thread = Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert is_ready.wait(PATIENCE_S)
        yield
    finally:
        loop.call_soon_threadsafe(is_done.set)
        thread.join(PATIENCE_S)
        loop.close()
