"""HTTP/1.1 connections with deadlines, and a bound on connections per address.

uvicorn waits forever for a connection's first request, for the rest of a body after its answer, and
for a client that does not read: idle or slow connections (slowloris) would take all its places.
"""

import asyncio
from collections import Counter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded_protocol(request_s: float, each_max: int, refusals: Counter[str]) -> type[H11Protocol]:
    """A class of connections for one server: seconds for a request, connections an address."""
    inside: Counter[str] = Counter()

    class BoundedH11Protocol(H11Protocol):
        """Closes one too many, one whose request takes too long, one that takes no answer."""

        _impatience: asyncio.TimerHandle | None = None  # with what it says
        _stalled: asyncio.TimerHandle | None = None  # with what it takes
        _address = ""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._address = self.client[0] if self.client else ""
            inside[self._address] += 1
            if inside[self._address] > each_max:
                refusals["address_full"] += 1
                transport.abort()
                return
            self._impatience = self.loop.call_later(request_s, self._give_up)

        def data_received(self, data: bytes) -> None:
            # Between requests the base class's own keep-alive timer is at work until data comes.
            is_between = self.conn.their_state is h11.IDLE
            super().data_received(data)
            # Answered or not: the base class listens to a body that never ends for ever.
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._calm()
            elif is_between and self._impatience is None and not self.transport.is_closing():
                self._impatience = self.loop.call_later(request_s, self._give_up)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self.loop.call_later(request_s, self._give_up)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._stalled is not None:
                self._stalled.cancel()

        def timeout_keep_alive_handler(self) -> None:
            super().timeout_keep_alive_handler()
            # Which waits until the peer has taken everything.
            self._stalled = self.loop.call_later(request_s, self._give_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._calm()
            if self._stalled is not None:
                self._stalled.cancel()
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
            refusals["slow"] += 1
            self.transport.abort()

    return BoundedH11Protocol
