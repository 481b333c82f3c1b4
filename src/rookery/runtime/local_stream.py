"""A connection within this machine as a byte stream."""

import asyncio
from collections.abc import Mapping

from rookery.errors import ChannelError

_NO_META: dict[str, object] = {}


class LocalStream:
    """Over the two halves that asyncio makes of a socket; whoever made those closes them."""

    peer = ""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.read(size)
        except OSError as error:
            raise ChannelError("it was broken off") from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise ChannelError("it was broken off") from error

    async def finish(self) -> None:
        if not self._writer.is_closing():
            try:
                self._writer.write_eof()
            except OSError as error:
                raise ChannelError("it was broken off") from error

    def abort(self, code: int) -> None:
        """Drop everything; the other end finds less than it was promised."""
        self._writer.transport.abort()
