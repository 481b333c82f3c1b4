"""The handlers of channel types, and the tasks in which they run."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from rookery.errors import ChannelError, RookeryError
from rookery.runtime.endpoint.channel import AsyncChannel

Handler = Callable[[AsyncChannel], Awaitable[None]]

DRAIN_S_MAX = 30.0  # how long a finished handler's peer may go on sending


class ChannelHandlers:
    """Handlers by channel type; every task started here ends with `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._handlers: dict[str, Handler] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, kind: str, handler: Handler) -> None:
        self._handlers[kind] = handler

    def serve(self, channel: AsyncChannel) -> None:
        """Run the handler of the channel's type."""
        self.spawn(self._handle(channel, self._handlers[channel.type]))

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _handle(self, channel: AsyncChannel, handler: Handler) -> None:
        """Run the handler and end both directions; what it raises is reported to the peer."""
        try:
            await handler(channel)
            await channel.end()
            async with asyncio.timeout(DRAIN_S_MAX):
                while await channel.receive() is not None:
                    pass
        except TimeoutError:
            channel.fail("closed")
        except ChannelError:
            pass
        except RookeryError as error:
            channel.fail(str(error))
        except asyncio.CancelledError:
            channel.fail("closed")
            raise
        except Exception:  # code of the handler's author may raise anything
            channel.fail("internal error")
            raise

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a channel handler failed", "exception": error}
            self._loop.call_exception_handler(context)
