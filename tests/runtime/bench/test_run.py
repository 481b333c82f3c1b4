"""A bench between two members in memory: what it reports, whom it refuses, what it bounds."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from rookery.errors import ChannelError, CongestionError, DecodeError, DeniedError
from rookery.mesh.bench import ECHO_BYTES_MAX, BenchAnswer, BenchPathFigures
from rookery.mesh.services import BENCH
from rookery.runtime.bench import service as service_module
from rookery.runtime.bench.report import BenchPhase
from rookery.runtime.bench.run import BenchRun
from rookery.runtime.bench.service import BenchService
from rookery.runtime.node.members import NodeName
from rookery.runtime.tunnels.member_stream import MemberStream, read_exactly
from rookery.wire.link.lob import JsonObject
from tests.patience import PATIENCE_S
from tests.runtime.proxy.town import ALICE, BOB, CAROL, MemoryStream, pair

TO = NodeName(BOB, "bob")
SIZE = 300_000


class Far:
    """Bob, who is measured; a way of his counts what he was asked for."""

    def __init__(self) -> None:
        self.sent = 0
        self.service = BenchService(self.figures)
        self.tasks: set[asyncio.Task[None]] = set()

    def figures(self, hashname: str) -> tuple[BenchPathFigures, ...]:
        self.sent += 1000
        return (BenchPathFigures(f"to {hashname[:4]}", self.sent, 0, 1.5, 1e6),)

    def stream(self, meta: Mapping[str, object], who: str = ALICE) -> MemoryStream:
        near, far = pair(who, BOB, meta)
        task = asyncio.get_running_loop().create_task(self._serve(far))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return near

    async def open(self, hashname: str, service: str, meta: Mapping[str, object]) -> MemberStream:
        assert (hashname, service) == (BOB, BENCH)
        return self.stream(meta)

    async def _serve(self, far: MemoryStream) -> None:
        try:
            await self.service.handle(far)
            await far.finish()
        except ChannelError:
            pass
        except BaseException:
            far.abort(2)
            raise


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    far = Far()
    yield far
    for task in far.tasks:
        task.cancel()
    await asyncio.gather(*far.tasks, return_exceptions=True)


def run_of(far: Far) -> BenchRun:
    return BenchRun(far.open, lambda _: (BenchPathFigures("near", 7, 0, 1.0, 1.0),), TO)


async def test_a_run_reports_both_directions_and_the_senders_paths(far: Far) -> None:
    async with asyncio.timeout(PATIENCE_S):
        report = await run_of(far).run(0.2, SIZE)
    assert report.to == TO
    assert (report.up.size_bytes, report.down.size_bytes) == (SIZE, SIZE)
    assert report.up.rate_bytes_s > 0
    for latency in (report.idle, report.up.latency, report.down.latency):
        if latency.count:
            assert latency.p50_ms is not None
            assert latency.p99_ms is not None
            assert 0 < latency.p50_ms <= latency.p99_ms
    assert report.idle.count
    assert [(path.path, path.sent_bytes) for path in report.up.paths] == [("near", 0)]
    assert [(path.path, path.sent_bytes) for path in report.down.paths] == [
        (f"to {ALICE[:4]}", 1000)
    ]


async def test_time_ends_a_run_that_bytes_do_not(far: Far) -> None:
    run = run_of(far)
    async with asyncio.timeout(PATIENCE_S):
        report = await run.run(0.1, 1 << 34)
    assert 0 < report.down.size_bytes < 1 << 34
    assert report.up.took_s >= 0.1
    assert run.progress.phase is BenchPhase.DOWN
    assert run.progress.size_bytes == report.down.size_bytes


async def test_one_run_at_a_time_for_each_member(far: Far) -> None:
    stream = far.stream({"do": "sink"})
    assert await read_exactly(stream, 1) == BenchAnswer.GO.byte
    assert await read_exactly(far.stream({"do": "source"}), 1) == BenchAnswer.BUSY.byte
    assert await read_exactly(far.stream({"do": "sink"}, CAROL), 1) == BenchAnswer.GO.byte
    with pytest.raises(CongestionError, match="measured already"):
        await run_of(far).run(0.1, SIZE)
    await stream.finish()
    assert b"0" in await stream.read(100)
    assert await stream.read(100) == b""
    assert await read_exactly(far.stream({"do": "sink"}), 1) == BenchAnswer.GO.byte


async def test_runs_of_all_members_are_bounded(far: Far) -> None:
    for number in range(service_module.RUNS_MAX):
        stream = far.stream({"do": "sink"}, chr(ord("a") + number) * 52)
        assert await read_exactly(stream, 1) == BenchAnswer.GO.byte
    assert await read_exactly(far.stream({"do": "sink"}), 1) == BenchAnswer.BUSY.byte


async def test_a_node_may_take_no_part(far: Far) -> None:
    far.service = BenchService(far.figures, is_on=False)
    with pytest.raises(DeniedError, match="no-bench"):
        await run_of(far).run(0.1, SIZE)


@pytest.mark.parametrize("meta", [{}, {"do": "sink", "seconds": 1e9}, {"do": "what"}])
async def test_what_is_beyond_the_limits_is_refused(far: Far, meta: JsonObject) -> None:
    assert await read_exactly(far.stream(meta), 1) == BenchAnswer.INVALID.byte


async def test_more_bytes_than_said_are_cut_off(far: Far) -> None:
    stream = far.stream({"do": "sink", "bytes": 10})
    await stream.write(b"x" * 11)
    with pytest.raises(ChannelError):
        await read_exactly(stream, 100)
    await settled(far)


async def test_an_echo_is_for_small_messages(far: Far) -> None:
    stream = far.stream({"do": "echo"})
    await read_exactly(stream, 1)
    block = bytes(1 << 15)
    for _ in range(ECHO_BYTES_MAX // len(block)):
        await stream.write(block)
        await read_exactly(stream, len(block))
    await stream.write(b"x")
    with pytest.raises(ChannelError):
        await read_exactly(stream, 1)
    await settled(far)


async def test_a_member_that_stops_is_cut_off(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "GRACE_S", 0.1)
    stream = far.stream({"do": "sink", "seconds": 0.05})
    await read_exactly(stream, 1)
    with pytest.raises(ChannelError):
        await stream.read(1)
    await settled(far)


async def test_an_answer_that_makes_no_sense_is_refused(far: Far) -> None:
    async def strange(hashname: str, service: str, meta: Mapping[str, object]) -> MemberStream:
        near, far_end = pair(ALICE, BOB, meta)
        await far_end.write(b"\x2a")
        return near

    with pytest.raises(DecodeError):
        await BenchRun(strange, lambda _: (), TO).run(0.1, SIZE)


async def settled(far: Far) -> None:
    """What the service raises is for its caller, who is us."""
    await asyncio.gather(*far.tasks, return_exceptions=True)
