"""What programs say at a listener, byte by byte."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

from rookery.link.channels.sock import SockAddress
from tests.patience import PATIENCE_S


class Client:
    """A plain TCP client of a listener."""

    def __init__(self, listener: SockAddress) -> None:
        self._listener = listener
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(
            self._listener.host, self._listener.port
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()

    @property
    def port(self) -> int:
        port: int = self.writer.get_extra_info("sockname")[1]
        return port

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def exactly(self, size: int) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def ask(self, data: bytes) -> bytes:
        """Say all of it, and hear all of the answer."""
        self.send(data)
        self.writer.write_eof()
        return await self.rest()
