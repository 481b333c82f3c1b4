"""The two directions of one `thtp` message: bytes out in packets, packets in as head and body."""

from collections.abc import AsyncIterator, Callable
from typing import Generic

from rookery.errors import ProtocolError
from rookery.link.channels.thtp import HeadT, ThtpParser
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.wire.link.lob import JsonObject

BODY_SIZE_MAX = 16 << 20  # of a body that is read as a whole


class ThtpMessage(Generic[HeadT]):
    """One message as it arrives."""

    def __init__(
        self, channel: ChannelInterface, parse: Callable[[JsonObject], HeadT], first: bytes = b""
    ) -> None:
        self.ended = False
        self._channel = channel
        self._parser = ThtpParser(parse)
        self._next = first

    async def head(self) -> HeadT:
        """The head; RemoteError when what comes is none."""
        self._next = self._parser.feed(self._next)
        while self._parser.head is None:
            message = await self._channel.receive()
            if message is None:
                self._parser.finish()
            else:
                self._next = self._parser.feed(message[1])
        return self._parser.head

    async def piece(self) -> bytes | None:
        """The next bytes of the body, None at its end."""
        if self._next:
            piece, self._next = self._next, b""
            return piece
        while not self.ended:
            message = await self._channel.receive()
            if message is None:
                self.ended = True
            elif message[1]:
                return message[1]
        return None

    async def pieces(self) -> AsyncIterator[bytes]:
        while (piece := await self.piece()) is not None:
            yield piece

    async def read(self, size_max: int) -> bytes:
        body = bytearray()
        async for piece in self.pieces():
            if len(body) + len(piece) > size_max:
                raise ProtocolError(f"the body exceeds {size_max} bytes")
            body += piece
        return bytes(body)
