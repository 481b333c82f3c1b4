"""A socket as the stream of a session, over the two halves that asyncio makes of it."""

import asyncio
import socket
from typing import Self

from rookery.errors import ChannelError
from rookery.runtime.net.address import keep_alive

_HELD_MAX = 1 << 18  # bytes that are written and not yet the system's


class OutboxSocketStream:
    """It proves nobody's identity: use it where the network does, or below TLS."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=_HELD_MAX)
        sock = writer.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            keep_alive(sock)  # a peer whose power failed says nothing

    @classmethod
    async def connect(cls, host: str, port: int) -> Self:
        """OSError when nobody is there."""
        return cls(*await asyncio.open_connection(host, port))

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.read(size)
        except OSError as error:
            raise ChannelError(f"the connection is lost: {error}") from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, RuntimeError) as error:  # the latter is uvloop's
            raise ChannelError(f"the connection is lost: {error}") from error

    async def finish(self) -> None:
        try:
            self._writer.write_eof()
        except (OSError, RuntimeError) as error:
            raise ChannelError(f"the connection is lost: {error}") from error

    def abort(self, code: int) -> None:
        self._writer.transport.abort()
