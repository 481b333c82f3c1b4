"""A crow broker behind a gate whose sources can be forged, told anything in any order (M6).

    | source | wait | flags | number | size | data |  one packet after the other
    |   1    |  1   |   1   |   2    |  1   | size |

Whatever it is told, an address that proved nothing gets at most three times what came from there.
"""

import random
from collections import Counter
from collections.abc import Iterator

from rookery.crow.events import CrowTransmit
from rookery.crow.limits import AddressValidationLimits, TowerLimits
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.crow.tower.address_validation import AMPLIFICATION_MAX
from rookery.crow.tower.tower import Tower
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import ACK22, HEADER_SIZE, NODE, CrowPacket
from rookery.wire.crow.pubsub import BROKER_NODE

GATE = 12
SOURCES = 4
HEAD_SIZE = 6
# All have room: an address that had to be forgotten may be asked twice more.
LIMITS = AddressValidationLimits(addresses_max=SOURCES, held_per_address_max=4000, held_max=6000)
TICKS = 32  # after the last packet

_KIND, _ACK, _QOS, _NODE = 0x07, 0x08, 0x30, 0x40
_WAIT_S = 0.05


class Stage:
    """The broker, with something to tell, and how much came from and went to each address."""

    def __init__(self) -> None:
        self.now = 0.0
        chance = random.Random(7).randbytes
        self.tower = Tower(random=chance, limits=TowerLimits(address_validation=LIMITS))
        self.tower.gates.add(GATE)
        self.tower.guard(GATE)
        self.nodes = Nodes(self.tower)
        self.node = BrokerNode(self.nodes, Broker(self.now))
        self.came: Counter[bytes] = Counter()
        self.went: Counter[bytes] = Counter()
        for _ in range(8):
            self.node.publish(b"t", b"x" * 1000, self.now)
        self.settle()

    def hear(self, source: int, packet: CrowPacket) -> None:
        address = bytes([GATE, 192, 0, 2, source % SOURCES, 0, 9])
        self.came[address] += _size(packet)
        self.tower.received(packet, address[::-1], self.now)
        self.settle()

    def wait(self, until: float) -> None:
        self.now = max(self.now, until)
        self.nodes.tick(self.now)
        self.settle()

    def settle(self) -> None:
        while events := self.nodes.take(self.now):
            for event in events:
                if isinstance(event, CrowTransmit):
                    self.went[event.packet.address] += _size(event.packet)
                else:
                    self.node.handle(event, self.now)
        for address, size in self.went.items():
            assert size <= AMPLIFICATION_MAX * self.came[address], (size, self.came[address])
        assert self.tower.held_size <= LIMITS.held_max
        assert self.tower.addresses_met <= 2 * LIMITS.addresses_max


def run(data: bytes) -> None:
    stage = Stage()
    for source, wait, packet in _packets(data):
        stage.wait(stage.now + wait * _WAIT_S)
        stage.hear(source, packet)
    for _ in range(TICKS):
        if (deadline := stage.nodes.deadline) is not None:
            stage.wait(deadline)


def step(source: int, body: bytes, flags: int = _NODE) -> bytes:
    """One packet to the broker, as `run` reads it."""
    return bytes([source, 1, flags, 5, 0, len(body)]) + body


def _packets(data: bytes) -> Iterator[tuple[int, int, CrowPacket]]:
    while len(data) >= HEAD_SIZE:
        source, wait, flags, *number, size = data[:HEAD_SIZE]
        body, data = data[HEAD_SIZE : HEAD_SIZE + size], data[HEAD_SIZE + size :]
        kind, is_ack = flags & _KIND, bool(flags & _ACK)
        if flags & _NODE:
            kind, is_ack, body = NODE, False, NodePacket(98, BROKER_NODE, body).serialize()
        if is_ack and kind == ACK22:
            continue  # which proves that somebody is there
        here = bytes([GATE, 127, 0, 0, 1, 0, 1])
        seqid = int.from_bytes(bytes(number), "little")
        yield source, wait, CrowPacket(kind, is_ack, here, 0, seqid, (flags & _QOS) >> 4, 100, body)


def _size(packet: CrowPacket) -> int:
    return HEADER_SIZE + len(packet.address) + len(packet.data)
