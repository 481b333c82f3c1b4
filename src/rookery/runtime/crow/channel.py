"""Channels between nodes as programs see them: frames in order, `await send`, `async for`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rookery.crow.nodes.acceptor import ChannelAcceptor
from rookery.crow.nodes.channel import FRAME_SIZE_MAX, NodeChannel
from rookery.errors import ChannelError, RookeryError, UnreachableError

if TYPE_CHECKING:
    from rookery.runtime.crow.tower import CrowTower

_ENDED = frozenset({"closed here", "closed by the other end"})


class CrowChannel:
    """One end; made by `CrowTower.connect`, or handed to the handler that accepts it."""

    def __init__(self, tower: "CrowTower", core: NodeChannel) -> None:
        self._tower = tower
        self._core = core
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def address(self) -> bytes:
        """Where the other end is."""
        return self._core.address

    @property
    def node(self) -> int:
        return self._core.node

    async def send(self, frame: bytes) -> None:
        """Send one frame, waiting for room; ChannelError when the channel is over."""
        core = self._core
        while core.is_open and core.room <= 0:
            await self._changed()
        core.send(frame, self._tower.now())
        self._tower.pump()

    async def write(self, data: bytes) -> None:
        """Send any number of bytes, in as many frames as it takes."""
        for start in range(0, len(data), FRAME_SIZE_MAX):
            await self.send(data[start : start + FRAME_SIZE_MAX])

    async def receive(self) -> bytes | None:
        """The next frame; None once the other end has closed, ChannelError if it broke."""
        core = self._core
        while (frame := core.receive()) is None:
            if core.is_closed:
                if core.reason not in _ENDED:
                    raise ChannelError(core.reason)
                return None
            await self._changed()
        return frame

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._frames()

    async def _frames(self) -> AsyncIterator[bytes]:
        while (frame := await self.receive()) is not None:
            yield frame

    async def drain(self) -> None:
        """Until the other tower has everything that was sent, or the channel is over."""
        while self._core.unacknowledged and not self._core.is_closed:
            await self._changed()

    async def close(self) -> None:
        """End after all that was sent has arrived; what still comes is not read any more."""
        await self.drain()
        self._core.close(self._tower.now())
        self._tower.pump()
        while not self._core.is_closed:
            await self._changed()

    def abort(self) -> None:
        """End at once."""
        self._core.close(self._tower.now())
        self._tower.pump()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close()
        else:
            self.abort()

    def wake(self) -> None:
        """The core has news."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _changed(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter


ChannelHandler = Callable[[CrowChannel], Awaitable[None]]


class CrowChannels:
    """All channels of a tower, and the tasks that serve those it accepted."""

    def __init__(self, tower: "CrowTower") -> None:
        self._tower = tower
        self._loop = asyncio.get_running_loop()
        self._channels: dict[NodeChannel, CrowChannel] = {}
        self._acceptors: dict[int, tuple[ChannelAcceptor, ChannelHandler]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(
        self, address: bytes, node: int, *, qos: int, ackquant_ms: int
    ) -> CrowChannel:
        now = self._tower.now()
        core = NodeChannel.dial(
            self._tower.nodes, address, node, now, qos=qos, ackquant_ms=ackquant_ms
        )
        channel = self._channels[core] = CrowChannel(self._tower, core)
        self._tower.pump()
        try:
            while not core.is_open and not core.is_closed:
                await channel._changed()
        except asyncio.CancelledError:
            channel.abort()
            raise
        if core.is_closed and core.reason not in _ENDED:
            raise UnreachableError(f"node {node} there gives no channel: {core.reason}")
        return channel

    def accept(self, node: int | None, handler: ChannelHandler) -> int:
        acceptor = ChannelAcceptor(self._tower.nodes, node)
        self._acceptors[acceptor.node] = (acceptor, handler)
        return acceptor.node

    def opened(self, core: NodeChannel) -> None:
        known = self._channels.get(core)
        if known is not None:
            known.wake()
            return
        for acceptor, handler in self._acceptors.values():
            if core in acceptor:
                channel = self._channels[core] = CrowChannel(self._tower, core)
                task = self._loop.create_task(_serve(channel, handler))
                self._tasks.add(task)
                task.add_done_callback(self._served)

    def changed(self, core: NodeChannel) -> None:
        channel = self._channels.get(core)
        if channel is not None:
            channel.wake()
            if core.is_closed:
                del self._channels[core]

    async def close(self) -> None:
        """End every task and every channel."""
        for acceptor, _ in self._acceptors.values():
            acceptor.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for channel in list(self._channels.values()):
            channel.abort()
            channel.wake()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            context = {"message": "a channel handler failed", "exception": error}
            self._loop.call_exception_handler(context)


async def _serve(channel: CrowChannel, handler: ChannelHandler) -> None:
    """When the handler is done, the channel ends; in time, or at once if it raised."""
    try:
        await handler(channel)
        await channel.close()
    except RookeryError:
        pass  # the other end's doing, or told to it by the end of the channel
    finally:
        channel.abort()
