"""Split messages under way."""

import pytest

from rookery.crow.events import CrowTransmit, MessageUndelivered
from rookery.crow.limits import DeliveryLimits, TowerLimits
from rookery.crow.nodes.splitting import UNACKED_CHUNKS_MAX, MessageSplitter, SplitOutcome
from rookery.crow.packet_events import MessageDelivered, Ticket
from rookery.crow.tower.tower import Tower
from rookery.errors import CongestionError
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import CrowPacket

HERE = b"\x0chere"


class Sender:
    """A tower, what it sent, and what became of split messages."""

    def __init__(self, limits: DeliveryLimits | None = None) -> None:
        delivery = limits or DeliveryLimits()
        self.tower = Tower(random=lambda size: bytes(size), limits=TowerLimits(delivery))
        self.tower.gates.add(12)
        self.told: list[SplitOutcome] = []
        self.splitting = MessageSplitter(self.tower, lambda outcome, now: self.told.append(outcome))

    def send(self, letter: bytes, qos: int = 2, address: bytes = HERE) -> Ticket:
        chunks = NodePacket(9, 10, letter * 200).chunks(17)
        return self.splitting.send(address, chunks, 0.0, qos, 50)

    def sent(self) -> list[CrowPacket]:
        return [event.packet for event in self.tower.take() if isinstance(event, CrowTransmit)]


def test_only_some_chunks_of_one_message_are_in_flight() -> None:
    """C5."""
    sender = Sender()
    sender.send(b"a")
    sender.send(b"b")
    sent = sender.sent()
    assert len(sent) == UNACKED_CHUNKS_MAX
    assert {NodePacket.parse(packet.data).data for packet in sent} == {b"a" * 10}
    assert len(sender.splitting) == 2


@pytest.mark.parametrize(("qos", "carried"), [(0, 0), (1, 2), (2, 2)])
def test_a_chunk_must_not_come_twice(qos: int, carried: int) -> None:
    """C5: it would look like the beginning of the next message."""
    sender = Sender()
    sender.send(b"a", qos)
    assert {packet.qos for packet in sender.sent()} == {carried}


def test_chunks_of_qos_0_are_numbered_without_a_gap() -> None:
    """C5: which is how a receiver knows that they belong together."""
    sender = Sender()
    sender.send(b"a", 0)
    assert [packet.seqid for packet in sender.sent()] == list(range(20))


def test_the_outcome_of_other_packets_is_none_of_its_business() -> None:
    sender = Sender()
    sender.send(b"a")
    assert not sender.splitting.outcome(Ticket(99), None, 0.0)


def test_a_split_message_without_a_gate_fails() -> None:
    """C5."""
    sender = Sender()
    ticket = sender.send(b"a", address=b"\x63")
    for event in sender.tower.take():
        assert isinstance(event, MessageUndelivered)
        sender.splitting.outcome(event.ticket, event.reason, 0.0)
    assert sender.told == [SplitOutcome(ticket, 9, "there is no gate 99")]
    assert len(sender.splitting) == 0


def test_what_follows_a_failure_waits_until_its_chunks_are_forgotten() -> None:
    """C5: what arrived of it would be taken for a part of the next one."""
    sender = Sender()
    failed = sender.send(b"a")
    sender.send(b"b")
    for now in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        sender.tower.tick(now)
        for event in sender.tower.take():
            if isinstance(event, MessageUndelivered):
                sender.splitting.outcome(event.ticket, event.reason, now)
    assert sender.told == [SplitOutcome(failed, 9, "no acknowledgement")]
    deadline = sender.splitting.deadline
    assert deadline is not None
    sender.splitting.tick(deadline - 0.1)
    assert sender.sent() == []
    sender.splitting.tick(deadline)
    assert {NodePacket.parse(packet.data).data for packet in sender.sent()} == {b"b" * 10}
    assert sender.splitting.deadline is None


def test_a_message_whose_turn_comes_at_a_full_queue_fails() -> None:
    """C5: it is told, and does not wait for ever."""
    sender = Sender(DeliveryLimits(unacked_max=1, queued_max=0))
    chunks = NodePacket(9, 10, b"a" * 20).chunks(17)
    first = sender.splitting.send(HERE, chunks, 0.0, 2, 50)
    with pytest.raises(CongestionError):
        sender.splitting.send(HERE, chunks, 0.0, 2, 50)
    (packet,) = sender.sent()
    ack = CrowPacket(1, True, HERE[::-1], 0, packet.seqid, 0, 50, b"")
    sender.tower.received(ack, HERE[::-1], 0.1)
    sender.tower.send(HERE, b"somebody else", 0.1, qos=1)
    delivered = next(event for event in sender.tower.take() if not isinstance(event, CrowTransmit))
    sender.splitting.outcome(delivered.ticket, None, 0.1)  # type: ignore[union-attr]
    assert sender.told == [SplitOutcome(first, 9, "the queue is full")]


@pytest.mark.slow
def test_the_number_of_conversations_is_bounded() -> None:
    """C5."""
    sender = Sender()
    for number in range(4096):
        sender.send(b"a", address=b"\x0c%d" % number)
    with pytest.raises(CongestionError):
        sender.send(b"a")


def test_the_chunks_of_one_message_are_numbered_in_a_row_whatever_else_is_sent() -> None:
    """C5: which is how a receiver knows that they belong together."""
    sender = Sender(DeliveryLimits(unacked_max=4))
    sender.send(b"a")
    seqids = []
    while len(sender.splitting):
        sender.tower.send(HERE, b"in between", 0.0, qos=1)
        for event in sender.tower.take():
            if isinstance(event, MessageDelivered):
                sender.splitting.outcome(event.ticket, None, 0.0)
            elif isinstance(event, CrowTransmit):
                packet = event.packet
                if packet.qos == 2 and not packet.is_ack:
                    seqids.append(packet.seqid)
                if not packet.is_ack:
                    ack = CrowPacket(packet.qos - 1, True, HERE[::-1], 0, packet.seqid, 0, 50, b"")
                    sender.tower.received(ack, HERE[::-1], 0.0)
    assert seqids == list(range(20))
