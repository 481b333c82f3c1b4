"""Crow towers that die and come back in the middle of a stream: processes and sockets (C1, C3)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from subprocess import PIPE

import pytest

from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.outcome import DeliveryStatus, MessageOutcome
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.link.lob import JsonObject
from tests.cli.program import PROGRAM
from tests.patience import PATIENCE_S
from tests.ports import free_port

ENOUGH = 300  # delivered messages, before and after
WORKERS = 8


class Station:
    """`rookery crow tower`, and what it has printed so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[JsonObject] = []

    async def line(self) -> JsonObject:
        assert self._process.stdout is not None
        line: JsonObject = json.loads(await self._process.stdout.readline())
        self.lines.append(line)
        return line

    async def read(self) -> None:
        """Until it has said that it is closed."""
        while (await self.line())["event"] != "closed":
            continue

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()


@asynccontextmanager
async def station(*options: str) -> AsyncIterator[tuple[Station, str]]:
    """A tower in a process of its own, and the address that leads to it."""
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM), "crow", "tower", *options, stdout=PIPE
    )
    try:
        started = Station(process)
        first = await started.line()
        yield started, str(first["udp"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Stream:
    """Numbers on their way, several at a time, and what became of each."""

    def __init__(self, tower: CrowTower, route: str) -> None:
        self.delivered: set[int] = set()
        self.undelivered: set[int] = set()
        self._changed = asyncio.Event()
        self._tower = tower
        self._route = route
        self._next = 0

    async def run(self) -> None:
        while True:
            number = self._next
            self._next += 1
            outcome = await self._tower.send(self._route, b"%d" % number, qos=2, ackquant_ms=20)
            self._note(number, outcome)

    async def until(self, *, delivered: int = 0, undelivered: int = 0) -> None:
        while len(self.delivered) < delivered or len(self.undelivered) < undelivered:
            self._changed.clear()
            await self._changed.wait()

    def _note(self, number: int, outcome: MessageOutcome) -> None:
        is_lost = outcome.status is DeliveryStatus.UNDELIVERED
        (self.undelivered if is_lost else self.delivered).add(number)
        self._changed.set()


@pytest.mark.slow
async def test_a_tower_that_is_killed_on_the_way_loses_nothing_silently() -> None:
    """C3: each message arrives once or is told to be undelivered, whenever the tower died."""
    port = str(free_port())
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(PATIENCE_S))
        end, end_address = await stack.enter_async_context(station("--udp", "0"))
        reading = asyncio.get_running_loop().create_task(end.read())
        tower = await stack.enter_async_context(CrowTower())
        tower.add_gate(await CrowUdpGate.bind(tower))
        stream = Stream(tower, f".12.127.0.0.1:{port}{end_address}")
        async with station("--udp", port, "--forward") as (between, _):
            sending = [asyncio.get_running_loop().create_task(stream.run()) for _ in range(WORKERS)]
            await stream.until(delivered=ENOUGH)
            between.kill()
            await stream.until(undelivered=WORKERS)
        await stack.enter_async_context(station("--udp", port, "--forward"))
        await stream.until(delivered=len(stream.delivered) + ENOUGH)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        end.terminate()
        await reading
    arrived = [int(str(line["data"])) for line in end.lines if line["event"] == "packet"]
    assert len(arrived) == len(set(arrived))
    assert stream.delivered <= set(arrived)


async def test_a_sender_goes_on_when_the_tower_at_the_end_is_back() -> None:
    """C3: a tower that has just started knows nobody, and is known at its old address."""
    port = str(free_port())
    async with CrowTower() as tower, asyncio.timeout(PATIENCE_S):
        tower.add_gate(await CrowUdpGate.bind(tower))
        for number in (b"1", b"2"):
            async with station("--udp", port) as (end, address):
                assert (await tower.send(address, number, qos=2)).is_delivered
                assert (await end.line())["data"] == number.decode()
                end.kill()
            lost = await tower.send(address, b"meanwhile", qos=2, ackquant_ms=20)
            assert lost.reason == "no acknowledgement"
