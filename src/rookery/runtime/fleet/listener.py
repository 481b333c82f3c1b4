"""A listening socket and the connections that it accepts, each served by a task of its own."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.net.address import BACKLOG, bound_socket
from rookery.runtime.tls.acceptor import AcceptCallbacks, ListenerTls, TlsAcceptor

CLOSE_S = 1.5  # for a peer to take the last bytes


class ListenerConnection(Protocol):
    """What the listener needs of a connection."""

    address: tuple[str, int]

    def abort(self) -> None:
        """End it now."""


AnyConnection = TypeVar("AnyConnection", bound=ListenerConnection)


class ConnectionListener(Generic[AnyConnection]):
    """Accepts connections within the limits of `ConnectionAdmission` and serves each of them."""

    def __init__(
        self,
        admission: ConnectionAdmission,
        serve: Callable[[AnyConnection], Awaitable[None]],
        dismiss: Callable[[AnyConnection], None],
    ) -> None:
        self._admission = admission
        self._serve = serve
        self._dismiss = dismiss
        self._loop = asyncio.get_running_loop()
        self._connections: set[AnyConnection] = set()
        self._serving: set[asyncio.Task[None]] = (
            set()
        )  # one may outlast its connection for a moment
        self._accepting: asyncio.Task[None] | None = None
        self._admitted: set[object] = set()  # connections that were counted before their handshake
        self._server: asyncio.Server | None = None

    async def listen(
        self,
        host: str,
        port: int,
        accept: Callable[[], asyncio.Protocol],
        secured: ListenerTls | None = None,
    ) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        ip, bound_port, *_ = sock.getsockname()
        if secured is None:
            self._server = await self._loop.create_server(accept, sock=sock, backlog=BACKLOG)
        else:
            self._listen_secured(sock, accept, secured)
        return ip, bound_port

    async def close(self) -> None:
        """Dismiss every connection, and give its last bytes a moment to leave."""
        if self._server is not None:
            self._server.close()
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
        for connection in list(self._connections):
            self._dismiss(connection)
        if self._serving:
            await asyncio.wait(self._serving, timeout=CLOSE_S)
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        for connection in list(self._connections):  # peers that did not take their last bytes
            connection.abort()

    def connected(self, connection: AnyConnection) -> None:
        """Called by a connection when it is made."""
        if connection in self._admitted:
            self._admitted.remove(connection)
        elif not self._admit(connection.address[0]):
            connection.abort()
            return
        self._connections.add(connection)
        task = self._loop.create_task(self._served(connection))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def lost(self, connection: AnyConnection) -> None:
        """Called by a connection when it is lost, admitted or not."""
        if connection in self._connections:
            self._connections.remove(connection)
            self._admission.let_go(connection.address[0])

    def _listen_secured(
        self, sock: socket.socket, accept: Callable[[], asyncio.Protocol], secured: ListenerTls
    ) -> None:
        def accepted() -> asyncio.Protocol:
            connection = accept()
            self._admitted.add(connection)
            return connection

        async def enter() -> None:
            with sock:
                await acceptor.run()

        callbacks = AcceptCallbacks(self._admit, accepted, self._failed)
        acceptor = TlsAcceptor(sock, secured, callbacks)
        self._accepting = self._loop.create_task(enter())

    def _admit(self, ip: str) -> bool:
        return self._admission.admit(ip, self._loop.time())

    def _failed(self, connection: object, ip: str) -> None:
        """A handshake failed; after one that succeeds, the connection calls `lost` itself."""
        if connection in self._admitted:
            self._admitted.remove(connection)
            self._admission.tally["no_tls"] += 1
            self._admission.let_go(ip)

    async def _served(self, connection: AnyConnection) -> None:
        await self._serve(connection)
