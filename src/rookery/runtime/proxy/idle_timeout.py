"""Idle: a timeout that is moved on as long as something moves.

Told of every read and write, so it is compiled where it can be.
"""

import asyncio
from typing import Final

_STEPS: Final = 8  # an idle limit is kept to within this part of it, for less work with each read


class IdleTimeout:
    """Moves a timeout on as long as something moves."""

    def __init__(self, timeout: asyncio.Timeout, limit_s: float) -> None:
        self._timeout = timeout
        self._limit_s = limit_s
        self._loop = asyncio.get_running_loop()
        self._next_at = 0.0

    def moved(self) -> None:
        now = self._loop.time()
        if now >= self._next_at:
            self._timeout.reschedule(now + self._limit_s)
            self._next_at = now + self._limit_s / _STEPS

    def shorten(self, limit_s: float) -> None:
        self._limit_s = min(limit_s, self._limit_s)
        self._next_at = 0.0
        self.moved()
