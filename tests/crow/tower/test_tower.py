"""Towers by themselves: routes, bounds, and what hostile neighbours can do to them."""

import sys
import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.crow.events import CrowTransmit, MessageUndelivered
from rookery.crow.packet_events import MessageDelivered, PacketArrived
from rookery.crow.tower.tower import Tower
from rookery.errors import UsageError
from rookery.wire.crow.packet import CrowPacket

UDP_HOP = bytes.fromhex("0c7f0000011bc8")
RETURN_HOP = bytes.fromhex("c71b0100007f0c")
LINE = 42


def tower(*, forwards: bool = False) -> Tower:
    made = Tower(random=lambda size: bytes(size), forwards=forwards)
    made.gates |= {12, LINE}
    return made


def packet(
    address: bytes,
    *,
    stage: int = 0,
    qos: int = 0,
    seqid: int = 5,
    data: bytes = b"x",
    kind: int = 0,
    is_ack: bool = False,
) -> CrowPacket:
    return CrowPacket(kind, is_ack, address, stage, seqid, qos, 104, data)


def test_a_packet_goes_on_through_the_gate_its_route_names() -> None:
    """C1."""
    middle = tower(forwards=True)
    middle.received(packet(UDP_HOP + bytes([LINE])), RETURN_HOP, 0.0)
    expected = packet(RETURN_HOP + bytes([LINE]), stage=7)
    assert middle.take() == [CrowTransmit(LINE, expected)]


def test_packets_of_one_neighbour_may_come_from_and_go_to_different_places() -> None:
    """C1: each is dealt with by its own route, whatever it came along with."""
    middle = tower(forwards=True)
    direct = packet(UDP_HOP, qos=1, data=b"from next door")
    relayed = packet(b"\x21" + UDP_HOP, stage=1, qos=1, data=b"from farther away")
    passing = packet(UDP_HOP + bytes([LINE]), data=b"for somebody else")
    middle.received_all([passing, relayed, direct], RETURN_HOP, 0.0)
    events = middle.take()
    source = RETURN_HOP[::-1]
    arrived = {
        event.packet.data: event.return_address
        for event in events
        if isinstance(event, PacketArrived)
    }
    assert arrived == {b"from next door": source, b"from farther away": source + b"\x21"}
    sent = [event.packet for event in events if isinstance(event, CrowTransmit)]
    assert {each.address for each in sent if each.is_ack} == set(arrived.values())
    assert [each.data for each in sent if not each.is_ack] == [b"for somebody else"]


def test_a_tower_forwards_nothing_unless_it_may() -> None:
    """C1."""
    middle = tower()
    middle.received(packet(UDP_HOP + bytes([LINE])), RETURN_HOP, 0.0)
    assert middle.take() == []
    assert middle.dropped == {"forwarding is off": 1}


def test_a_route_to_an_unknown_gate_ends_here() -> None:
    """C1."""
    middle = tower(forwards=True)
    middle.received(packet(UDP_HOP + b"\x63"), RETURN_HOP, 0.0)
    assert middle.take() == []
    assert middle.dropped == {"unknown gate": 1}


def test_an_arrived_packet_has_its_return_address() -> None:
    """C1."""
    end = tower()
    arrived = packet(RETURN_HOP + bytes([LINE]), stage=7)
    end.received(arrived, bytes([LINE]), 0.0)
    assert end.take() == [PacketArrived(arrived, bytes([LINE]) + RETURN_HOP[::-1])]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_empty_address_is_this_tower(qos: int) -> None:
    """C1: delivered at once and without an acknowledgement."""
    here = tower()
    ticket = here.send(b"", b"self", 0.0, qos=qos)
    arrived, *outcome = here.take()
    assert isinstance(arrived, PacketArrived)
    assert (arrived.packet.data, arrived.return_address) == (b"self", b"")
    assert outcome == ([MessageDelivered(ticket)] if qos else [])
    assert here.deadline is None


@pytest.mark.parametrize(
    ("address", "data", "qos", "kind", "ackquant_ms"),
    [
        (bytes(256), b"", 0, 0, 0),
        (UDP_HOP, bytes(65536 - 8 - 7), 0, 0, 0),
        (UDP_HOP, b"", 3, 0, 0),
        (UDP_HOP, b"", -1, 0, 0),
        (UDP_HOP, b"", 0, 8, 0),
        (UDP_HOP, b"", 0, -1, 0),
        (UDP_HOP, b"", 0, 0, -1),
        (UDP_HOP, b"", 0, 0, 65536),
    ],
)
def test_what_no_packet_can_carry_is_refused(
    address: bytes, data: bytes, qos: int, kind: int, ackquant_ms: int
) -> None:
    """C8."""
    with pytest.raises(UsageError):
        tower().send(address, data, 0.0, qos=qos, type=kind, ackquant_ms=ackquant_ms)


def test_the_largest_packet_is_sent() -> None:
    """C8."""
    here = tower()
    here.send(UDP_HOP, bytes(65535 - 8 - 7), 0.0)
    (event,) = here.take()
    assert isinstance(event, CrowTransmit)
    assert len(event.packet.serialize()) == 65535


def test_a_gate_that_went_away_counts_what_it_would_have_carried() -> None:
    here = tower()
    ticket = here.send(UDP_HOP, b"", 0.0, qos=1)
    here.take()
    here.gates.remove(12)
    while (deadline := here.deadline) is not None:
        here.tick(deadline)
    assert here.take() == [MessageUndelivered(ticket, "no acknowledgement")]
    assert here.dropped == {"unknown gate": 4}


def test_the_earlier_deadline_of_both_sides_counts() -> None:
    here = tower()
    here.received(packet(UDP_HOP, qos=2), RETURN_HOP, 0.0)
    assert here.deadline == pytest.approx(0.104)
    here.send(UDP_HOP, b"", 0.0, qos=1, ackquant_ms=50)
    assert here.deadline == pytest.approx(0.054)
    assert here.unacknowledged == here.remembered == 1


def test_a_quality_that_does_not_exist_is_dropped() -> None:
    """C3: no parser lets it through, but a gate of somebody else may."""
    here = tower()
    here.received(packet(UDP_HOP, qos=3), RETURN_HOP, 0.0)
    assert here.take() == []
    assert here.dropped == {"qos": 1}


def test_copies_of_qos_0_are_dropped_and_those_of_qos_1_are_not() -> None:
    """C3."""
    here = tower()
    for qos in (0, 1, 2):
        for _ in range(3):
            here.received(packet(UDP_HOP, qos=qos, seqid=qos), RETURN_HOP, 0.0)
    arrived = [event.packet.qos for event in here.take() if isinstance(event, PacketArrived)]
    assert arrived == [0, 1, 1, 1, 2]


def test_an_acknowledgement_is_never_acknowledged() -> None:
    """C3: whatever quality it claims."""
    here = tower()
    for kind in range(8):
        here.received(packet(UDP_HOP, is_ack=True, kind=kind, qos=2), RETURN_HOP, 0.0)
    answers = [event.packet.type for event in here.take() if isinstance(event, CrowTransmit)]
    assert answers == [2]  # ACK22, to ACK21


def test_a_route_in_circles_ends_with_its_address() -> None:
    """C1: every hop uses the address up."""
    here = tower(forwards=True)
    here.received(packet(bytes([LINE]) * 255), bytes([LINE]), 0.0)
    hops = 0
    while events := here.take():
        for event in events:
            if isinstance(event, CrowTransmit):
                hops += 1
                here.received(event.packet, bytes([LINE]), 0.0)
    assert hops == 254


@given(data=st.binary(max_size=300), return_hop=st.binary(min_size=1, max_size=40))
def test_arbitrary_packets_never_raise(data: bytes, return_hop: bytes) -> None:
    """C1: hostile input is dropped and counted, or arrives."""
    here = tower(forwards=True)
    random = Random(data)
    alen = min(random.randrange(256), len(data))
    hostile = CrowPacket(
        random.randrange(8),
        random.random() < 0.5,
        data[:alen],
        random.randint(0, alen),
        random.randrange(65536),
        random.randrange(4),
        random.randrange(65536),
        data[alen:],
    )
    here.received(hostile, return_hop, 0.0)
    assert here.take() or here.dropped


@pytest.mark.slow
def test_a_hundred_thousand_sources_leave_the_memory_flat() -> None:
    """C3: what strangers can make a tower keep has a bound."""
    here = tower()

    def flood(first: int) -> None:
        for number in range(first, first + 50_000):
            source = b"\x0c" + number.to_bytes(4, "big") + b"\x27\x19"
            hostile = packet(UDP_HOP, qos=number % 3, seqid=number % 65536)
            here.received(hostile, source[::-1], number / 50_000)
            here.take()
        here.tick((first + 50_000) / 50_000)
        here.take()

    tracemalloc.start()
    flood(0)
    before, _ = tracemalloc.get_traced_memory()
    flood(50_000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after < before * 1.2 + (1 << 20)
    assert before < 20 << 20
    assert here.remembered <= 16384
    assert sys.getsizeof(here.dropped) < 4096
