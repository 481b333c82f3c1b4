"""A listening socket and the visits that come of it, each with a task of its own."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from rookery.runtime.gates.address import BACKLOG, bound_socket
from rookery.runtime.guests import Guests

CLOSE_S = 1.5  # for a peer to take our last words


class Line(Protocol):
    """A connection, as far as listening goes."""

    address: tuple[str, int]

    def abort(self) -> None:
        """End it now."""


AnyLine = TypeVar("AnyLine", bound=Line)


class Listener(Generic[AnyLine]):
    """Admits guests, has them served, and lets them go."""

    def __init__(
        self,
        guests: Guests,
        serve: Callable[[AnyLine], Awaitable[None]],
        dismiss: Callable[[AnyLine], None],
    ) -> None:
        self._guests = guests
        self._serve = serve
        self._dismiss = dismiss
        self._loop = asyncio.get_running_loop()
        self._lines: set[AnyLine] = set()
        self._visits: set[asyncio.Task[None]] = set()  # a visit may outlast its line for a moment
        self._server: asyncio.Server | None = None

    async def listen(
        self, host: str, port: int, accept: Callable[[], asyncio.Protocol]
    ) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        ip, bound_port, *_ = sock.getsockname()
        self._server = await self._loop.create_server(accept, sock=sock, backlog=BACKLOG)
        return ip, bound_port

    async def close(self) -> None:
        """Dismiss everybody; what they are told has a moment to leave."""
        if self._server is not None:
            self._server.close()
        for line in list(self._lines):
            self._dismiss(line)
        if self._visits:
            await asyncio.wait(self._visits, timeout=CLOSE_S)
        for visit in self._visits:
            visit.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)
        for line in list(self._lines):  # those who do not take their last words
            line.abort()

    def connected(self, line: AnyLine) -> None:
        """What a line says when it is there."""
        if not self._guests.admit(line.address[0], self._loop.time()):
            line.abort()
            return
        self._lines.add(line)
        visit = self._loop.create_task(self._visit(line))
        self._visits.add(visit)
        visit.add_done_callback(self._visits.discard)

    def lost(self, line: AnyLine) -> None:
        """What it says in the end, admitted or not."""
        if line in self._lines:
            self._lines.remove(line)
            self._guests.let_go(line.address[0])

    async def _visit(self, line: AnyLine) -> None:
        await self._serve(line)
