"""A broker on UDP floods nobody who did not ask (M6), and serves all who did; real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from rookery.runtime.crow.broker import CrowBroker
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import NODE, CrowPacket
from rookery.wire.crow.pubsub import BROKER_NODE, SubscribeLatest
from tests.patience import PATIENCE_S
from tests.runtime.crow.recorder import eventually
from tests.runtime.crow.towers import udp_tower

REMEMBERED = [b"%03d " % number + b"x" * 1000 for number in range(200)]


@pytest.fixture
async def serving() -> AsyncIterator[tuple[CrowTower, bytes]]:
    """A tower whose broker remembers 200 kB, and a hop to it."""
    async with CrowTower() as tower, CrowBroker(tower) as broker:
        gate = await CrowUdpGate.bind(tower)
        tower.add_gate(gate)
        for message in REMEMBERED:
            broker.publish("t", message)
        yield tower, gate.address


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_a_mute_asker_gets_three_times_its_bytes(
    qos: int, serving: tuple[CrowTower, bytes]
) -> None:
    """The victim of a forged source has no tower: what reaches it is what a forger gains."""
    tower, hop = serving
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as victim:
        victim.bind(("127.0.0.1", 0))
        victim.setblocking(False)
        body = SubscribeLatest(b"t", qos, 100, 1000).serialize()
        data = NodePacket(7, BROKER_NODE, body).serialize()
        asked = CrowPacket(NODE, False, hop, 0, 1, 0, 100, data).serialize()
        victim.sendto(asked, ("127.0.0.1", int.from_bytes(hop[5:7], "big")))
        await eventually(lambda: tower.dropped.get("unproven", 0) > 0)  # after five seconds
        got = 0
        while True:
            try:
                got += len(victim.recv(1 << 16))
            except BlockingIOError:
                break
    assert 0 < got <= 3 * len(asked)


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_a_validated_address_gets_everything(
    qos: int, serving: tuple[CrowTower, bytes]
) -> None:
    _, hop = serving
    async with (
        udp_tower() as (ann, _),
        asyncio.timeout(PATIENCE_S),
        ann.subscribe(hop, "t", qos=qos, latest=100) as messages,
    ):
        heard = {(await messages.receive()).data for _ in range(100)}
    assert heard == set(REMEMBERED[100:])
