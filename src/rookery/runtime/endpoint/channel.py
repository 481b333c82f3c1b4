"""A channel as asyncio sees it: `await send`, `await receive`, and how it ends."""

import asyncio
from typing import TYPE_CHECKING

from rookery.errors import ChannelError
from rookery.link.channel import Channel as ChannelCore
from rookery.link.reliable import ChannelMessage
from rookery.wire.link.lob import JsonObject

if TYPE_CHECKING:
    from rookery.runtime.endpoint.link import AsyncLink


class AsyncChannel:
    """One end of a channel; made by `AsyncLink.open` or given to the handler of its type."""

    def __init__(self, link: "AsyncLink", core: ChannelCore) -> None:
        self.link = link
        self._core = core
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def id(self) -> int:
        return self._core.id

    @property
    def type(self) -> str:
        return self._core.type

    @property
    def opening(self) -> ChannelMessage:
        """The packet that opened the channel."""
        return self._core.opening

    @property
    def outbound(self) -> bool:
        return self._core.outbound

    @property
    def reliable(self) -> bool:
        return self._core.reliable

    @property
    def is_closed(self) -> bool:
        return self._core.is_closed

    @property
    def fragment_size(self) -> int:
        """How many bytes of body fit one packet on the path in use."""
        return self.link.fragment_size

    async def send(
        self, head: JsonObject | None = None, body: bytes = b"", *, end: bool = False
    ) -> None:
        """Send one packet, waiting while the window is full."""
        core = self._core
        while not core.has_room and not core.is_closed:
            await self._changed()
        self._check()
        if core.end_sent:
            raise ChannelError("the channel has been ended")
        core.send(head or {}, body, end=end)
        self.link.used(core)

    def post(self, head: JsonObject | None = None, body: bytes = b"") -> None:
        """Send one packet of an unreliable channel, which always has room."""
        assert not self.reliable
        self._check()
        if self._core.is_closed or self._core.end_sent:
            raise ChannelError("the channel has been ended")
        self._core.send(head or {}, body)
        self.link.used(self._core)

    async def receive(self) -> ChannelMessage | None:
        """The next packet, None once the peer has ended."""
        core = self._core
        while (message := core.receive()) is None:
            self._check()
            if core.at_end or core.is_closed:
                return None
            await self._changed()
        if core.owes_answer:
            self.link.used(core)
        return message

    async def end(self) -> None:
        """End our direction; the peer may still send."""
        if not self._core.end_sent and not self._core.is_closed:
            await self.send(end=True)

    def fail(self, text: str) -> None:
        """End with an error and drop everything."""
        self._core.fail(text)
        self.link.used(self._core)

    async def wait_closed(self) -> None:
        """Until both sides have ended and all is acknowledged, or the channel failed."""
        while not self._core.is_closed:
            await self._changed()

    def wake(self) -> None:
        """Wake waiting tasks: the core's state has changed."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _check(self) -> None:
        if self._core.failure is not None:
            raise ChannelError(self._core.failure)

    async def _changed(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter
