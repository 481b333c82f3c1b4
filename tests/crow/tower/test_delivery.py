"""The sending side of QoS 1 and 2."""

import pytest

from rookery.crow.events import MessageUndelivered, TowerNotice
from rookery.crow.limits import DeliveryLimits
from rookery.crow.packet_events import MessageDelivered, Ticket
from rookery.crow.tower.delivery import TRANSMISSIONS, Delivery
from rookery.crow.tower.sequence_ids import SequenceIds
from rookery.errors import CongestionError
from rookery.wire.crow.packet import CrowPacket

HERE, THERE = b"\x0chere", b"\x0cthere"


class Sender:
    """A delivery, what it sent and what it told."""

    def __init__(self, limits: DeliveryLimits | None = None) -> None:
        self.sent: list[CrowPacket] = []
        self.told: list[TowerNotice] = []
        self.delivery = Delivery(
            limits or DeliveryLimits(),
            SequenceIds(lambda size: bytes(size)),
            self.told,
            self.sent.extend,
        )
        self._tickets = 0

    def submit(self, address: bytes = HERE, qos: int = 1, now: float = 0.0) -> Ticket:
        self._tickets += 1
        ticket = Ticket(self._tickets)
        self.delivery.submit(ticket, address, b"", now, type=0, qos=qos, ackquant_ms=100)
        return ticket


def test_an_acknowledgement_settles_one_message() -> None:
    """C3."""
    sender = Sender()
    ticket = sender.submit()
    assert not sender.delivery.acknowledged(THERE, [0], 1, 0.1)
    assert not sender.delivery.acknowledged(HERE, [1], 1, 0.1)
    assert not sender.delivery.acknowledged(HERE, [0], 2, 0.1)
    assert sender.delivery.acknowledged(HERE, [0], 1, 0.1)
    assert not sender.delivery.acknowledged(HERE, [0], 1, 0.1)
    assert sender.told == [MessageDelivered(ticket)]
    assert sender.delivery.deadline is None
    assert len(sender.delivery) == 0


def test_gives_up_one_period_after_the_last_transmission() -> None:
    """C3."""
    sender = Sender()
    ticket = sender.submit()
    times = []
    while (deadline := sender.delivery.deadline) is not None:
        sender.delivery.tick(deadline)
        times.append(deadline)
    assert times == pytest.approx([0.104 * count for count in range(1, TRANSMISSIONS + 1)])
    assert sender.sent == [sender.sent[0]] * TRANSMISSIONS
    assert sender.told == [MessageUndelivered(ticket, "no acknowledgement")]


def test_what_waits_in_the_queue_follows_in_order() -> None:
    """C3."""
    sender = Sender(DeliveryLimits(unacked_max=2, queued_max=2))
    tickets = [sender.submit(qos=qos) for qos in (1, 2, 1, 2)]
    assert [packet.qos for packet in sender.sent] == [1, 2]
    with pytest.raises(CongestionError):
        sender.submit()
    assert sender.delivery.room(HERE) == 0
    sender.submit(THERE)
    for seqid, qos in ((0, 1), (1, 2), (3, 1), (4, 2)):
        assert sender.delivery.acknowledged(HERE, [seqid], qos, 0.1)
    assert sender.told == [MessageDelivered(ticket) for ticket in tickets]


def test_the_queue_moves_on_when_a_message_is_given_up() -> None:
    sender = Sender(DeliveryLimits(unacked_max=1))
    tickets = [sender.submit() for _ in range(3)]
    while (deadline := sender.delivery.deadline) is not None:
        sender.delivery.tick(deadline)
    assert sender.told == [MessageUndelivered(ticket, "no acknowledgement") for ticket in tickets]
    assert len(sender.sent) == 3 * TRANSMISSIONS


def test_the_number_of_addresses_is_bounded() -> None:
    sender = Sender(DeliveryLimits(addresses_max=2))
    sender.submit(HERE)
    sender.submit(THERE)
    assert sender.delivery.room(b"\x0celsewhere") == 0
    with pytest.raises(CongestionError):
        sender.submit(b"\x0celsewhere")
    sender.delivery.acknowledged(HERE, [0], 1, 0.1)
    sender.submit(b"\x0celsewhere")
    assert sender.delivery.room(HERE) == 0
    assert sender.delivery.room(THERE) == 32 + 1024 - 1


def test_a_late_tick_repeats_once() -> None:
    """A loop that hung for a while does not make up for it with a burst."""
    sender = Sender()
    sender.submit()
    sender.delivery.tick(10.0)
    sender.delivery.tick(10.0)
    assert len(sender.sent) == 2
    assert sender.delivery.deadline == pytest.approx(10.104)


def test_a_reserved_number_is_used_unless_it_is_still_in_use() -> None:
    """C5."""
    sender = Sender()
    for number in range(3):
        sender.delivery.submit(
            Ticket(number), HERE, b"", 0.0, type=0, qos=2, ackquant_ms=100, seqid=700
        )
    assert [packet.seqid for packet in sender.sent] == [700, 0, 1]


def test_repeats_narrow_the_window_and_acknowledgements_widen_it_again() -> None:
    """C3: a receiver that falls behind is not drowned in copies."""
    sender = Sender(DeliveryLimits(unacked_max=8))
    for _ in range(40):
        sender.submit()
    assert len(sender.sent) == 8
    sender.delivery.tick(0.104)  # one repeat may only mean that the way is long
    sender.delivery.tick(0.208)
    assert len(sender.sent) == 24  # the window is 4 from now on
    for seqid in range(4):
        sender.delivery.acknowledged(HERE, [seqid], 1, 0.21)
    assert len(sender.sent) == 24
    for seqid in range(4, 8):
        sender.delivery.acknowledged(HERE, [seqid], 1, 0.22)
    assert [packet.seqid for packet in sender.sent[24:]] == [8, 9, 10, 11]
    for seqid in range(8, 40):
        assert sender.delivery.acknowledged(HERE, [seqid], 1, 0.23)
        under_way = len(sender.sent) - 16 - (seqid + 1)
        assert under_way <= 8
    assert len(sender.told) == 40


def test_a_window_never_closes() -> None:
    sender = Sender(DeliveryLimits(unacked_max=2))
    for _ in range(4):
        sender.submit()
    for _ in range(4):
        deadline = sender.delivery.deadline
        assert deadline is not None
        sender.delivery.tick(deadline)
    assert sender.delivery.acknowledged(HERE, [0], 1, 0.5)
    assert sender.delivery.acknowledged(HERE, [1], 1, 0.5)
    assert sender.sent[-1].seqid == 2
    assert sender.delivery.room(HERE) == 2 + 1024 - 2
