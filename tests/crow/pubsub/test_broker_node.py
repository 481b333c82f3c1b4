"""The broker in a tower (C7, C8), and its clients around it in a lossy world."""

from itertools import count

import pytest

from rookery.crow.events import CrowTransmit, Event, MessageUndelivered
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import Ticket
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.crow.tower.tower import Tower
from rookery.errors import UsageError
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import ACK, LEGACY_PUBSUB, NODE, CrowPacket
from rookery.wire.crow.pubsub import BEAM_NODE, BROKER_NODE, CONTROL_NODE, Subscribe

GATE = 12
HERE = bytes([GATE, 127, 0, 0, 1, 0x27, 0x19])
ALICE = bytes([GATE, 127, 0, 0, 1, 0x1B, 0xE5])
BOB = bytes([GATE, 127, 0, 0, 1, 0x1B, 0xE6])
THEME = b"alpha"
SUBSCRIBE = Subscribe(THEME, 1, 100)


class Tabletop:
    """One tower with a broker; the rest of the world is this test."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tower = Tower(random=bytes)
        self.tower.gates.add(GATE)
        self.nodes = Nodes(self.tower)
        self.node = BrokerNode(self.nodes, Broker(self.now))
        self._seqids = count()

    def hears(
        self,
        source: bytes,
        data: bytes,
        *,
        kind: int = NODE,
        qos: int = 0,
        ackquant_ms: int = 100,
    ) -> list[CrowPacket]:
        """What the broker's tower sends when it gets this, acknowledgements left out."""
        packet = CrowPacket(kind, False, HERE, 0, next(self._seqids), qos, ackquant_ms, data)
        self.tower.received(packet, source[::-1], self.now)
        return self.settle()

    def says(self, source: bytes, body: bytes, *, rid: int = BROKER_NODE) -> list[CrowPacket]:
        return self.hears(source, NodePacket(98, rid, body).serialize(), qos=1)

    def acknowledge(self, packet: CrowPacket) -> None:
        ack = CrowPacket(ACK, True, HERE, 0, packet.seqid, 0, 100, b"")
        self.tower.received(ack, packet.address[::-1], self.now)
        self.settle()

    def passes(self, seconds: float) -> list[CrowPacket]:
        end, sent = self.now + seconds, []
        while (deadline := self.nodes.deadline) is not None and deadline <= end:
            self.now = deadline
            self.nodes.tick(self.now)
            sent += self.settle()
        self.now = end
        return sent

    def settle(self) -> list[CrowPacket]:
        sent: list[CrowPacket] = []
        events: list[Event] = [MessageUndelivered(Ticket(0), "of somebody else")]
        while events:
            for event in events:
                if isinstance(event, CrowTransmit):
                    sent.append(event.packet)
                else:
                    foreign = isinstance(event, MessageUndelivered) and event.ticket == 0
                    assert self.node.handle(event, self.now) is not foreign
            events = self.nodes.take(self.now)
        return [packet for packet in sent if not packet.is_ack]

    @property
    def clients(self) -> int:
        return len(self.node.broker.clients)


@pytest.fixture
def table() -> Tabletop:
    return Tabletop()


def test_a_message_leaves_for_the_node_that_subscribed(table: Tabletop) -> None:
    assert table.says(ALICE, SUBSCRIBE.serialize()) == []
    (packet,) = table.says(BOB, Publish(THEME, b"msg").serialize())
    expected = NodePacket(BROKER_NODE, 98, Consume(THEME, b"msg").serialize())
    assert (packet.address, packet.type, packet.qos, packet.ackquant_ms) == (ALICE, NODE, 1, 100)
    assert NodePacket.parse(packet.data) == expected


def test_messages_without_acknowledgement_share_their_bytes(table: Tabletop) -> None:
    for source in (ALICE, BOB):
        table.says(source, Subscribe(THEME, 0, 100).serialize())
    first, second = table.says(BOB, Publish(THEME, b"msg").serialize())
    assert (first.address, second.address) == (ALICE, BOB)
    assert first.data is second.data
    other = table.hears(ALICE, NodePacket(97, BROKER_NODE, SUBSCRIBE.serialize()).serialize())
    assert other == []
    packets = table.says(BOB, Publish(THEME, b"other").serialize())
    body = Consume(THEME, b"other").serialize()
    assert [NodePacket.parse(packet.data).rid for packet in packets] == [98, 98, 97]
    assert {NodePacket.parse(packet.data).data for packet in packets} == {body}


def test_a_large_message_leaves_in_chunks(table: Tabletop) -> None:
    table.says(ALICE, Subscribe(THEME, 0, 100).serialize())
    packets = table.says(BOB, Publish(THEME, bytes(1300)).serialize())
    chunks = [NodePacket.parse(packet.data) for packet in packets]
    assert [(chunk.chunk_id, len(chunk.data)) for chunk in chunks] == [(0, 993), (1, 316)]


def test_an_acknowledged_client_stays(table: Tabletop) -> None:
    table.says(ALICE, SUBSCRIBE.serialize())
    (packet,) = table.says(BOB, Publish(THEME, b"msg").serialize())
    table.acknowledge(packet)
    assert table.passes(60) == []
    assert table.clients == 1


def test_a_client_that_does_not_acknowledge_is_removed(table: Tabletop) -> None:
    table.says(ALICE, SUBSCRIBE.serialize())
    (packet,) = table.says(BOB, Publish(THEME, b"msg").serialize())
    assert table.passes(0.9) == [packet] * 4
    assert table.clients == 0


def test_a_client_whose_node_is_gone_is_removed(table: Tabletop) -> None:
    table.says(ALICE, Subscribe(THEME, 0, 100).serialize())
    table.hears(ALICE, NodePacket.error(98, BROKER_NODE).serialize())
    assert table.clients == 0


def test_a_silent_client_is_removed_without_any_publishing(table: Tabletop) -> None:
    table.says(ALICE, Subscribe(THEME, 0, 100).serialize())
    table.passes(15)
    table.says(ALICE, Subscribe(THEME, 0, 100).serialize())
    table.passes(19)
    assert table.clients == 1
    table.passes(21)
    assert table.clients == 0
    assert table.nodes.deadline is None


def test_commands_are_answered_with_the_quality_and_timer_they_came_with(table: Tabletop) -> None:
    (answer,) = table.says(ALICE, b"theme-names", rid=CONTROL_NODE)
    expected = NodePacket(CONTROL_NODE, 98, b"crowker/control\n")
    assert NodePacket.parse(answer.data) == expected
    assert (answer.qos, answer.ackquant_ms, answer.address) == (1, 100, ALICE)
    assert len(table.passes(5)) == 4  # nobody took the answer: given up without further ado
    request = NodePacket(98, CONTROL_NODE, b"help").serialize()
    (empty,) = table.hears(ALICE, request, ackquant_ms=200)
    assert NodePacket.parse(empty.data).data == b""
    assert (empty.qos, empty.ackquant_ms) == (0, 200)
    table.hears(ALICE, NodePacket.error(98, CONTROL_NODE).serialize())


def test_beams_are_accepted_and_not_answered(table: Tabletop) -> None:
    assert table.says(ALICE, b"robot", rid=BEAM_NODE) == []
    table.hears(ALICE, NodePacket.error(98, BEAM_NODE).serialize())
    assert not table.tower.dropped


class TestLegacy:
    def test_packets_of_type_4_are_served(self, table: Tabletop) -> None:
        table.hears(ALICE, SUBSCRIBE.serialize_legacy(), kind=LEGACY_PUBSUB)
        publish = Publish(THEME, b"hello").serialize_legacy()
        (packet,) = table.hears(BOB, publish, kind=LEGACY_PUBSUB, qos=2)
        expected = Consume(THEME, b"hello").serialize_legacy()
        assert (packet.type, packet.address, packet.qos) == (LEGACY_PUBSUB, ALICE, 1)
        assert packet.data == expected
        table.acknowledge(packet)
        table.passes(60)
        assert table.clients == 1

    def test_one_that_does_not_acknowledge_is_removed(self, table: Tabletop) -> None:
        table.hears(ALICE, SUBSCRIBE.serialize_legacy(), kind=LEGACY_PUBSUB)
        table.says(BOB, Publish(THEME, b"hello").serialize())
        table.passes(1)
        assert table.clients == 0

    def test_what_fits_no_packet_is_counted(self, table: Tabletop) -> None:
        table.hears(ALICE, SUBSCRIBE.serialize_legacy(), kind=LEGACY_PUBSUB)
        table.node.publish(THEME, bytes(65_520), table.now)
        assert table.settle() == []
        assert table.node.broker.dropped == {"does not fit a packet": 1}


def test_other_packets_are_not_the_brokers(table: Tabletop) -> None:
    packet = CrowPacket(0, False, HERE, 0, 7, 0, 100, b"raw")
    table.tower.received(packet, ALICE[::-1], 0.0)
    (event,) = table.nodes.take_notices(0.0)
    assert not table.node.handle(event, 0.0)


def test_a_slow_client_misses_messages_but_stays(table: Tabletop) -> None:
    table.says(ALICE, SUBSCRIBE.serialize())
    for _ in range(2000):
        table.node.publish(THEME, b"fast", table.now)
    assert table.node.broker.dropped == {"congestion": 2000 - 32 - 1024}
    assert table.clients == 1
    table.node.publish(THEME, bytes(1300), table.now)  # in chunks
    table.settle()
    table.says(ALICE, b"themes", rid=CONTROL_NODE)
    assert table.node.broker.dropped == {"congestion": 2000 - 32 - 1024 + 2}
    assert table.clients == 1


def test_the_process_itself_may_publish(table: Tabletop) -> None:
    table.says(ALICE, SUBSCRIBE.serialize())
    table.node.publish(THEME, b"local", table.now)
    assert len(table.settle()) == 1
    with pytest.raises(UsageError):
        table.node.publish(bytes(300), b"", table.now)


def test_a_closed_broker_is_missing_like_any_node(table: Tabletop) -> None:
    table.says(ALICE, Subscribe(THEME, 0, 100).serialize())
    table.node.close()
    (packet,) = table.says(ALICE, SUBSCRIBE.serialize())
    assert NodePacket.parse(packet.data).error_code == 33
    assert table.nodes.deadline is None
