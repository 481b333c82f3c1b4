"""The service `bench`: takes, gives or sends back bytes for members, within limits.

The first byte of each answer says whether it does; see docs/protocol/bench.md.
"""

import asyncio
import os
from collections.abc import Callable

from rookery.errors import CongestionError, DecodeError, ProtocolError
from rookery.mesh.bench import (
    ECHO_BYTES_MAX,
    BenchAction,
    BenchAnswer,
    BenchPathFigures,
    BenchPathsAnswer,
    BenchReceived,
    BenchRequest,
    serialize_answer,
)
from rookery.runtime.tunnels.member_stream import MemberStream
from rookery.runtime.tunnels.quota import MemberQuota

BLOCK_SIZE = 1 << 16
RUNS_MAX = 4  # of all members together
GRACE_S = 10.0  # for what is still under way when the time is over

Figures = Callable[[str], tuple[BenchPathFigures, ...]]  # of the tunnel with a member


class BenchService:
    """`is_on`: else everybody hears that it is off."""

    def __init__(self, figures: Figures, *, is_on: bool = True) -> None:
        self._figures = figures
        self._is_on = is_on
        self._bulk = MemberQuota(1, RUNS_MAX)
        self._small = MemberQuota(1, RUNS_MAX)
        self._block = os.urandom(BLOCK_SIZE)  # so that nothing on the way can make it smaller

    async def handle(self, stream: MemberStream) -> None:
        """Serve one stream that a member opened, to its end."""
        if not self._is_on:
            await stream.write(BenchAnswer.OFF.byte)
            return
        try:
            request = BenchRequest.parse(stream.meta)
            seats = (
                self._bulk if request.do in (BenchAction.SINK, BenchAction.SOURCE) else self._small
            )
            with seats.take(stream.peer):
                await self._within(request.seconds + GRACE_S, stream, request)
        except DecodeError:
            await stream.write(BenchAnswer.INVALID.byte)
        except CongestionError:
            await stream.write(BenchAnswer.BUSY.byte)

    async def _within(self, limit_s: float, stream: MemberStream, request: BenchRequest) -> None:
        try:
            async with asyncio.timeout(limit_s):
                await stream.write(BenchAnswer.GO.byte)
                await self._serve(stream, request)
        except TimeoutError as error:
            raise ProtocolError("the time is over") from error

    async def _serve(self, stream: MemberStream, request: BenchRequest) -> None:
        match request.do:
            case BenchAction.SINK:
                await _sink(stream, request.bytes)
            case BenchAction.SOURCE:
                await self._source(stream, request)
            case BenchAction.ECHO:
                await _echo(stream)
            case BenchAction.PATHS:
                await stream.write(serialize_answer(BenchPathsAnswer(self._figures(stream.peer))))

    async def _source(self, stream: MemberStream, request: BenchRequest) -> None:
        now, left = asyncio.get_running_loop().time, request.bytes
        ends_at = now() + request.seconds
        while left > 0 and now() < ends_at:
            await stream.write(self._block[:left])
            left -= BLOCK_SIZE


async def _sink(stream: MemberStream, size_max: int) -> None:
    size = 0
    while data := await stream.read(BLOCK_SIZE * 4):
        size += len(data)
        if size > size_max:
            raise ProtocolError("more bytes than it said")
    await stream.write(serialize_answer(BenchReceived(size)))


async def _echo(stream: MemberStream) -> None:
    size = 0
    while data := await stream.read(BLOCK_SIZE):
        size += len(data)
        if size > ECHO_BYTES_MAX:
            raise ProtocolError("an echo is for small messages")
        await stream.write(data)
