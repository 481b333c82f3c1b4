"""Nobody gets much that it did not prove to be there for (M6); the clock is the test's."""

import random

import pytest

from rookery.crow.events import CrowTransmit
from rookery.crow.limits import AddressValidationLimits, TowerLimits
from rookery.crow.tower.tower import Tower
from rookery.wire.crow.packet import ACK21, ACK22, HEADER_SIZE, CrowPacket

GATE = 12
ANN = bytes([GATE, 192, 0, 2, 1, 0, 9])
BOB = bytes([GATE, 192, 0, 2, 2, 0, 9])
LIMITS = AddressValidationLimits(addresses_max=8, held_per_address_max=4000, held_max=6000)


@pytest.fixture
def tower() -> Tower:
    made = Tower(random=random.Random(7).randbytes, limits=TowerLimits(address_validation=LIMITS))
    made.gates.add(GATE)
    made.guard(GATE)
    return made


def size(packet: CrowPacket) -> int:
    return HEADER_SIZE + len(packet.address) + len(packet.data)


def sent(tower: Tower) -> list[CrowPacket]:
    return [event.packet for event in tower.take() if isinstance(event, CrowTransmit)]


def came(tower: Tower, source: bytes, now: float, data: bytes = b"", **fields: int) -> int:
    """A packet from there; how many bytes it had."""
    packet = CrowPacket(
        fields.get("type", 0),
        bool(fields.get("is_ack")),
        b"\x00" * len(source),
        0,
        fields.get("seqid", 5),
        fields.get("qos", 0),
        0,
        data,
    )
    tower.received(packet, source[::-1], now)
    return size(packet)


def answer(tower: Tower, packets: list[CrowPacket], now: float) -> None:
    """What every tower does with ACK21."""
    for packet in packets:
        if packet.is_ack and packet.type == ACK21:
            came(tower, packet.address, now, type=ACK22, is_ack=1, seqid=packet.seqid)


def test_an_address_that_never_answers_gets_three_times_what_came_from_there(tower: Tower) -> None:
    brought = got = 0
    for second in range(60):
        brought += came(tower, ANN, second, b"subscribe to it all", seqid=second, qos=2)
        tower.send(ANN, b"x" * 1000, second)
        tower.send(ANN, b"x" * 1000, second, qos=1)
        for tenth in range(10):
            tower.tick(second + tenth / 10)
            got += sum(map(size, sent(tower)))
    assert 0 < got <= 3 * brought


def test_what_waits_leaves_with_the_proof_and_in_order(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"subscribe")
    for number in range(3):
        tower.send(ANN, b"%d" % number * 500, 0.0)
    questions = sent(tower)
    assert [packet.type for packet in questions] == [ACK21, ACK21]
    answer(tower, questions[:1], 0.1)
    assert not sent(tower)
    answer(tower, questions[1:], 0.1)
    assert [packet.data[:1] for packet in sent(tower)] == [b"0", b"1", b"2"]
    tower.send(ANN, b"y" * 1000, 0.2)
    assert len(sent(tower)) == 1
    assert tower.deadline is None


def test_a_small_message_leaves_at_once(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"a theme of some length")
    tower.send(ANN, b"on", 0.0)
    assert [packet.data for packet in sent(tower)] == [b"on"]


def test_lost_questions_come_again_with_the_same_numbers(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"subscribe")
    tower.send(ANN, b"x" * 1000, 0.0)
    first = sent(tower)
    assert tower.deadline == 0.5
    tower.tick(0.5)
    assert [packet.seqid for packet in sent(tower)] == [packet.seqid for packet in first]
    answer(tower, first, 0.6)  # the first pair was only late
    assert len(sent(tower)) == 1


def test_what_waited_for_five_seconds_is_let_go(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"subscribe")
    tower.send(ANN, b"x" * 1000, 0.0)
    for half in range(1, 12):
        tower.tick(half / 2)
    assert tower.dropped["unproven"] == 1
    assert tower.deadline is None


def test_a_guesser_gets_new_numbers_to_guess(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"subscribe")
    tower.send(ANN, b"x" * 1000, 0.0)
    first = {packet.seqid for packet in sent(tower)}
    guesses = (number for number in range(1 << 16) if number not in first)
    for _, number in zip(range(16), guesses, strict=False):
        came(tower, ANN, 0.1, type=ACK22, is_ack=1, seqid=number)
    for number in first:  # it had them in the end, too late
        came(tower, ANN, 0.1, type=ACK22, is_ack=1, seqid=number)
    assert not sent(tower)
    tower.tick(0.6)
    assert not first & {packet.seqid for packet in sent(tower)}


def test_a_proof_ends_after_a_minute_unless_it_is_renewed(tower: Tower) -> None:
    came(tower, ANN, 0.0, b"subscribe")
    tower.send(ANN, b"x" * 1000, 0.0)
    answer(tower, sent(tower), 0.0)
    sent(tower)
    tower.send(ANN, b"x" * 1000, 40.0)
    *questions, data = sent(tower)
    assert not data.is_ack
    answer(tower, questions, 40.0)
    tower.send(ANN, b"x" * 1000, 69.0)
    assert len(sent(tower)) == 1
    tower.send(ANN, b"x" * 1000, 101.0)  # a minute after the second proof
    assert all(packet.is_ack for packet in sent(tower))


def test_numbers_of_questions_keep_away_from_those_in_use(tower: Tower) -> None:
    """An ACK21 with the number of a packet under way would acknowledge that packet."""
    for number in range(500):
        source = bytes([GATE, 10, 0, number >> 8, number & 0xFF, 0, 9])
        seqid = number * 131 % (1 << 16)
        came(tower, source, number, b"subscribe", seqid=seqid)
        tower.send(source, b"x" * 1000, number)
        for packet in sent(tower):
            apart = (packet.seqid - seqid) % (1 << 16)
            assert 0x1000 <= apart < (1 << 16) - 0x1000


def test_a_flood_of_sources_takes_little_and_leaves_the_proven_alone(tower: Tower) -> None:
    came(tower, BOB, 0.0, b"subscribe")
    tower.send(BOB, b"x" * 1000, 0.0)
    answer(tower, sent(tower), 0.0)
    sent(tower)
    for number in range(100):
        source = bytes([GATE, 10, 0, 0, number, 0, 9])
        came(tower, source, 1.0, b"subscribe to it all")
        for _ in range(10):
            tower.send(source, b"x" * 1000, 1.0)
    flooded = sent(tower)
    assert sum(map(size, flooded)) <= 100 * 3 * (HEADER_SIZE + 7 + 19)
    tower.send(BOB, b"y" * 1000, 1.0)
    assert len(sent(tower)) == 1
    assert tower.addresses_met <= LIMITS.addresses_max + 1
    assert tower.held_size <= LIMITS.held_max


def test_an_address_behind_a_tower_is_proved_from_there(tower: Tower) -> None:
    """A forged way behind a true neighbour is as good as a forged source."""
    came(tower, ANN, 0.0, b"subscribe")
    tower.send(ANN, b"x" * 1000, 0.0)
    answer(tower, sent(tower), 0.0)
    sent(tower)
    tower.send(ANN + BOB, b"x" * 1000, 0.0)
    assert {packet.address for packet in sent(tower)} == {ANN + BOB}
    assert tower.held_size


def test_gates_that_are_not_guarded_send_at_once(tower: Tower) -> None:
    tower.gates.add(3)
    came(tower, b"\x03", 0.0, b"subscribe")
    tower.send(b"\x03", b"x" * 1000, 0.0)
    assert [len(packet.data) for packet in sent(tower)] == [1000]
