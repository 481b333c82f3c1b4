"""A listening socket and the visits that come of it, each with a task of its own."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from rookery.runtime.fleet.admission import ConnectionAdmission
from rookery.runtime.net.address import BACKLOG, bound_socket
from rookery.runtime.tls.acceptor import AcceptCallbacks, ListenerTls, TlsAcceptor

CLOSE_S = 1.5  # for a peer to take our last words


class ListenerConnection(Protocol):
    """A connection, as far as listening goes."""

    address: tuple[str, int]

    def abort(self) -> None:
        """End it now."""


AnyConnection = TypeVar("AnyConnection", bound=ListenerConnection)


class ConnectionListener(Generic[AnyConnection]):
    """Admits guests, has them served, and lets them go."""

    def __init__(
        self,
        guests: ConnectionAdmission,
        serve: Callable[[AnyConnection], Awaitable[None]],
        dismiss: Callable[[AnyConnection], None],
    ) -> None:
        self._guests = guests
        self._serve = serve
        self._dismiss = dismiss
        self._loop = asyncio.get_running_loop()
        self._lines: set[AnyConnection] = set()
        self._visits: set[asyncio.Task[None]] = set()  # a visit may outlast its line for a moment
        self._entrance: asyncio.Task[None] | None = None
        self._admitted: set[object] = set()  # lines that were counted before their handshake
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
        """Dismiss everybody; what they are told has a moment to leave."""
        if self._server is not None:
            self._server.close()
        if self._entrance is not None:
            self._entrance.cancel()
            await asyncio.gather(self._entrance, return_exceptions=True)
        for line in list(self._lines):
            self._dismiss(line)
        if self._visits:
            await asyncio.wait(self._visits, timeout=CLOSE_S)
        for visit in self._visits:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        for line in list(self._lines):  # those who do not take their last words
            line.abort()

    def connected(self, line: AnyConnection) -> None:
        """What a line says when it is there."""
        if line in self._admitted:
            self._admitted.remove(line)
        elif not self._admit(line.address[0]):
            line.abort()
            return
        self._lines.add(line)
        visit = self._loop.create_task(self._visit(line))
        self._visits.add(visit)
        visit.add_done_callback(self._visits.discard)

    def lost(self, line: AnyConnection) -> None:
        """What it says in the end, admitted or not."""
        if line in self._lines:
            self._lines.remove(line)
            self._guests.let_go(line.address[0])

    def _listen_secured(
        self, sock: socket.socket, accept: Callable[[], asyncio.Protocol], secured: ListenerTls
    ) -> None:
        def accepted() -> asyncio.Protocol:
            line = accept()
            self._admitted.add(line)
            return line

        async def enter() -> None:
            with sock:
                await entrance.run()

        book = AcceptCallbacks(self._admit, accepted, self._failed)
        entrance = TlsAcceptor(sock, secured, book)
        self._entrance = self._loop.create_task(enter())

    def _admit(self, ip: str) -> bool:
        return self._guests.admit(ip, self._loop.time())

    def _failed(self, line: object, ip: str) -> None:
        """A handshake came to nothing; once it is over, the line itself says when it is lost."""
        if line in self._admitted:
            self._admitted.remove(line)
            self._guests.tally["no_tls"] += 1
            self._guests.let_go(ip)

    async def _visit(self, line: AnyConnection) -> None:
        await self._serve(line)
