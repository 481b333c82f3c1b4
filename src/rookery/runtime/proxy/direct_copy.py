"""Copies bytes from one stream into another, within the call that brings them.

    source calls: there is more ──┐
                                  ├──▶ take ──▶ put ──▶ until the source is dry or the sink is full
    sink calls: there is room ────┘

A task in between would cost every message two turns of the loop.
"""

import asyncio
from collections.abc import Callable

from rookery.errors import RookeryError
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.runtime.tunnels.member_stream import READ_SIZE, NonblockingStream


class DirectCopy:
    """One direction; calls `moved` whenever bytes pass."""

    def __init__(
        self, source: NonblockingStream, sink: NonblockingStream, moved: Callable[[], None]
    ) -> None:
        self._source = source
        self._sink = sink
        self._moved = moved
        self._rest: Chunk = b""  # taken, but not accepted by the sink yet
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def source_ended(self) -> None:
        """Move everything up to the end; RookeryError when either side fails."""
        self._source.when_readable(self._move)
        self._sink.when_writable(self._move)
        try:
            self._move()
            await self._ended
        finally:
            self._source.when_readable(None)
            self._sink.when_writable(None)

    def _move(self) -> None:
        if self._ended.done():
            return
        try:
            if self._pass_on():
                self._ended.set_result(None)
        except RookeryError as error:
            self._ended.set_exception(error)

    def _pass_on(self) -> bool:
        """True if the source has ended and everything is written."""
        while True:
            if self._rest:
                taken = self._sink.put(self._rest)
                if taken:
                    self._moved()
                if taken < len(self._rest):
                    self._rest = memoryview(self._rest)[taken:]
                    return False
            data = self._source.take(READ_SIZE)
            if not data:
                self._rest = b""
                return data is not None
            self._rest = data
