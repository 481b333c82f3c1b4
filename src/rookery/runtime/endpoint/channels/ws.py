"""WebSockets over a link: a path to connect to, then messages both ways."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

from rookery.errors import ChannelError, ProtocolError, RookeryError
from rookery.link.channels.ws import (
    TYPE,
    UNKNOWN_PATH,
    WsReassembler,
    acceptance,
    check_acceptance,
    opening,
    path_of,
    pieces,
)
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    ChannelOpener,
    Handler,
    failure_text,
    linger,
    send_message,
)


class WebSocket:
    """Messages both ways on an accepted channel; text travels as UTF-8."""

    def __init__(self, channel: ChannelInterface, path: str) -> None:
        self.path = path
        self._channel = channel
        self._reassembler = WsReassembler()
        self._sending = asyncio.Lock()

    @property
    def hashname(self) -> str:
        """Who is at the other end."""
        return self._channel.link.hashname

    async def send(self, message: bytes | str) -> None:
        """Send one message; waits while the channel is full."""
        data = message.encode() if isinstance(message, str) else message
        async with self._sending:
            await send_message(self._channel, pieces(data, self._channel.fragment_size))

    async def receive(self) -> bytes | None:
        """The next message, None once the peer closed."""
        while (packet := await self._channel.receive()) is not None:
            try:
                message = self._reassembler.feed(*packet)
            except RookeryError as error:
                self._channel.fail(str(error))
                raise
            if message is not None:
                return message
        self._reassembler.finish()
        return None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[bytes]:
        while (message := await self.receive()) is not None:
            yield message

    async def close(self) -> None:
        """End our side, and wait until the peer does too."""
        async with self._sending:
            await self._channel.end()
        await linger(self._channel)

    def abort(self, text: str = "aborted") -> None:
        """Give up at once; the peer is told why."""
        self._channel.fail(text)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort(failure_text(error))
            return
        await self.close()


async def connect(link: ChannelOpener, path: str = "/") -> WebSocket:
    """A WebSocket to `path` at the other end; ChannelError when it does not accept."""
    channel = link.open(TYPE, opening(path))
    accepted = False
    try:
        answer = await channel.receive()
        if answer is None:
            raise ChannelError("the peer ended without accepting")
        check_acceptance(answer[0])
        accepted = True
    finally:
        if not accepted:
            channel.fail("not accepted")
    return WebSocket(channel, path)


def serve_ws(routes: Mapping[str, Callable[[WebSocket], Awaitable[None]]]) -> Handler:
    """A channel handler that accepts the paths in `routes` and closes each socket afterwards."""

    async def handle(channel: ChannelInterface) -> None:
        path = path_of(channel.opening[0])
        serve = routes.get(path.partition("?")[0])
        if serve is None:
            raise ProtocolError(UNKNOWN_PATH)
        await channel.send(acceptance())
        async with WebSocket(channel, path) as socket:
            await serve(socket)

    return handle
