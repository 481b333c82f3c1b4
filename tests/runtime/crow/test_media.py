"""Towers over several media in a row: UDP, TCP, serial lines and links (C1, C2, C3, C7)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.runtime.crow.gates.mesh_gate import CrowMeshGate, hop
from rookery.runtime.crow.gates.serial_gate import CrowSerialGate
from rookery.runtime.crow.gates.tcp_gate import CrowTcpGate
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from tests.patience import PATIENCE_S
from tests.runtime.crow.pty_line import NullModem
from tests.runtime.crow.recorder import eventually
from tests.runtime.endpoint_pair import EndpointPair

SERIAL = b"\x2a"
COUNT = 10_000
SENDERS = 24  # at once, fewer than the window of one address


@asynccontextmanager
async def chain(
    modem: NullModem,
) -> AsyncIterator[tuple[CrowTower, CrowTower, bytes, CrowSerialGate]]:
    """sender ─UDP─ gateway ─TCP─ gateway ─serial─ device.

    With the sender's way to the device, and the gate that has the line's near end.
    """
    async with (
        CrowTower() as sender,
        CrowTower(forwards=True) as first,
        CrowTower(forwards=True) as second,
        CrowTower() as device,
    ):
        sender.add_gate(await CrowUdpGate.bind(sender))
        udp = await CrowUdpGate.bind(first)
        first.add_gate(udp)
        first.add_gate(CrowTcpGate(first))
        tcp = CrowTcpGate(second)
        await tcp.listen()
        second.add_gate(tcp)
        line = CrowSerialGate(second, str(modem.left.path))
        second.add_gate(line)
        device.add_gate(CrowSerialGate(device, str(modem.right.path), gate_id=42))
        yield sender, device, udp.address + tcp.address + SERIAL, line


async def answer_each(device: CrowTower, seen: Counter[bytes]) -> None:
    """Send every message back the way it came, with the same promise."""
    async with asyncio.TaskGroup() as group:
        async for arrived in device:
            seen[arrived.packet.data] += 1
            back = device.send(arrived.return_address, arrived.packet.data, qos=2)
            group.create_task(back)


@pytest.mark.slow
async def test_ten_thousand_messages_there_and_back_exactly_once(tmp_path: Path) -> None:
    """C3 over C2: UDP, then TCP, then a serial line, and back again with quality 2."""
    modem = NullModem(tmp_path)
    there: Counter[bytes] = Counter()
    back: Counter[bytes] = Counter()
    numbers = iter(range(COUNT))
    undelivered: list[str] = []

    async def send_some(sender: CrowTower, route: bytes) -> None:
        for number in numbers:
            outcome = await sender.send(route, b"%d" % number, qos=2, ackquant_ms=500)
            if not outcome.is_delivered:
                undelivered.append(outcome.reason)

    async def count(sender: CrowTower) -> None:
        async for arrived in sender:
            back[arrived.packet.data] += 1

    async with chain(modem) as (sender, device, route, _), asyncio.timeout(PATIENCE_S):
        loop = asyncio.get_running_loop()
        readers = [
            loop.create_task(answer_each(device, there)),
            loop.create_task(count(sender)),
        ]
        async with asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(send_some(sender, route))
        await eventually(lambda: len(back) == COUNT)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    modem.close()
    assert undelivered == []
    assert len(there) == len(back) == COUNT
    assert set(there.values()) == set(back.values()) == {1}


async def test_a_line_that_is_unplugged_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    """C3: the repeats of quality 2 bridge what the line could not carry."""
    modem = NullModem(tmp_path)
    async with chain(modem) as (sender, device, route, line):
        assert (await sender.send(route, b"before", qos=2)).is_delivered
        modem.left.close()
        sending = asyncio.get_running_loop().create_task(
            sender.send(route, b"meanwhile", qos=2, ackquant_ms=400)
        )
        await eventually(lambda: line.counters.dropped["unreachable"] > 0)
        modem.left.plug()
        modem.join()
        assert (await sending).is_delivered
        await device.close()
        assert [arrived.packet.data async for arrived in device] == [b"before", b"meanwhile"]
    modem.close()


async def test_a_device_on_a_line_publishes_to_a_subscriber_across_the_mesh(
    tmp_path: Path,
) -> None:
    """C7 over C2 and T2: a serial device behind a gateway behind a link, to whoever subscribed."""
    modem = NullModem(tmp_path)
    async with (
        EndpointPair() as pair,
        CrowTower() as device,
        CrowTower(forwards=True) as gateway,
        CrowTower() as home,
        CrowTower() as reader,
    ):
        device.add_gate(CrowSerialGate(device, str(modem.left.path)))
        gateway.add_gate(CrowSerialGate(gateway, str(modem.right.path)))
        gateway.add_gate(CrowMeshGate(gateway, pair.alice.endpoint))
        home.add_gate(CrowMeshGate(home, pair.bob))
        udp = await CrowUdpGate.bind(home)
        home.add_gate(udp)
        reader.add_gate(await CrowUdpGate.bind(reader))
        broker = BrokerNode(home.nodes, Broker(home.now()))
        home.add_handler(broker.handle)
        to_broker = SERIAL + hop(pair.bob.hashname)
        async with reader.subscribe(udp.address, "sensors/#", qos=2) as messages:
            for number in range(100):
                outcome = await device.publish(
                    to_broker, "sensors/door", b"%d" % number, qos=2, ackquant_ms=100
                )
                assert outcome.is_delivered
            async with asyncio.timeout(PATIENCE_S):
                heard = [int((await messages.receive()).data) for _ in range(100)]
        assert sorted(heard) == list(range(100))
    modem.close()
