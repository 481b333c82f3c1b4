"""A local listener whose connections go on through a connector."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import msgspec

from rookery.errors import LocalError, RookeryError, UsageError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.mesh.proxy.fault import ProxyFault, fault_of
from rookery.runtime.net.address import BACKLOG, bound_socket
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy
from rookery.runtime.proxy.splice import IdleLimits, splice
from rookery.runtime.proxy.tcp_stream import TcpStream
from rookery.runtime.tunnels.member_stream import READ_SIZE

LOOPBACK = "127.0.0.1"
CONNECTIONS_MAX = 1024
HANDSHAKE_S = 10.0  # for a client to say what it wants
LINGER_S = 1.0  # for a refused client to read the reason

ServeSocket = Callable[[TcpStream], Awaitable[None]]


class LocalListener:
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
        """Listen there; UsageError when that fails."""
        listener = cls(serve, connections_max)
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        listener._server = await listener._loop.create_server(
            lambda: TcpStream.accepting(listener._accepted), sock=sock, backlog=BACKLOG
        )
        return listener

    @property
    def address(self) -> SockAddress:
        assert self._server is not None
        ip, port = self._server.sockets[0].getsockname()[:2]
        return SockAddress(ip, port)

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

    def _accepted(self, stream: TcpStream) -> None:
        # A connection accepted just before the close may be reported after it.
        if self._is_closed or len(self._tasks) >= self._connections_max:
            stream.abort(ProxyFault.BUSY.code)
            return
        task = self._loop.create_task(self._run(stream))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, stream))

    def _finished(self, stream: TcpStream, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # perhaps before it began
            stream.abort(ProxyFault.GONE.code)

    async def _run(self, stream: TcpStream) -> None:
        try:
            await self._serve(stream)
        except (RookeryError, TimeoutError) as error:
            self.failed += 1
            if isinstance(error, RookeryError):
                self.last_error = error
            stream.abort(ProxyFault.GONE.code)
        except BaseException:
            stream.abort(ProxyFault.GONE.code)
            raise
        finally:
            await stream.close()


async def say_last(stream: TcpStream, data: bytes) -> None:
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


class ListenerContext(msgspec.Struct, frozen=True):
    """What all clients of one listener share."""

    connector: Connector
    proxy: Proxy
    credentials: ProxyCredentials | None
    idle: IdleLimits | None

    async def connect(
        self,
        stream: TcpStream,
        to: SockAddress,
        granted: bytes,
        refusal: Callable[[ProxyFault], bytes],
        early: bytes,
    ) -> None:
        """Connect the client, or refuse in its protocol; `early` is what it has already sent."""
        try:
            connection = await self.connector.tcp_connect(to.host, to.port, self.proxy)
        except LocalError as error:
            await say_last(stream, refusal(fault_of(error)))
            raise
        async with connection:
            await stream.write(granted)
            if early:
                await connection.write(early)
            await splice(stream, connection, self.idle)


ServeClient = Callable[[ListenerContext, TcpStream], Awaitable[None]]


async def client_listener(
    serve: ServeClient,
    connector: Connector,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    credentials: ProxyCredentials | None = None,
    connections_max: int = CONNECTIONS_MAX,
    idle: IdleLimits | None = None,
) -> LocalListener:
    """Listen for clients that `serve` understands; beyond this machine only with credentials."""
    _check_guarded(host, credentials)
    passage = ListenerContext(connector, proxy, credentials, idle)
    return await LocalListener.bind(partial(serve, passage), host, port, connections_max)


def _check_guarded(host: str, credentials: ProxyCredentials | None) -> None:
    """UsageError unless a listener that other machines can reach asks for credentials."""
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if credentials is None and not is_local:
        raise UsageError(f"a listener on {host} is open to others: it needs a user and a password")
