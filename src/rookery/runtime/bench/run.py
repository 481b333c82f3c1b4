"""A bench of the tunnel with one member: small messages alone, then beside bytes up and down."""

import asyncio
from collections.abc import Coroutine
from time import perf_counter

from rookery.errors import (
    ChannelError,
    CongestionError,
    DecodeError,
    DeniedError,
    UnreachableError,
)
from rookery.mesh.bench import (
    ANSWER_SIZE_MAX,
    SECONDS_MAX,
    BenchAction,
    BenchAnswer,
    BenchPathFigures,
    BenchRequest,
    figures_since,
    parse_paths,
    parse_received,
    quantile,
)
from rookery.mesh.services import BENCH
from rookery.runtime.bench.report import (
    BenchFlow,
    BenchLatency,
    BenchPath,
    BenchPhase,
    BenchProgress,
    BenchReport,
)
from rookery.runtime.bench.service import BLOCK_SIZE, GRACE_S, Figures
from rookery.runtime.node.members import NodeName
from rookery.runtime.tunnels.member_stream import MemberStream, Open, read_exactly

ANSWER_S = 10.0
IDLE_S = 1.0  # for small messages alone
PAUSE_S = 0.005  # between two of them
SMALL_SIZE = 64
STREAM_CODE = 0


class BenchRun:
    """One run; `progress` may be looked at meanwhile."""

    def __init__(self, open_stream: Open, figures: Figures, to: NodeName) -> None:
        self._open_stream = open_stream
        self._figures = figures
        self._to = to
        self._now = perf_counter  # that of a loop may count in milliseconds
        self._began_at = self._now()
        self._block = bytes(BLOCK_SIZE)
        self._phase = BenchPhase.IDLE
        self._size = 0

    @property
    def progress(self) -> BenchProgress:
        took_s = round(self._now() - self._began_at, 3)
        return BenchProgress(phase=self._phase, size_bytes=self._size, took_s=took_s)

    async def run(self, seconds: float, size: int) -> BenchReport:
        """For so long in each direction, or until so many bytes; RookeryError says why not."""
        self._begin(BenchPhase.IDLE)
        idle = await self._small(min(IDLE_S, seconds))
        self._begin(BenchPhase.UP)
        before = self._figures(self._to.hashname)
        arrived, took_s, latency = await self._with_probes(self._up(seconds, size), seconds)
        paths = figures_since(before, self._figures(self._to.hashname))
        up = _flow(arrived, took_s, latency, paths)
        before = await self._far_figures()
        self._begin(BenchPhase.DOWN)
        arrived, took_s, latency = await self._with_probes(self._down(seconds, size), seconds)
        paths = figures_since(before, await self._far_figures())
        down = _flow(arrived, took_s, latency, paths)
        return BenchReport(to=self._to, idle=_latency(idle), up=up, down=down)

    def _begin(self, phase: BenchPhase) -> None:
        self._phase, self._size, self._began_at = phase, 0, self._now()

    async def _request(self, request: BenchRequest) -> tuple[MemberStream, BenchAnswer]:
        stream = await self._open_stream(self._to.hashname, BENCH, request.meta())
        try:
            async with asyncio.timeout(ANSWER_S):
                return stream, BenchAnswer.parse(await read_exactly(stream, 1))
        except TimeoutError as error:
            stream.abort(STREAM_CODE)
            raise UnreachableError(f"{self._to} does not answer") from error

    async def _open(self, request: BenchRequest) -> MemberStream:
        """A stream that the other side has said yes to."""
        try:
            stream, answer = await self._request(request)
        except ChannelError:  # a tunnel with a member that has restarted ends with its first stream
            stream, answer = await self._request(request)
        match answer:
            case BenchAnswer.GO:
                return stream
            case BenchAnswer.BUSY:
                raise CongestionError(f"{self._to} is being measured already; try again later")
            case BenchAnswer.OFF:
                raise DeniedError(f"{self._to} takes part in no bench: its node has --no-bench")
            case BenchAnswer.INVALID:
                raise DecodeError(f"{self._to} does not understand what we want")

    # --- small messages ---

    async def _with_probes(
        self, bulk: Coroutine[object, object, tuple[int, float]], seconds: float
    ) -> tuple[int, float, list[float]]:
        """Bulk with small messages beside it, until the bulk is through."""
        loop = asyncio.get_running_loop()
        limit_s = min(seconds + GRACE_S, SECONDS_MAX)
        is_over = asyncio.Event()
        small = loop.create_task(self._small(limit_s, is_over))
        try:
            async with asyncio.timeout(seconds + 2 * GRACE_S):
                arrived, took_s = await bulk
                is_over.set()
                return arrived, took_s, await small
        except TimeoutError as error:
            raise UnreachableError(f"{self._to} has fallen silent") from error
        finally:
            small.cancel()
            await asyncio.gather(small, return_exceptions=True)

    async def _small(self, limit_s: float, is_over: asyncio.Event | None = None) -> list[float]:
        """Round trips in seconds, one after the other."""
        stream = await self._open(BenchRequest(BenchAction.ECHO, limit_s))
        trips: list[float] = []
        try:
            ends_at = self._now() + limit_s
            while self._now() < ends_at and not (is_over and is_over.is_set()):
                began = self._now()
                await stream.write(self._block[:SMALL_SIZE])
                await read_exactly(stream, SMALL_SIZE)
                trips.append(self._now() - began)
                await asyncio.sleep(PAUSE_S)
            await stream.finish()
            await _to_end(stream)
        except BaseException:
            stream.abort(STREAM_CODE)
            raise
        return trips

    # --- bulk ---

    async def _up(self, seconds: float, size: int) -> tuple[int, float]:
        stream = await self._open(BenchRequest(BenchAction.SINK, seconds, size))
        began, left = self._now(), size
        try:
            while left > 0 and self._now() < began + seconds:
                await stream.write(self._block[:left])
                left -= BLOCK_SIZE
                self._size = size - max(0, left)
            await stream.finish()
            received = parse_received(await _to_end(stream))
        except BaseException:
            stream.abort(STREAM_CODE)
            raise
        self._size = received.bytes
        return received.bytes, self._now() - began

    async def _down(self, seconds: float, size: int) -> tuple[int, float]:
        stream = await self._open(BenchRequest(BenchAction.SOURCE, seconds, size))
        began = self._now()
        try:
            while data := await stream.read(BLOCK_SIZE * 4):
                self._size += len(data)
            await stream.finish()
        except BaseException:
            stream.abort(STREAM_CODE)
            raise
        return self._size, self._now() - began

    async def _far_figures(self) -> tuple[BenchPathFigures, ...]:
        """How the other end uses its paths to us."""
        stream = await self._open(BenchRequest(BenchAction.PATHS))
        await stream.finish()
        return parse_paths(await _to_end(stream))


async def _to_end(stream: MemberStream) -> bytes:
    """A short answer."""
    data = b""
    while more := await stream.read(ANSWER_SIZE_MAX):
        data += more
        if len(data) > ANSWER_SIZE_MAX:
            raise DecodeError("an answer without end")
    return data


def _latency(trips: list[float]) -> BenchLatency:
    return BenchLatency(
        count=len(trips),
        p50_ms=_ms(quantile(trips, 0.5)),
        p99_ms=_ms(quantile(trips, 0.99)),
        max_ms=_ms(max(trips, default=None)),
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 3)


def _flow(
    size: int, took_s: float, trips: list[float], paths: tuple[BenchPathFigures, ...]
) -> BenchFlow:
    rows = tuple(
        BenchPath(
            path=path.path,
            sent_bytes=path.sent_bytes,
            lost_packets=path.lost_packets,
            rtt_ms=path.rtt_ms,
            rate_bytes_s=path.rate_bytes_s,
        )
        for path in paths
    )
    return BenchFlow(size_bytes=size, took_s=round(took_s, 6), latency=_latency(trips), paths=rows)
