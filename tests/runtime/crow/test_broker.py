"""A broker on a tower with real sockets (C7, C8)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from rookery.crow.limits import BrokerLimits, ClientLimits
from rookery.errors import UsageError
from rookery.runtime.crow.broker import CrowBroker
from rookery.runtime.crow.gates.tcp_gate import CrowTcpGate
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.packet import LEGACY_PUBSUB
from rookery.wire.crow.pubsub import CONTROL_NODE, Subscribe
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import eventually
from tests.runtime.crow.towers import udp_tower


@asynccontextmanager
async def opened(limits: BrokerLimits | None = None) -> AsyncIterator[tuple[CrowBroker, bytes]]:
    async with CrowTower() as tower, CrowBroker(tower, limits) as broker:
        gate = await CrowUdpGate.bind(tower)
        tower.add_gate(gate)
        yield broker, gate.address


async def http(port: int, request: str, body: str = "") -> tuple[int, dict[str, object]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    answer = await reader.read()
    writer.close()
    head, _, content = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


async def test_a_message_of_the_process_itself_reaches_the_subscribers() -> None:
    async with (
        opened() as (broker, address),
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
        bob.subscribe(address, "weather") as messages,
    ):
        broker.publish("weather", b"rain")
        broker.publish(b"weather", b"sun")
        assert {(await messages.receive()).data for _ in range(2)} == {b"rain", b"sun"}
        with pytest.raises(UsageError):
            broker.publish("x" * 256, b"")


async def test_every_subscriber_gets_every_message() -> None:
    """None is lost at QoS 1 and 2, though all are published as fast as can be."""
    async with AsyncExitStack() as stack:
        _, address = await stack.enter_async_context(opened())
        await stack.enter_async_context(asyncio.timeout(PATIENCE_S))
        inboxes = []
        for number in range(10):
            tower, _ = await stack.enter_async_context(udp_tower())
            inboxes.append(
                await stack.enter_async_context(
                    tower.subscribe(address, "t", qos=1 + number % 2, ackquant_ms=600)
                )
            )
        publisher, _ = await stack.enter_async_context(udp_tower())
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(publisher.publish(address, "t", b"%d" % number, ackquant_ms=600))
        for inbox in inboxes:
            heard = {int((await inbox.receive()).data)}
            while len(heard) < 200:
                heard.add(int((await inbox.receive()).data))


async def test_clients_of_several_gates_meet() -> None:
    async with (
        CrowTower() as home,
        CrowBroker(home),
        CrowTower() as alice,
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
    ):
        udp, tcp = await CrowUdpGate.bind(home), CrowTcpGate(home)
        home.add_gate(udp)
        home.add_gate(tcp)
        await tcp.listen()
        alice.add_gate(CrowTcpGate(alice))
        async with alice.subscribe(tcp.address, "t") as messages:
            await bob.publish(udp.address, "t", b"from udp to tcp")
            assert (await messages.receive()).data == b"from udp to tcp"


async def test_packets_of_type_4_are_served() -> None:
    async with (
        opened() as (broker, address),
        udp_tower() as (old, _),
        asyncio.timeout(PATIENCE_S),
    ):
        subscribe = Subscribe(b"alpha", 1, 100).serialize_legacy()
        assert (await old.send(address, subscribe, kind=LEGACY_PUBSUB, qos=1)).is_delivered
        publish = Publish(b"alpha", b"hello").serialize_legacy()
        assert (await old.send(address, publish, kind=LEGACY_PUBSUB, qos=2)).is_delivered
        arrived = await old.receive()
        assert arrived.packet.type == LEGACY_PUBSUB
        assert arrived.packet.data == Consume(b"alpha", b"hello").serialize_legacy()
        assert len(broker.core.clients) == 1


async def test_commands_are_answered_at_the_control_node() -> None:
    async with (
        opened() as (_, address),
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
    ):
        assert await bob.request(address, CONTROL_NODE, b"theme-names") == b"crowker/control\n"


async def test_the_status_is_served_over_http() -> None:
    async with (
        opened() as (broker, address),
        udp_tower() as (bob, _),
        asyncio.timeout(PATIENCE_S),
        bob.subscribe(address, "t") as messages,
    ):
        port = await broker.serve_status()
        status, body = await http(port, "GET /api/clients")
        assert (status, body["count"]) == (200, 1)
        assert (await http(port, "POST /api/publish", '{"theme": "t", "data": "hi"}'))[0] == 200
        assert (await messages.receive()).data == b"hi"
        _, body = await http(port, "GET /api/themes/t")
        assert body["messages"] == ["hi"]


async def test_a_client_that_is_gone_is_forgotten() -> None:
    async with opened() as (broker, address), asyncio.timeout(PATIENCE_S):
        async with udp_tower() as (bob, _):
            subscription = bob.subscribe(address, "t", ackquant_ms=10)
            await subscription.__aenter__()
            assert len(broker.core.clients) == 1
        broker.publish("t", b"anybody?")
        await eventually(lambda: len(broker.core.clients) == 0)


async def test_limits_reach_the_core() -> None:
    limits = BrokerLimits(clients=ClientLimits(clients_max=1))
    async with (
        opened(limits) as (broker, address),
        udp_tower() as (alice, _),
        udp_tower() as (bob, _),
        alice.subscribe(address, "t"),
        bob.subscribe(address, "t"),
    ):
        assert len(broker.core.clients) == 1


async def test_a_closed_broker_leaves_the_tower_to_others() -> None:
    async with CrowTower() as tower:
        broker = CrowBroker(tower)
        with pytest.raises(UsageError):
            CrowBroker(tower)
        await broker.close()
        await broker.close()
        async with CrowBroker(tower) as other:
            gate = await CrowUdpGate.bind(tower)
            tower.add_gate(gate)
            data = Publish(b"t", b"x").serialize_legacy()
            async with udp_tower() as (bob, _):
                await bob.send(gate.address, data, kind=LEGACY_PUBSUB, qos=1)
            assert (broker.core.published, other.core.published) == (0, 1)
