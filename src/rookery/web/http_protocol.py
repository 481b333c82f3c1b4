"""HTTP/1.1 connections that must say what they want within some seconds, and some an address.

uvicorn waits for ever for a connection's first request; a crowd that connects and says nothing, or
a byte now and then, would take all its places.
"""

import asyncio
from collections import Counter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded_protocol(headers_s: float, each_max: int) -> type[H11Protocol]:
    """A class of connections for one server: seconds for the headers, connections an address."""
    inside: Counter[str] = Counter()

    class BoundedH11Protocol(H11Protocol):
        """Closes a connection that is one too many, or whose headers take too long."""

        _impatience: asyncio.TimerHandle | None = None
        _address = ""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            inside[self._address] += 1
            if inside[self._address] > each_max:
                transport.abort()
                return
            self._impatience = self.loop.call_later(headers_s, self._give_up)

        def data_received(self, data: bytes) -> None:
            # Between requests the base class's own keep-alive timer is at work until data comes.
            is_between = self.conn.their_state is h11.IDLE
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._calm()
            elif is_between and self._impatience is None and not self.transport.is_closing():
                self._impatience = self.loop.call_later(headers_s, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._calm()
            inside[self._address] -= 1
            if not inside[self._address]:
                del inside[self._address]
            super().connection_lost(exc)

        def _calm(self) -> None:
            if self._impatience is not None:
                self._impatience.cancel()
                self._impatience = None

        def _give_up(self) -> None:
            self._impatience = None
            if not self.transport.is_closing():
                self.transport.abort()

    return BoundedH11Protocol
