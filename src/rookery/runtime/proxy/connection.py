"""A connection to a host or a line: the same object whether it was made here or by an exit."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rookery.errors import RookeryError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.fault import ProxyFault
from rookery.runtime.tunnels.member_stream import READ_SIZE, MemberStream, TunnelledStream

CLOSE_S = 5.0  # for the other side to end, too


class Closable(TunnelledStream, Protocol):
    """A stream over a descriptor of our own."""

    async def close(self) -> None: ...


class ProxyConnection:
    """A byte stream that knows the address it `reached`, and its `exit` (None: directly)."""

    def __init__(
        self,
        stream: TunnelledStream,
        reached: SockAddress | None = None,
        exit_: str | None = None,
        owned: Closable | None = None,
    ) -> None:
        self.reached = reached
        self.exit = exit_
        self._stream = stream
        self._owned = owned

    @property
    def meta(self) -> Mapping[str, object]:
        return self._stream.meta

    @property
    def peer(self) -> str:
        return self._stream.peer

    @property
    def is_stalled(self) -> bool:
        return self._stream.is_stalled

    @property
    def stream(self) -> TunnelledStream:
        """What carries the bytes."""
        return self._stream

    async def read(self, size: int = READ_SIZE) -> bytes:
        return await self._stream.read(size)

    async def write(self, data: bytes) -> None:
        await self._stream.write(data)

    async def finish(self) -> None:
        await self._stream.finish()

    def abort(self, code: int = ProxyFault.GONE.code) -> None:
        self._stream.abort(code)

    async def close(self) -> None:
        """Close; written data still arrives if the other side ends soon, too."""
        if self._owned is not None:
            await self._owned.close()
        else:
            await leave(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.close()
        else:
            self.abort()


async def leave(stream: MemberStream) -> None:
    """End a stream in order if the other side does so soon, else break it off."""
    try:
        async with asyncio.timeout(CLOSE_S):
            await stream.finish()
            while await stream.read(READ_SIZE):
                pass
    except TimeoutError:
        stream.abort(ProxyFault.GONE.code)
    except RookeryError:
        return  # already lost
    except BaseException:
        stream.abort(ProxyFault.GONE.code)
        raise
