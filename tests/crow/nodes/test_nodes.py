"""Nodes: the ports of a tower."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.crow.events import MessageUndelivered, NodeRefused, transmits
from rookery.crow.limits import NodeLimits, ReassemblyLimits
from rookery.crow.nodes.nodes import DYNAMIC_MIN, Nodes, NodeTimer
from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.errors import CongestionError, UsageError
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import NODE, CrowPacket


class Pair:
    """Two stations, one of which has node 42 and the other node 9."""

    def __init__(self, conditions: Conditions | None = None, seed: int = 0) -> None:
        self.world = CrowWorld(seed, conditions)
        self.alice = self.world.station("10.0.0.1")
        self.bob = self.world.station("10.0.0.2", node_limits=NodeLimits(ReassemblyLimits()))
        self.alice.nodes.register(9)
        self.bob.nodes.register(42)

    def send(
        self, data: bytes, *, rid: int = 42, qos: int = 2, chunk_size: int | None = None
    ) -> Ticket:
        ticket = self.alice.nodes.send(
            self.bob.hop, 9, rid, data, self.world.now, qos=qos, chunk_size=chunk_size
        )
        self.alice.settle()
        return ticket

    @property
    def read(self) -> list[bytes]:
        return [message.data for message in self.bob.messages]


class Witness:
    """A handler that keeps what it is told."""

    def __init__(self) -> None:
        self.received_messages: list[NodeMessage] = []
        self.refusals: list[NodeRefused] = []
        self.outcomes: list[tuple[Ticket, str | None]] = []

    def received(self, message: NodeMessage, now: float) -> None:
        self.received_messages.append(message)

    def refused(self, refusal: NodeRefused, now: float) -> None:
        self.refusals.append(refusal)

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        self.outcomes.append((ticket, failure))


class Echo(Witness):
    """A handler that sends back what it gets."""

    def __init__(self, nodes: Nodes) -> None:
        super().__init__()
        self._nodes = nodes

    def received(self, message: NodeMessage, now: float) -> None:
        address, sid, rid = message.return_address, message.rid, message.sid
        self._nodes.send(address, sid, rid, message.data, now, qos=0)


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.fixture
def station(pair: Pair) -> SimulatedTower:
    return pair.alice


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_reaches_the_node_it_names(pair: Pair, qos: int) -> None:
    """C5."""
    ticket = pair.send(b"to42", qos=qos)
    pair.world.run(1)
    assert pair.bob.messages == [NodeMessage(9, 42, pair.alice.hop, b"to42", qos, 54)]
    assert pair.alice.notices == ([MessageDelivered(ticket)] if qos else [])


def test_a_missing_node_is_reported_once(pair: Pair) -> None:
    """C5."""
    pair.send(b"nobody", rid=43)
    pair.world.run(1)
    assert NodeRefused(9, 43, pair.bob.hop, 33) in pair.alice.notices
    assert len(pair.alice.notices) == 2
    assert pair.bob.messages == []


def test_a_missing_node_of_a_split_message_is_reported_once(pair: Pair) -> None:
    """C5."""
    pair.send(bytes(100), rid=43, chunk_size=17)
    pair.world.run(1)
    refusals = [each for each in pair.alice.notices if isinstance(each, NodeRefused)]
    assert refusals == [NodeRefused(9, 43, pair.bob.hop, 33)]


def test_a_node_is_registered_once(station: SimulatedTower) -> None:
    """C5."""
    with pytest.raises(UsageError):
        station.nodes.register(9)
    station.nodes.unregister(9)
    station.nodes.unregister(9)
    assert station.nodes.register(9) == 9
    for node in (-1, 65536):
        with pytest.raises(UsageError):
            station.nodes.register(node)


def test_dynamic_ids_are_free_ones_of_the_upper_half(station: SimulatedTower) -> None:
    """C5: and every one of them is given out before there are none."""
    station.nodes.register(DYNAMIC_MIN)
    given = {station.nodes.register() for _ in range(0x7FFF)}
    assert given == set(range(DYNAMIC_MIN + 1, 0x10000))
    assert len(station.nodes) == 0x8000 + 1
    with pytest.raises(CongestionError):
        station.nodes.register()


def test_a_dynamic_id_is_not_given_out_again_at_once(station: SimulatedTower) -> None:
    """C5: late messages would meet somebody else."""
    first = station.nodes.register()
    station.nodes.unregister(first)
    assert station.nodes.register() != first
    assert first not in station.nodes


def test_packets_of_other_types_pass_through(pair: Pair) -> None:
    """C5."""
    pair.alice.send(pair.bob.hop, b"raw", kind=5)
    pair.world.run(1)
    assert pair.bob.data == [b"raw"]
    assert isinstance(pair.bob.notices[0], PacketArrived)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x09\x00\x2a\x00", b"\x09\x00\x2a\x00\x02\x00", b"\x09\x00\x2a\x00\x20"],
    ids=["empty", "short", "short chunk", "unknown kind"],
)
def test_what_is_no_node_packet_is_dropped(pair: Pair, data: bytes) -> None:
    """C5."""
    pair.alice.send(pair.bob.hop, data, kind=NODE)
    pair.world.run(1)
    assert pair.bob.notices == pair.alice.notices == []
    assert pair.bob.tower.dropped == {"no node packet": 1}


def test_an_error_without_its_code_is_dropped(pair: Pair) -> None:
    """C5."""
    error = NodePacket(43, 42, b"\x21", is_error=True)
    pair.alice.send(pair.bob.hop, error.serialize(), kind=NODE)
    pair.world.run(1)
    assert pair.bob.notices == pair.alice.notices == []
    assert pair.bob.tower.dropped == {"no node packet": 1}


def test_a_handler_receives_instead_of_the_shell(pair: Pair) -> None:
    """C5."""
    here, there = Witness(), Witness()
    sid = pair.alice.nodes.register(None, here)
    pair.bob.nodes.register(50, there)
    tickets = [
        pair.alice.nodes.send(hop, sid, rid, b"hi", pair.world.now)
        for hop, rid in ((pair.bob.hop, 50), (pair.bob.hop, 51), (b"\x63", 52))
    ]
    pair.alice.settle()
    pair.world.run(1)
    assert [message.data for message in there.received_messages] == [b"hi"]
    assert here.refusals == [NodeRefused(sid, 51, pair.bob.hop, 33)]
    assert dict(here.outcomes) == {
        tickets[0]: None,
        tickets[1]: None,
        tickets[2]: "there is no gate 99",
    }
    assert pair.alice.notices == pair.bob.notices == []


def test_a_stand_in_receives_for_an_unregistered_node(pair: Pair) -> None:
    """C5."""
    witness = Witness()
    for node in (42, 50):
        pair.bob.nodes.stand_in(node, witness)
    pair.send(b"for 42")
    pair.send(b"for 50", rid=50)
    pair.world.run(1)
    assert pair.read == [b"for 42"]
    assert [message.data for message in witness.received_messages] == [b"for 50"]
    pair.bob.nodes.stand_down(50, Witness())
    pair.bob.nodes.stand_down(50, witness)
    pair.send(b"for 50", rid=50)
    pair.world.run(1)
    assert len(witness.received_messages) == 1


def test_alarms_ring_in_time(pair: Pair) -> None:
    rung: list[float] = []
    timer = NodeTimer(rung.append)
    pair.alice.nodes.wake(timer, 2.5, 0.0)
    pair.alice.settle()
    pair.world.run(10)
    assert rung == [2.5]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_long_message_goes_in_chunks(pair: Pair, qos: int) -> None:
    """C5."""
    message = bytes(range(256)) * 16
    ticket = pair.send(message, qos=qos, chunk_size=1000)
    pair.send(b"short", qos=qos, chunk_size=1000)
    pair.world.run(1)
    assert sorted(pair.read, key=len) == [b"short", message]
    assert (pair.alice.outcomes.get(ticket) == "") == (qos > 0)


def test_a_long_message_does_not_overtake_itself(pair: Pair) -> None:
    """C5: 1,000 chunks are fed to the window bit by bit."""
    tickets = [pair.send(letter * 10_000, chunk_size=17) for letter in (b"a", b"b", b"c")]
    pair.world.run(10)
    assert pair.read == [letter * 10_000 for letter in (b"a", b"b", b"c")]
    assert [pair.alice.outcomes[ticket] for ticket in tickets] == [""] * 3


def test_a_long_message_that_fails_lets_the_next_one_pass(pair: Pair) -> None:
    """C5: some chunks of the first arrive, and none of them ends up in the second."""
    pair.world.network.change(Conditions(blocked=True), "10.0.0.2", "10.0.0.1")
    first = pair.send(b"a" * 1000, chunk_size=17)
    second = pair.send(b"b" * 1000, chunk_size=17)
    pair.world.run_until(lambda: first in pair.alice.outcomes)
    pair.world.network.change(Conditions())
    pair.world.run(10)
    assert pair.alice.outcomes[first] == "no acknowledgement"
    assert pair.alice.outcomes[second] == ""
    assert pair.read == [b"b" * 1000]


def test_split_messages_that_wait_are_bounded(pair: Pair) -> None:
    """C5."""
    pair.world.network.change(Conditions(blocked=True))
    for _ in range(64):
        pair.send(bytes(100), chunk_size=17)
    with pytest.raises(CongestionError):
        pair.send(bytes(100), chunk_size=17)
    pair.world.run(400)
    assert len(pair.alice.outcomes) == 64


def test_a_split_message_meets_a_full_queue_at_once(pair: Pair) -> None:
    """C5."""
    pair.world.network.change(Conditions(blocked=True))
    while pair.alice.tower.room(pair.bob.hop):
        pair.send(b"")
    with pytest.raises(CongestionError):
        pair.send(bytes(100), chunk_size=17)


@pytest.mark.parametrize("size", [7, 17])
def test_what_cannot_be_split_is_refused(pair: Pair, size: int) -> None:
    """C5."""
    with pytest.raises(UsageError):
        pair.send(bytes(20_000), chunk_size=size)


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.floats(0.0, 0.4),
    duplication=st.floats(0.0, 0.3),
    jitter_s=st.floats(0.0, 0.2),
    qos=st.integers(0, 2),
)
@settings(max_examples=40)
def test_no_long_message_ever_comes_out_mixed(
    seed: int, loss: float, duplication: float, jitter_s: float, qos: int
) -> None:
    """C5: each is what was sent, once, and those told delivered are all there."""
    weather = Conditions(loss=loss, duplication=duplication, jitter_s=jitter_s)
    pair = Pair(weather, seed)
    sent = {
        pair.send(b"%02d" % number * 40, qos=qos, chunk_size=27): number for number in range(12)
    }
    pair.world.run(120)  # after each that fails the next one waits 5 s
    messages = [b"%02d" % number * 40 for number in range(12)]
    assert set(pair.read) <= set(messages)
    assert len(pair.read) == len(set(pair.read))
    for ticket, number in sent.items():
        if pair.alice.outcomes.get(ticket) == "":
            assert messages[number] in pair.read
        assert qos == 0 or ticket in pair.alice.outcomes
    assert pair.bob.nodes.deadline is None


def test_the_outcome_of_a_plain_message_is_an_event(pair: Pair) -> None:
    """C5."""
    pair.world.network.change(Conditions(blocked=True))
    ticket = pair.send(b"lost")
    pair.world.run(1)
    assert pair.alice.notices == [MessageUndelivered(ticket, "no acknowledgement")]


def test_there_is_something_to_take_until_all_is_taken(station: SimulatedTower) -> None:
    nodes, sender = station.nodes, udp_hop("10.0.0.9", 9)
    nodes.register(5)
    assert nodes.is_quiet
    for seqid in range(2):
        data = NodePacket(7, 5, b"%d" % seqid).serialize()
        packet = CrowPacket(NODE, False, station.hop, 0, seqid, 1, 100, data)
        nodes.tower.received(packet, sender[::-1], 0.0)
    assert not nodes.is_quiet
    assert len(nodes.take_notices(0.0, 1)) == 1
    nodes.tower.take_transmissions()
    assert not nodes.is_quiet
    assert len(nodes.take_notices(0.0)) == 1
    assert nodes.is_quiet


def test_acknowledgements_come_before_what_their_messages_lead_to(station: SimulatedTower) -> None:
    """C3: or a sender would repeat itself while its messages are worked on."""
    nodes, sender = station.nodes, udp_hop("10.0.0.9", 9)
    echo = Echo(nodes)
    nodes.register(5, echo)
    for seqid in range(4):
        data = NodePacket(7, 5, b"%d" % seqid).serialize()
        packet = CrowPacket(NODE, False, station.hop, 0, seqid, 1, 100, data)
        nodes.tower.received(packet, sender[::-1], 0.0)
    assert nodes.take_notices(0.0, 3) == []
    first = transmits(nodes.tower.take_transmissions())
    assert [each.packet.is_ack for each in first] == [True] * 4 + [False] * 3
    assert nodes.is_behind
    assert nodes.take_notices(0.0, 3) == []
    (last,) = transmits(nodes.tower.take_transmissions())
    assert not last.packet.is_ack
    assert not nodes.is_behind
