"""HTTP/1.1 connections that must say what they want within some seconds.

uvicorn waits for ever for a connection's first request; a crowd that connects and says nothing, or
a byte now and then, would take all its places.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PromptH11Protocol(H11Protocol):
    """Closes a connection whose headers take longer than `headers_s`."""

    headers_s = 10.0
    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._impatience = self.loop.call_later(self.headers_s, self._give_up)

    def data_received(self, data: bytes) -> None:
        # Between requests the base class's own keep-alive timer is at work until data comes.
        is_between = self.conn.their_state is h11.IDLE
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._calm()
        elif is_between and self._impatience is None and not self.transport.is_closing():
            self._impatience = self.loop.call_later(self.headers_s, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def _calm(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _give_up(self) -> None:
        self._impatience = None
        if not self.transport.is_closing():
            self.transport.abort()
