"""Keeps a session with one peer open while one is needed.

The lower hashname dials. The higher one, when it has something to send, knocks if the streams allow
that; otherwise the lower one dials all the time.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

from rookery.errors import RookeryError
from rookery.outbox.peer import OutboxPeer
from rookery.runtime.net.byte_stream import ByteStream

PAUSE_S_MIN = 0.05
PAUSE_S_MAX = 60.0
DIAL_S_MAX = 30.0

Dial = Callable[[str], Awaitable[ByteStream]]  # the hashname
Knock = Callable[[str], Awaitable[None]]
Converse = Callable[[OutboxPeer, ByteStream], Awaitable[None]]


class SessionKeeper:
    """One task, started when first needed; it ends with `close`."""

    def __init__(
        self, peer: OutboxPeer, dial: Dial | None, knock: Knock | None, converse: Converse
    ) -> None:
        self._peer = peer
        self._dial = dial
        self._knock = knock
        self._converse = converse
        self._is_requested = dial is not None and knock is None  # no knock will tell
        self._is_eager = self._is_requested
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.last_error = ""
        if self._is_eager:
            self.want()

    def want(self, *, is_requested: bool = False) -> None:
        """Something is to be sent, or the other side says that it has something."""
        self._is_requested |= is_requested
        self._wanted.set()
        if self._task is None and (self._dial is not None or self._knock is not None):
            self._task = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = PAUSE_S_MIN
        while not self._is_closed:
            await self._wanted.wait()
            self._wanted.clear()
            while self._is_needed:
                sessions = self._peer.sessions
                try:
                    await self._try()
                except (RookeryError, OSError, TimeoutError) as error:
                    self.last_error = str(error) or type(error).__name__
                is_met = self._peer.sessions > sessions
                pause_s = PAUSE_S_MIN if is_met else min(pause_s * 2, PAUSE_S_MAX)
                # Many peers may have lost the same relay: spread their return.
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311

    @property
    def _is_needed(self) -> bool:
        peer = self._peer
        if self._is_closed or peer.session is not None:
            return False
        return self._is_requested or self._is_eager or peer.count > 0

    async def _try(self) -> None:
        if self._dial is None:
            assert self._knock is not None
            await self._knock(self._peer.host)
            return
        async with asyncio.timeout(DIAL_S_MAX):
            stream = await self._dial(self._peer.host)
        self._is_requested = False
        await self._converse(self._peer, stream)
