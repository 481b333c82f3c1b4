"""The pump of a tower: when the core is woken, and when reading comes first."""

import asyncio
import os

from rookery.crow.events import NodeRefused, Notice
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import NodeMessage, Ticket
from rookery.crow.tower.tower import Tower
from rookery.runtime.crow.pump import POSTED_MAX, POSTPONED_MAX, CrowPump
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import NODE, CrowPacket
from tests.patience import PATIENCE_S


class Bench:
    """A pump whose one gate keeps what it is given, on a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[CrowPacket] = []
        self.told: list[Notice] = []
        self.repeated = asyncio.Event()
        tower = Tower(random=os.urandom)
        tower.gates.add(12)
        self.nodes = Nodes(tower)
        self.pump = CrowPump(self.nodes, lambda: self.now, {12: self._send}, self.told.extend)

    def _send(self, packets: list[CrowPacket]) -> None:
        self.sent += packets
        if len(self.sent) > 1:
            self.repeated.set()

    async def turns(self, count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)


async def test_nothing_is_repeated_while_there_is_more_to_read() -> None:
    """C3: the acknowledgement may be in it. But nobody can hold the clock up for ever."""
    bench = Bench()
    bench.nodes.tower.send(b"\x0cthere", b"", 0.0, qos=1, ackquant_ms=0)
    bench.pump.is_behind = True
    bench.now = 1.0
    bench.pump.run()
    await bench.turns(POSTPONED_MAX // 4)
    assert len(bench.sent) == 1
    async with asyncio.timeout(PATIENCE_S):
        await bench.repeated.wait()
    bench.pump.close()


async def test_what_is_due_is_repeated_when_all_is_read() -> None:
    bench = Bench()
    bench.nodes.tower.send(b"\x0cthere", b"", 0.0, qos=1, ackquant_ms=0)
    bench.now = 1.0
    bench.pump.run()
    async with asyncio.timeout(PATIENCE_S):
        await bench.repeated.wait()
    bench.pump.close()


async def test_a_sender_is_answered_before_the_node_is_told() -> None:
    """C3: what a node does with a message is not what its sender waits for."""
    bench = Bench()
    resident = Resident(bench)
    bench.nodes.register(5, resident)
    data = NodePacket(7, 5, b"hello").serialize()
    packet = CrowPacket(NODE, False, b"\x0cthis1", 0, 9, 1, 100, data)
    bench.nodes.tower.received(packet, b"2ereh\x0c", 0.0)
    bench.pump.run()
    assert resident.told_after == [1]
    assert [each.is_ack for each in bench.sent] == [True]
    bench.pump.close()


class Resident:
    """Remembers how much had been sent when it was told."""

    def __init__(self, bench: Bench) -> None:
        self.told_after: list[int] = []
        self._bench = bench

    def received(self, message: NodeMessage, now: float) -> None:
        self.told_after.append(len(self._bench.sent))

    def refused(self, refusal: NodeRefused, now: float) -> None: ...

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None: ...


async def test_what_is_posted_in_one_turn_leaves_together() -> None:
    bench = Bench()
    for _ in range(POSTED_MAX - 1):
        bench.nodes.tower.send(b"\x0cthere", b"", 0.0)
        bench.pump.soon()
    assert bench.sent == []
    await bench.turns(1)
    assert len(bench.sent) == POSTED_MAX - 1
    bench.pump.close()


async def test_only_so_much_waits_for_the_end_of_the_turn() -> None:
    bench = Bench()
    for _ in range(2 * POSTED_MAX + 1):
        bench.nodes.tower.send(b"\x0cthere", b"", 0.0)
        bench.pump.soon()
    assert len(bench.sent) == 2 * POSTED_MAX
    await bench.turns(1)
    assert len(bench.sent) == 2 * POSTED_MAX + 1
    bench.pump.close()
