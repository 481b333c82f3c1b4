"""The door for routers: TCP, sealed at once. Who proves its name in time may say a little."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from rookery.errors import UnreachableError
from rookery.hub.settings import DoorLimits
from rookery.identity.identity import Identity
from rookery.runtime.guests import Guests
from rookery.runtime.listener import Listener
from rookery.runtime.sealed_line import LineLimits, SealedLine

Welcome = Callable[[SealedLine], Awaitable[None]]


class RouterDoor:
    """Hands each router that has proved who it is to `welcome`, and closes when that returns."""

    def __init__(self, identity: Identity, welcome: Welcome, limits: DoorLimits) -> None:
        self._identity = identity
        self._welcome = welcome
        self._authenticate_s = limits.authenticate_s
        self._line_limits = LineLimits(
            received_bytes_max=limits.received_bytes_max, unsent_bytes_max=limits.unsent_bytes_max
        )
        self._guests = Guests(limits, asyncio.get_running_loop().time())
        self._listener = Listener(self._guests, self._attend, SealedLine.close)

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections on the address returned; UsageError if that cannot be."""
        return await self._listener.listen(host, port, self._accepted)

    def expect(self, address: str, seconds: float) -> None:
        """Somebody who was called, or whom we know, comes from this `ip` or `ip:port`."""
        ip = address.rpartition(":")[0].strip("[]") if ":" in address else address
        self._guests.expect(ip, seconds, asyncio.get_running_loop().time())

    @property
    def connections(self) -> int:
        return self._guests.count

    @property
    def tally(self) -> Counter[str]:
        """Connections by what became of them."""
        return self._guests.tally

    async def close(self) -> None:
        await self._listener.close()

    def _accepted(self) -> SealedLine:
        return SealedLine.accept(self._identity, self._line_limits, self._listener)

    async def _attend(self, line: SealedLine) -> None:
        try:
            async with asyncio.timeout(self._authenticate_s):
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
