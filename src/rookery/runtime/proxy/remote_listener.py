"""A TCP listener at an exit, for as long as we hold it."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError
from rookery.link.channels.sock import Address
from rookery.runtime.proxy.byte_stream import READ_SIZE, ByteStream
from rookery.runtime.proxy.connection import leave


class RemoteListener:
    """Connections that reach `address` over there are served here."""

    def __init__(
        self,
        stream: ByteStream,
        address: Address,
        exit_: str,
        expecting: AbstractContextManager[str],
    ) -> None:
        self.address = address
        self.exit = exit_
        self._stream = stream
        self._expecting: AbstractContextManager[str] | None = expecting

    async def wait_closed(self) -> None:
        """Until the exit stops listening, or is lost."""
        try:
            while await self._stream.read(READ_SIZE):
                pass
        except RookeryError:
            return

    async def close(self) -> None:
        """Listen no more; connections that came live on."""
        if self._expecting is not None:
            self._expecting.__exit__(None, None, None)
            self._expecting = None
            await leave(self._stream)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
