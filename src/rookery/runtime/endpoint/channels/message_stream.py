"""Whole messages over a channel that speaks `stream`'s pieces: binary, JSON or packets."""

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError
from rookery.link.channels.stream import Content, StreamReassembler, pieces
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    failure_text,
    linger,
    send_message,
)


class MessageStream:
    """Messages both ways, for any channel type whose packets are cut like a stream's."""

    def __init__(self, channel: ChannelInterface) -> None:
        self._channel = channel
        self._reassembler = StreamReassembler()
        self._sending = asyncio.Lock()

    @property
    def hashname(self) -> str:
        """Who is at the other end."""
        return self._channel.link.hashname

    async def send(self, content: Content) -> None:
        """Send one message; waits while the channel is full."""
        async with self._sending:
            await send_message(self._channel, pieces(content, self._channel.fragment_size))

    async def receive(self) -> Content | None:
        """The next message, None once the peer ended."""
        while (message := await self._channel.receive()) is not None:
            try:
                content = self._reassembler.feed(*message)
            except RookeryError as error:
                self._channel.fail(str(error))
                raise
            if content is not None:
                return content
        self._reassembler.finish()
        return None

    def __aiter__(self) -> AsyncIterator[Content]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Content]:
        while (content := await self.receive()) is not None:
            yield content

    async def end(self) -> None:
        """No more messages from us; the peer may go on."""
        async with self._sending:
            await self._channel.end()

    async def close(self) -> None:
        """End, and wait until the peer does too."""
        await self.end()
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
