"""Streams and benches over the control socket: bytes both ways, refusals, bounds."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rookery.errors import CongestionError, DeniedError, RookeryError, UnreachableError, UsageError
from rookery.runtime.bench.report import BenchReport
from rookery.runtime.bench.service import BenchService
from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.control.server import CLIENTS_MAX, ControlServer
from rookery.runtime.control.streams import STREAMS_MAX, StreamOpener
from rookery.runtime.control.unix_socket import LocalStream
from rookery.runtime.node.members import Reachability
from rookery.runtime.node.snapshot import NodeStatus
from rookery.runtime.tunnels.member_stream import MemberStream, read_exactly
from tests.patience import PATIENCE_S
from tests.runtime.colony import BOB, Colony
from tests.runtime.proxy.town import MemoryStream, pair


class Members:
    """Everybody serves `upper`, which answers in capitals, and `bench`."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()
        self.opened: list[tuple[str, str, Mapping[str, object]]] = []
        self.streams: list[MemoryStream] = []
        self.bench = BenchService(lambda _: ())

    async def open(self, hashname: str, service: str, meta: Mapping[str, object]) -> MemberStream:
        near, far = pair("alice", hashname, meta)
        self.opened.append((hashname, service, meta))
        self.streams.append(near)
        task = asyncio.get_running_loop().create_task(self._serve(far, service))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return near

    async def _serve(self, far: MemoryStream, service: str) -> None:
        try:
            if service == "bench":
                await self.bench.handle(far)
            elif service == "upper":
                while data := await far.read(100):
                    await far.write(data.upper())
            await far.finish()
        except RookeryError:
            pass


@pytest.fixture
async def members() -> AsyncIterator[Members]:
    members = Members()
    yield members
    for task in members.tasks:
        task.cancel()
    await asyncio.gather(*members.tasks, return_exceptions=True)


@pytest.fixture
def colony() -> Colony:
    return Colony()


@pytest.fixture
async def path(members: Members, colony: Colony, tmp_path: Path) -> AsyncIterator[Path]:
    path = tmp_path / "control.sock"
    keeper = StreamOpener(members.open, lambda _: ())
    control = await ControlServer.bind(colony, path, streams=keeper)
    yield path
    await control.close()


async def everything(stream: LocalStream) -> bytes:
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while more := await stream.read(1 << 16):
            data += more
    return data


async def test_a_connection_becomes_a_stream_to_a_members_service(
    path: Path, members: Members
) -> None:
    async with connected(path) as control:
        stream, member = await control.stream("bob", "upper", {"colour": "blue"})
        assert member == BOB
        await stream.write(b"there and ")
        await stream.write(b"back")
        await stream.finish()
        assert await everything(stream) == b"THERE AND BACK"
    assert members.opened == [(BOB.hashname, "upper", {"colour": "blue"})]


async def test_much_goes_through_both_ways(path: Path) -> None:
    data = b"rooks " * 200_000

    async def pour(stream: LocalStream) -> None:
        await stream.write(data)
        await stream.finish()

    async with connected(path) as control, asyncio.TaskGroup() as tasks:
        stream, _ = await control.stream("bob", "upper", {})
        tasks.create_task(pour(stream))
        assert await everything(stream) == data.upper()


async def test_a_program_that_goes_ends_its_stream(path: Path, members: Members) -> None:
    async with connected(path) as control:
        stream, _ = await control.stream("bob", "upper", {})
        await stream.write(b"x")
        assert await read_exactly(stream, 1) == b"X"
    async with asyncio.timeout(PATIENCE_S):
        while members.tasks:
            await asyncio.wait(members.tasks)


async def test_a_stream_that_breaks_breaks_the_connection(path: Path, members: Members) -> None:
    async with connected(path) as control:
        stream, _ = await control.stream("bob", "upper", {})
        await stream.write(b"x")
        assert await read_exactly(stream, 1) == b"X"
        members.streams[0].abort(7)
        assert await everything(stream) == b""


@pytest.mark.parametrize("do", [ControlCommand.STREAM, ControlCommand.BENCH])
async def test_nobody_and_whom_nothing_leads_to_is_said_at_once(
    path: Path, colony: Colony, do: ControlCommand
) -> None:
    request = ControlRequest(do=do, node="nobody", service="upper")
    async with connected(path) as control:
        with pytest.raises(UsageError, match="no other member"):
            async for _ in control.bench(request, patience_s=1.0):
                pass
    (lost,) = [row.node for row in colony.members() if row.reach is Reachability.NONE][:1]
    async with connected(path) as control:
        request = ControlRequest(do=do, node=lost.hashname, service="upper")
        with pytest.raises(UnreachableError, match="no way"):
            async for _ in control.bench(request, patience_s=1.0):
                pass


async def test_a_bench_tells_how_far_it_got_and_reports(path: Path) -> None:
    request = ControlRequest(do=ControlCommand.BENCH, node="bob", seconds=0.1, bytes=100_000)
    async with connected(path) as control:
        rows = [row async for row in control.bench(request, patience_s=PATIENCE_S)]
    report = rows[-1]
    assert isinstance(report, BenchReport)
    assert (report.to, report.up.size_bytes, report.down.size_bytes) == (BOB, 100_000, 100_000)


async def test_streams_do_not_count_as_control_clients(path: Path) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(CLIENTS_MAX):
            control = await stack.enter_async_context(connected(path))
            await control.stream("bob", "upper", {})
        control = await stack.enter_async_context(connected(path))
        assert isinstance(
            await control.one(ControlRequest(do=ControlCommand.STATUS), NodeStatus), NodeStatus
        )


async def test_streams_are_bounded(members: Members) -> None:
    keeper = StreamOpener(members.open, lambda _: ())
    opened = [keeper.opened("b", "upper", {}) for _ in range(STREAMS_MAX)]
    for one in opened:
        await one.__aenter__()
    with pytest.raises(CongestionError):
        await keeper.opened("b", "upper", {}).__aenter__()
    for one in opened:
        await one.__aexit__(None, None, None)
    async with keeper.opened("b", "upper", {}):
        pass


async def test_a_node_without_streams_says_so(colony: Colony, tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    control = await ControlServer.bind(colony, path)
    try:
        async with connected(path) as client:
            with pytest.raises(DeniedError, match="no streams"):
                await client.stream("bob", "upper", {})
    finally:
        await control.close()
