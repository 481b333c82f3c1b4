"""Streams over the control socket: a program's connection becomes a stream to a member's service.

    program ─ {"do":"stream",…} ─▶ node ─ tunnel ─▶ service
            ◀─ a `stream` row ───┘
            ◀═ bytes both ways ═▶

The program's files stay with the program: the node carries bytes, as it does for listeners.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rookery.errors import CongestionError
from rookery.runtime.bench.report import BenchProgress, BenchReport
from rookery.runtime.control.unix_socket import LocalStream
from rookery.runtime.node.members import NodeName
from rookery.runtime.proxy.splice import splice
from rookery.runtime.tunnels.member_stream import MemberStream, Open

if TYPE_CHECKING:
    from rookery.runtime.bench.service import Figures

STREAMS_MAX = 64
TELL_S = 0.5  # between two progress rows of a bench


class StreamOpener:
    """Opens streams of one node for programs of its machine."""

    def __init__(self, open_stream: Open, figures: "Figures") -> None:
        self._open = open_stream
        self._figures = figures
        self._count = 0

    @asynccontextmanager
    async def opened(
        self, hashname: str, service: str, meta: Mapping[str, object]
    ) -> AsyncIterator[MemberStream]:
        """A stream; aborted at the end of the block unless it has ended."""
        if self._count >= STREAMS_MAX:
            raise CongestionError(f"{STREAMS_MAX} programs have streams here already; end one")
        self._count += 1
        try:
            stream = await self._open(hashname, service, meta)
            try:
                yield stream
            except BaseException:
                stream.abort(0)
                raise
        finally:
            self._count -= 1

    async def bench(
        self, to: NodeName, seconds: float, size: int
    ) -> AsyncGenerator[BenchProgress | BenchReport]:
        """Progress rows, and in the end the report."""
        from rookery.runtime.bench.run import BenchRun  # takes memory, and is rarely asked for

        bench = BenchRun(self._open, self._figures, to)
        running = asyncio.get_running_loop().create_task(bench.run(seconds, size))
        try:
            while not running.done():
                await asyncio.wait([running], timeout=TELL_S)
                if not running.done():
                    yield bench.progress
            yield await running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def carry(
    stream: MemberStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Carry bytes in both directions until both have ended."""
    await splice(LocalStream(reader, writer), stream)
