"""Towers on real loopback sockets, closed at the end of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.tower import CrowTower


@asynccontextmanager
async def udp_tower(*, forwards: bool = False) -> AsyncIterator[tuple[CrowTower, bytes]]:
    """A tower and a hop to it."""
    async with CrowTower(forwards=forwards) as tower:
        gate = await CrowUdpGate.bind(tower)
        tower.add_gate(gate)
        yield tower, gate.address


@asynccontextmanager
async def broker_tower(port: int = 0) -> AsyncIterator[tuple[CrowTower, bytes]]:
    """A tower with a broker and a hop to it."""
    async with CrowTower() as tower:
        gate = await CrowUdpGate.bind(tower, port=port)
        tower.add_gate(gate)
        home = BrokerNode(tower.nodes, Broker(tower.now()))
        tower.add_handler(home.handle)
        yield tower, gate.address
