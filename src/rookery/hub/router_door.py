"""The door for routers: TCP, sealed at once, and bounded against whoever means no good.

A connection must prove an identity within seconds and may say little; so many are open in all, so
many from one address, and each address may knock only so often, as every knock may cost an RSA
operation.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable

from rookery.errors import UnreachableError
from rookery.hub.settings import DoorLimits
from rookery.identity.identity import Identity
from rookery.link.admission import Bucket, Buckets
from rookery.runtime.gates.address import BACKLOG, bound_socket, origin
from rookery.runtime.sealed_line import LineLimits, SealedLine

Welcome = Callable[[SealedLine], Awaitable[None]]


class RouterDoor:
    """Hands each router that has proved who it is to `welcome`, and closes when that returns."""

    def __init__(self, identity: Identity, welcome: Welcome, limits: DoorLimits) -> None:
        self._identity = identity
        self._welcome = welcome
        self._limits = limits
        self._line_limits = LineLimits(
            received_bytes_max=limits.received_bytes_max, unsent_bytes_max=limits.unsent_bytes_max
        )
        self._loop = asyncio.get_running_loop()
        self._knocks = Buckets(limits.address_per_s, limits.address_burst)
        self._all_knocks = Bucket(limits.knocks_per_s, limits.knocks_burst, self._loop.time())
        self._visits: dict[SealedLine, asyncio.Task[None]] = {}
        self._origins: Counter[bytes] = Counter()
        self._server: asyncio.Server | None = None
        self.tally: Counter[str] = Counter()  # connections by what became of them

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        ip, bound_port, *_ = sock.getsockname()
        self._server = await self._loop.create_server(self._accepted, sock=sock, backlog=BACKLOG)
        return ip, bound_port

    @property
    def connections(self) -> int:
        return len(self._visits)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        visits = list(self._visits.items())
        for _, visit in visits:
            visit.cancel()
        await asyncio.gather(*(visit for _, visit in visits), return_exceptions=True)
        for line, _ in visits:
            await line.wait_closed()
        if self._server is not None:
            await self._server.wait_closed()

    # What lines report.

    def connected(self, line: SealedLine) -> None:
        if (refusal := self._refusal(line)) is not None:
            self.tally[refusal] += 1
            line.abort()
            return
        self._origins[origin(line.address[0])] += 1
        self._visits[line] = self._loop.create_task(self._attend(line))

    def lost(self, line: SealedLine) -> None:
        visit = self._visits.pop(line, None)
        if visit is None:
            return
        whence = origin(line.address[0])
        self._origins[whence] -= 1
        if not self._origins[whence]:
            del self._origins[whence]

    def _accepted(self) -> SealedLine:
        return SealedLine.accept(self._identity, self._line_limits, self)

    def _refusal(self, line: SealedLine) -> str | None:
        whence = origin(line.address[0])
        if len(self._visits) >= self._limits.connections_max:
            return "full"
        if self._origins[whence] >= self._limits.address_connections_max:
            return "address_full"
        if not self._knocks.take(whence, self._loop.time()):
            return "too_often"
        if not self._all_knocks.take(1.0, self._loop.time()):
            return "busy"
        return None

    async def _attend(self, line: SealedLine) -> None:
        try:
            async with asyncio.timeout(self._limits.authenticate_s):
                await line.authenticated()
        except (TimeoutError, UnreachableError) as error:
            self.tally["slow" if isinstance(error, TimeoutError) else "rubbish"] += 1
            line.abort()
            return
        self.tally["welcome"] += 1
        try:
            await self._welcome(line)
        finally:
            line.close()
