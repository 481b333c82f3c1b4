"""The defects of the public C++ implementation: we do not have them, and we live with them."""

import pytest

from rookery.crow.events import CrowChannelOpened, NodeRefused, QueryAnswered
from rookery.crow.nodes.acceptor import ChannelAcceptor
from rookery.crow.nodes.channel import NodeChannel
from rookery.crow.nodes.message_box import MessageBox
from rookery.crow.packet_events import MessageDelivered
from rookery.errors import CongestionError, UsageError
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions
from rookery.wire.crow.channel import ChannelAnswer, ChannelData, ChannelRequest
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import ACK, ACK21, ACK22, CrowPacket
from tests.crow.cpp_peer import CppPeer

PERIOD_S = 0.054  # of ackquant 50


@pytest.fixture
def world() -> CrowWorld:
    return CrowWorld(seed=1, conditions=Conditions(delay_s=0.0001))


@pytest.fixture
def station(world: CrowWorld) -> SimulatedTower:
    return world.station("10.0.0.1")


@pytest.fixture
def peer(world: CrowWorld) -> CppPeer:
    return CppPeer(world)


class TestTimeCode:
    """C++ cuts the time code to 6 bits, so 640 ms are repeated after 4 ms."""

    def test_a_long_timer_is_clamped(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        station.send(peer.hop, b"", qos=1, ackquant_ms=1000)
        world.run(10)
        waits = [
            later - earlier for earlier, later in zip(peer.times, peer.times[1:], strict=False)
        ]
        assert waits == pytest.approx([0.634] * 4)

    def test_a_message_of_a_peer_with_a_wrapped_timer_arrives_once(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: the peer repeats every 4 ms and so do our acknowledgements."""
        for _ in range(5):
            peer.send(station, b"big", qos=2, seqid=262, ackquant_ms=0)
            world.run(0.004)
        world.run(1)
        assert station.data == [b"big"]
        assert len(peer.acks) == 5 + 4


class TestTypes:
    """C++ takes types up to 31 and sends the lower three bits."""

    def test_a_type_that_has_no_room_is_refused(
        self, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C8."""
        with pytest.raises(UsageError):
            station.send(peer.hop, b"", kind=9)

    def test_a_type_that_was_cut_off_arrives_as_what_is_left(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C8."""
        peer.send(station, b"nine", kind=9 % 8)
        world.run(1)
        assert station.arrived[0].packet.type == 1


class TestGates:
    """C++ drops a packet for an unknown gate without a word, and checks no bounds."""

    @pytest.mark.parametrize("qos", [0, 1, 2])
    def test_our_own_sender_gets_an_outcome_for_an_unknown_gate(
        self, station: SimulatedTower, qos: int
    ) -> None:
        """C1."""
        ticket = station.send(bytes([77, 1]), b"", qos=qos)
        assert station.outcomes[ticket] == "there is no gate 77"
        assert station.tower.dropped == {"unknown gate": 1}

    def test_silence_of_a_forwarding_peer_ends_as_undelivered(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C1, C8."""
        ticket = station.send(peer.hop + bytes([77]), b"", qos=1, ackquant_ms=50)
        world.run(5 * PERIOD_S + 0.01)
        assert station.outcomes[ticket] == "no acknowledgement"

    def test_a_hop_over_the_address_is_dropped(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C1: C++ writes its way back over the data."""
        peer.send_raw(station, CrowPacket(0, False, b"\x0c", 0, 0, 1, 50, b"data").serialize())
        peer.send_raw(station, CrowPacket(0, False, b"", 0, 0, 1, 50, b"data").serialize())
        world.run(1)
        assert station.arrived == []
        assert peer.received == []
        assert station.tower.dropped == {"hop over the address": 2}


class TestAliases:
    """A C++ tower that is reached by another address answers from its own."""

    def test_an_acknowledgement_from_elsewhere_counts_for_nothing(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: the message is reported undelivered, and arrives five times."""
        alias = CppPeer(world, "10.0.9.8")
        alias.react = peer.acknowledge
        ticket = station.send(alias.hop, b"", qos=1, ackquant_ms=50)
        world.run(1)
        assert len(alias.data) == 5
        assert station.outcomes[ticket] == "no acknowledgement"
        assert station.tower.dropped["late acknowledgement"] == 5

    def test_a_message_arrives_once_when_our_acknowledgements_are_lost(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        for _ in range(5):
            peer.send(station, b"once", qos=2, seqid=9)
            world.run(PERIOD_S)
        world.run(20)
        assert station.data == [b"once"]


class TestMemory:
    """C++ remembers 256 packets, only short addresses, and nothing without ACK22."""

    def test_an_unconfirmed_packet_is_remembered_after_the_last_ack21(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        peer.send(station, b"once", qos=2, seqid=7)
        world.run(5 * PERIOD_S + 14)
        peer.send(station, b"once", qos=2, seqid=7)
        world.run(1)
        assert station.data == [b"once"]

    def test_a_packet_is_forgotten_in_the_end(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3: 15 s after the confirmation the number is free again."""
        peer.react = peer.acknowledge
        peer.send(station, b"same", qos=2, seqid=7)
        world.run(14)
        peer.send(station, b"same", qos=2, seqid=7)
        world.run(2)
        assert station.tower.remembered == 0
        peer.send(station, b"same", qos=2, seqid=7)
        world.run(1)
        assert station.data == [b"same", b"same"]

    def test_many_packets_do_not_push_one_out(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        peer.react = peer.acknowledge
        for number in range(1000):
            peer.send(station, b"%d" % number, qos=2)
            world.run(0.001)
        peer.send(station, b"0", qos=2, seqid=0)
        world.run(1)
        assert station.data.count(b"0") == 1

    def test_a_long_address_is_remembered_as_well(self, world: CrowWorld, peer: CppPeer) -> None:
        """C3: six hops make 42 bytes."""
        towers = [world.station(f"10.0.1.{index}", forwards=True) for index in range(6)]
        address = b"".join(tower.hop for tower in towers)
        for _ in range(2):
            packet = CrowPacket(0, False, address, 0, 5, 2, 50, b"once")
            peer.send_raw(towers[0], packet.serialize())
            world.run(1)
        assert towers[-1].data == [b"once"]

    def test_a_peer_that_forgets_is_sent_nothing_twice(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: what is acknowledged is never sent again, so nothing has to be remembered."""
        peer.react = peer.acknowledge
        for number in range(300):
            station.send(peer.hop, b"%d" % number, qos=2)
            world.run(0.001)
        world.run(20)
        assert peer.data == [b"%d" % number for number in range(300)]


class TestRestarts:
    """A C++ tower counts from 0 after every start, and loses what has a number seen before."""

    def test_our_first_number_is_random(self, world: CrowWorld, peer: CppPeer) -> None:
        """C3."""
        for _ in range(3):
            world.station("10.0.0.1").send(peer.hop, b"")
        world.run(1)
        assert len({packet.seqid for packet in peer.received}) == 3

    def test_a_peer_that_counts_from_0_again_loses_nothing(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8."""
        peer.react = peer.acknowledge
        for life in (b"a", b"b"):
            peer.seqid = 0
            for number in range(10):
                peer.send(station, life + b"%d" % number, qos=2)
            world.run(1)
        assert station.data == [life + b"%d" % n for life in (b"a", b"b") for n in range(10)]

    def test_a_peer_that_restarts_before_its_confirmation_loses_nothing(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8."""
        peer.send(station, b"before", qos=2, seqid=0)
        world.run(0.01)
        peer.send(station, b"after", qos=2, seqid=0)
        world.run(1)
        assert station.data == [b"before", b"after"]


class TestTables:
    """C++ keeps 128 packets, then sends without keeping or acknowledges without delivering."""

    def test_whatever_is_taken_has_an_outcome(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        tickets = []
        with pytest.raises(CongestionError):
            tickets += [station.send(peer.hop, b"", qos=1, ackquant_ms=0) for _ in range(2000)]
        world.run(60)
        assert len(station.outcomes) == 32 + 1024

    def test_what_cannot_be_remembered_is_not_acknowledged(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        for number in range(200):
            peer.send(station, b"%d" % number, qos=2, ackquant_ms=600)
        world.run(0.1)
        assert len(station.data) == len(peer.acks) == 128
        assert station.tower.dropped["memory full"] == 72

    def test_a_peer_that_fails_at_64_packets_never_has_so_many(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8."""
        for number in range(200):
            station.send(peer.hop, b"%d" % number, qos=2)
        world.run(0.01)
        assert len(peer.data) == 32
        for packet in list(peer.received):
            peer.acknowledge(packet, station.hop)
        world.run(0.01)
        assert len(peer.data) == 64


class TestQosThree:
    """C++ sends qos 3 five times and delivers every copy."""

    def test_it_cannot_be_sent(self, station: SimulatedTower, peer: CppPeer) -> None:
        """C3."""
        with pytest.raises(UsageError):
            station.send(peer.hop, b"", qos=3)

    def test_it_is_dropped(self, world: CrowWorld, station: SimulatedTower, peer: CppPeer) -> None:
        """C3, C8."""
        data = bytearray(CrowPacket(0, False, station.hop, 0, 0, 2, 50, b"three").serialize())
        data[7] |= 3
        for _ in range(5):
            peer.send_raw(station, bytes(data))
        world.run(1)
        assert station.arrived == []
        assert peer.received == []
        assert station.tower.dropped["no packet"] == 5


class TestClock:
    """The C++ timer wraps every 65.536 s, and a packet under way then is repeated a minute late."""

    def test_a_packet_is_repeated_in_time_at_the_wrap(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        world.run(65.5)
        station.send(peer.hop, b"", qos=1, ackquant_ms=50)
        world.run(1)
        waits = [
            later - earlier for earlier, later in zip(peer.times, peer.times[1:], strict=False)
        ]
        assert waits == pytest.approx([PERIOD_S] * 4)

    def test_a_peer_that_does_not_repeat_gets_another_ack21(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: ours are repeated, so its packet is settled all the same."""
        peer.send(station, b"stuck", qos=2)
        world.run(3.5 * PERIOD_S)
        missed = len(peer.acks)
        peer.react = peer.acknowledge
        world.run(1)
        assert (missed, len(peer.acks)) == (4, 5)
        assert station.data == [b"stuck"]


class TestAcknowledgements:
    """Peers of all ages: some acknowledge twice, some do not repeat ACK21."""

    @pytest.mark.parametrize(("qos", "kind"), [(1, ACK), (2, ACK21)])
    def test_two_acknowledgements_are_one_delivery(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer, qos: int, kind: int
    ) -> None:
        """C3, C8."""
        ticket = station.send(peer.hop, b"", qos=qos)
        world.run(0.01)
        for _ in range(2):
            peer.send_ack(kind, peer.received[0], station.hop)
        world.run(1)
        assert [each for each in station.notices if each == MessageDelivered(ticket)] == [
            MessageDelivered(ticket)
        ]
        assert len(station.notices) == 1
        assert peer.acks.count((ACK22, peer.received[0].seqid)) == (2 if qos == 2 else 0)

    def test_a_lost_ack21_is_repeated(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: a peer that never repeats ACK21 is reminded by the packet itself."""
        ticket = station.send(peer.hop, b"again", qos=2, ackquant_ms=50)
        world.run(2.5 * PERIOD_S)
        peer.react = peer.acknowledge
        world.run(1)
        assert peer.data == [b"again"] * 4
        assert station.outcomes[ticket] == ""

    def test_an_acknowledgement_of_the_wrong_kind_settles_nothing(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3."""
        ticket = station.send(peer.hop, b"", qos=2, ackquant_ms=50)
        world.run(0.01)
        peer.send_ack(ACK, peer.received[0], station.hop)
        peer.send_ack(5, peer.received[0], station.hop)
        world.run(1)
        assert station.outcomes[ticket] == "no acknowledgement"
        assert station.tower.dropped["unknown acknowledgement"] == 1

    def test_an_unknown_ack21_is_confirmed_all_the_same(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C3, C8: or a peer that missed our first ACK22 would repeat itself to the end."""
        peer.send_ack(ACK21, CrowPacket(0, False, b"", 0, 77, 2, 50, b""), station.hop)
        world.run(1)
        assert peer.acks == [(ACK22, 77)]


class TestNodeErrors:
    """C++ answers an error for an unknown node with an error, and so for ever."""

    def test_an_error_is_never_answered(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5."""
        peer.send_node(station, NodePacket.error(9, 43))
        world.run(1)
        assert peer.received == []
        assert station.tower.dropped == {"error for an unknown node": 1}

    def test_a_peer_that_answers_errors_gets_one(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5, C8."""

        def answer(packet: CrowPacket, return_address: bytes) -> None:
            node = NodePacket.parse(packet.data)
            peer.send_node(station, NodePacket.error(node.rid, node.sid))

        peer.react = answer
        peer.send_node(station, NodePacket(9, 43, b"anybody?"))
        world.run(1)
        assert peer.node_packets == [NodePacket.error(43, 9)]

    def test_only_a_registered_node_can_send(self, station: SimulatedTower, peer: CppPeer) -> None:
        """C5."""
        with pytest.raises(UsageError):
            station.nodes.send(peer.hop, 9, 43, b"", 0.0)

    def test_an_error_reaches_the_node_that_sent(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5, C8."""
        station.nodes.register(9)
        peer.send_node(station, NodePacket.error(43, 9))
        world.run(1)
        assert station.notices == [NodeRefused(9, 43, peer.hop, 33)]


class TestChannels:
    """C++ gives every accepted channel node 512, keeps no order, and never says that it closes."""

    def test_every_accepted_channel_has_its_own_node(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C6."""
        ChannelAcceptor(station.nodes, 30)
        peer.react = peer.acknowledge
        for node in (77, 78):
            peer.send_node(station, NodePacket(node, 30, ChannelRequest(1, 100).serialize()), 2)
        world.run(1)
        answers = [packet for packet in peer.node_packets if packet.rid in (77, 78)]
        assert len({packet.sid for packet in answers}) == 2
        assert all(packet.sid >= 0x8000 for packet in answers)

    def test_two_channels_to_node_512_are_kept_apart(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C6, C8."""
        peer.react = peer.acknowledge
        channels = [NodeChannel.dial(station.nodes, peer.hop, 30, 0.0) for _ in range(2)]
        station.settle()
        for channel in channels:
            answer = ChannelAnswer(1, 100).serialize()
            peer.send_node(station, NodePacket(512, channel.node, answer), 2)
        for channel in channels:
            data = ChannelData(0, b"for %d" % channel.node).serialize()
            peer.send_node(station, NodePacket(512, channel.node, data), 1)
        world.run(1)
        assert all(channel.is_open for channel in channels)
        for channel in channels:
            assert channel.receive() == b"for %d" % channel.node

    def test_frames_that_a_peer_sends_out_of_order_are_read_in_order(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C6, C8."""
        channel = open_channel(world, station, peer)
        for frame_id in (2, 0, 0, 1, 2):
            data = ChannelData(frame_id, b"%d" % frame_id).serialize()
            peer.send_node(station, NodePacket(512, channel.node, data), 1)
            world.run(0.01)
        assert [channel.receive() for _ in range(4)] == [b"0", b"1", b"2", None]

    def test_a_peer_that_is_gone_without_a_word_is_noticed(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C6, C8."""
        channel = open_channel(world, station, peer)
        peer.react = lambda packet, return_address: None
        channel.send(b"anybody?", world.now)
        station.settle()
        world.run(2)
        assert channel.is_closed
        assert channel.reason == "undelivered: no acknowledgement"

    def test_we_say_that_we_close(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C6."""
        channel = open_channel(world, station, peer)
        channel.close(world.now)
        station.settle()
        world.run(1)
        assert channel.is_closed
        assert peer.node_packets[-1].data == bytes.fromhex("000003")


class TestLongWays:
    """C++ channels have room for addresses of 128 bytes, and are silent about longer ones."""

    def test_a_channel_opens_over_a_longer_route(self, world: CrowWorld) -> None:
        """C6."""
        here = world.station("10.0.0.1", forwards=True)
        there = world.station("10.0.0.2", forwards=True)
        way = (there.hop + here.hop) * 9 + there.hop
        assert len(way) > 128
        ChannelAcceptor(there.nodes, 30)
        channel = NodeChannel.dial(here.nodes, way, 30, world.now)
        here.settle()
        world.run(1)
        channel.send(b"far away", world.now)
        here.settle()
        world.run(1)
        (opened,) = [each for each in there.notices if isinstance(each, CrowChannelOpened)]
        assert opened.channel.receive() == b"far away"


class TestNodeLists:
    """C++ has one list of nodes for all towers of a process."""

    def test_towers_of_one_process_have_their_own_nodes(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5."""
        other = world.station("10.0.0.2")
        for each in (station, other):
            each.nodes.register(42)
        peer.send_node(other, NodePacket(9, 42, b"to the other"))
        world.run(1)
        assert station.messages == []
        assert [message.data for message in other.messages] == [b"to the other"]


class TestChunks:
    """C++ numbers chunks but not messages, so two of them mix."""

    def test_a_second_message_waits_for_the_first(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5."""
        station.nodes.register(9)
        for letter in (b"a", b"b"):
            station.nodes.send(peer.hop, 9, 10, letter * 30, world.now, chunk_size=17)
        station.settle()
        world.run(0.02)
        assert {packet.data[:1] for packet in peer.node_packets} == {b"a"}
        peer.react = peer.acknowledge
        world.run(1)
        assert peer.node_packets[-1].data == b"b" * 10

    def test_messages_that_a_peer_mixes_do_not_come_out_mixed(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5, C8: the first chunk of one message is lost, and the next one follows."""
        station.nodes.register(10)
        first = NodePacket(9, 10, b"a" * 30).chunks(17)
        second = NodePacket(9, 10, b"b" * 30).chunks(17)
        peer.seqid += 1
        for chunk in first[1:] + second:
            peer.send_node(station, chunk)
        world.run(1)
        assert [message.data for message in station.messages] == [b"b" * 30]

    def test_chunks_that_a_peer_repeats_do_not_begin_a_message(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5, C8: QoS 1 hands copies on."""
        station.nodes.register(10)
        chunks = NodePacket(9, 10, b"a" * 30).chunks(17)
        for chunk in chunks:
            peer.send_node(station, chunk, 1)
        world.run(0.01)
        peer.seqid = 0
        peer.send_node(station, chunks[0], 1)
        world.run(0.01)
        peer.seqid = len(chunks)
        for chunk in NodePacket(9, 10, b"b" * 30).chunks(17)[1:]:
            peer.send_node(station, chunk, 1)
        world.run(1)
        assert [message.data for message in station.messages] == [b"a" * 30]


class TestMessageBox:
    """The C++ message box replies to the node that was asked, not to the one that asked."""

    def test_our_reply_goes_to_the_querying_node(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5."""
        box = MessageBox(station.nodes, 50)
        peer.send_node(station, NodePacket(97, 50, b"time?"))
        world.run(0.01)
        box.reply(station.messages[0], b"late", world.now)
        station.settle()
        world.run(0.01)
        assert peer.node_packets == [NodePacket(50, 97, b"late")]

    def test_a_reply_to_the_wrong_node_is_understood(
        self, world: CrowWorld, station: SimulatedTower, peer: CppPeer
    ) -> None:
        """C5, C8."""
        box = MessageBox(station.nodes)
        query = box.query(peer.hop, 50, b"time?", 0.0)
        station.settle()
        peer.send_node(station, NodePacket(50, 50, b"late"))
        world.run(0.01)
        assert station.notices == [QueryAnswered(query, b"late")]


def open_channel(world: CrowWorld, station: SimulatedTower, peer: CppPeer) -> NodeChannel:
    """A channel that we dialled and the peer answered."""
    peer.react = peer.acknowledge
    channel = NodeChannel.dial(station.nodes, peer.hop, 30, world.now, qos=1, ackquant_ms=50)
    station.settle()
    answer = ChannelAnswer(1, 50).serialize()
    peer.send_node(station, NodePacket(512, channel.node, answer), 2)
    world.run(0.1)
    assert CrowChannelOpened(channel) in station.notices
    return channel
