"""A door: a local listener whose connections go on through a connector."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

from rookery.errors import RookeryError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.fault import Fault
from rookery.runtime.gates.address import BACKLOG, bound_socket
from rookery.runtime.proxy.byte_stream import READ_SIZE
from rookery.runtime.proxy.socket_stream import SocketStream

LOOPBACK = "127.0.0.1"
CONNECTIONS_MAX = 1024
HANDSHAKE_S = 10.0  # for a client to say what it wants
LINGER_S = 1.0  # for one that was refused to hear it

ServeSocket = Callable[[SocketStream], Awaitable[None]]


class Door:
    """Made by `bind`; a connection too many is reset."""

    def __init__(self, serve: ServeSocket, connections_max: int) -> None:
        self.failed = 0
        self.last_error: RookeryError | None = None
        self._serve = serve
        self._connections_max = connections_max
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._is_closed = False

    @classmethod
    async def bind(
        cls,
        serve: ServeSocket,
        host: str = LOOPBACK,
        port: int = 0,
        connections_max: int = CONNECTIONS_MAX,
    ) -> Self:
        """Listen there; UsageError when that cannot be."""
        door = cls(serve, connections_max)
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        door._server = await door._loop.create_server(
            lambda: SocketStream.accepting(door._accepted), sock=sock, backlog=BACKLOG
        )
        return door

    @property
    def address(self) -> Address:
        assert self._server is not None
        ip, port = self._server.sockets[0].getsockname()[:2]
        return Address(ip, port)

    @property
    def connections(self) -> int:
        return len(self._tasks)

    async def close(self) -> None:
        """Stop listening and break off what is still carried."""
        assert self._server is not None
        self._is_closed = True
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _accepted(self, stream: SocketStream) -> None:
        # One that was let in just before the end may come up after it.
        if self._is_closed or len(self._tasks) >= self._connections_max:
            stream.abort(Fault.BUSY.code)
            return
        task = self._loop.create_task(self._run(stream))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, stream))

    def _finished(self, stream: SocketStream, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # perhaps before it began
            stream.abort(Fault.GONE.code)

    async def _run(self, stream: SocketStream) -> None:
        try:
            await self._serve(stream)
        except (RookeryError, TimeoutError) as error:
            self.failed += 1
            if isinstance(error, RookeryError):
                self.last_error = error
            stream.abort(Fault.GONE.code)
        except BaseException:
            stream.abort(Fault.GONE.code)
            raise
        finally:
            await stream.close()


async def say_last(stream: SocketStream, data: bytes) -> None:
    """Write, and see that the client can read it before the connection goes.

    What it still sends is read and dropped: closing with bytes unread would be a reset, which
    takes away what we said.
    """
    if data:
        await stream.write(data)
    await stream.finish()
    with suppress(RookeryError, TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await stream.read(READ_SIZE):
                pass
    await stream.close()
