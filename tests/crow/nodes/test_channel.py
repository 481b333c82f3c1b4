"""Channels: two nodes, in order."""

import pytest

from rookery.crow.events import CrowChannelChanged, CrowChannelOpened, CrowTransmit
from rookery.crow.nodes.acceptor import ChannelAcceptor
from rookery.crow.nodes.channel import (
    ANSWER_WITHIN_S,
    EARLY_MAX,
    FRAME_SIZE_MAX,
    GAP_S,
    SPAN_MAX,
    NodeChannel,
    NodeChannelState,
)
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.tower.tower import Tower
from rookery.errors import ChannelError, CongestionError, UsageError
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions
from rookery.wire.crow.channel import ChannelAnswer, ChannelData, ChannelRefuse, ChannelRequest
from rookery.wire.crow.node import NodePacket
from tests.crow.cpp_peer import CppPeer

ACCEPTOR = 30


class Line:
    """Alice dials, Bob accepts."""

    def __init__(self, conditions: Conditions | None = None, *, qos: int = 1) -> None:
        self.world = CrowWorld(3, conditions)
        self.alice = self.world.station("10.0.0.1")
        self.bob = self.world.station("10.0.0.2")
        self.acceptor = ChannelAcceptor(self.bob.nodes, ACCEPTOR)
        self.dialled = NodeChannel.dial(
            self.alice.nodes, self.bob.hop, ACCEPTOR, 0.0, qos=qos, ackquant_ms=50
        )
        self.alice.settle()

    def open(self) -> NodeChannel:
        """Let it open; Bob's end of it."""
        self.world.run(0.5)
        opened = [each for each in self.bob.notices if isinstance(each, CrowChannelOpened)]
        assert len(opened) == 1
        assert self.dialled.is_open
        return opened[0].channel

    def send(self, channel: NodeChannel, data: bytes) -> None:
        channel.send(data, self.world.now)
        self.settle()

    def close(self, channel: NodeChannel) -> None:
        channel.close(self.world.now)
        self.settle()

    def settle(self) -> None:
        for station in (self.alice, self.bob):
            station.settle()


def read(channel: NodeChannel) -> list[bytes]:
    frames = []
    while (frame := channel.receive()) is not None:
        frames.append(frame)
    return frames


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_frames_go_in_both_directions(qos: int) -> None:
    """C6."""
    line = Line(qos=qos)
    accepted = line.open()
    assert (accepted.qos, accepted.ackquant_ms) == (qos, 50)
    for number in range(20):
        line.send(line.dialled, b"to bob %d" % number)
        line.send(accepted, b"to alice %d" % number)
    line.world.run(1)
    assert read(accepted) == [b"to bob %d" % number for number in range(20)]
    assert read(line.dialled) == [b"to alice %d" % number for number in range(20)]
    assert line.dialled.unacknowledged == 0


def test_both_ends_are_notified_that_the_channel_is_open() -> None:
    """C6."""
    line = Line()
    accepted = line.open()
    assert line.alice.notices == [CrowChannelOpened(line.dialled)]
    assert line.bob.notices == [CrowChannelOpened(accepted)]
    assert accepted.remote == line.dialled.node
    assert line.dialled.remote == accepted.node


def test_reader_and_writer_are_notified() -> None:
    """C6."""
    line = Line()
    accepted = line.open()
    line.send(line.dialled, b"hello")
    line.world.run(1)
    assert line.bob.notices[-1] == CrowChannelChanged(accepted)
    assert line.alice.notices[-1] == CrowChannelChanged(line.dialled)


@pytest.mark.slow
def test_a_long_conversation_wraps_the_frame_ids() -> None:
    """C6: two towers on one wire, without the world around them."""
    near, far = wired_nodes(b"\x2a"), wired_nodes(b"\x2a")
    ChannelAcceptor(far, ACCEPTOR)
    dialled = NodeChannel.dial(near, b"\x2a", ACCEPTOR, 0.0)
    accepted: NodeChannel | None = None
    count = (1 << 16) + 100
    sent = received = 0
    while received < count:
        while sent < count and dialled.room:
            dialled.send(b"%d" % sent, 0.0)
            sent += 1
        for here, there in ((near, far), (far, near)):
            for event in here.take(0.0):
                if isinstance(event, CrowTransmit):
                    there.tower.received(event.packet, b"\x2a", 0.0)
                elif isinstance(event, CrowChannelOpened) and event.channel is not dialled:
                    accepted = event.channel
        for frame in read(accepted) if accepted is not None else ():
            assert frame == b"%d" % received
            received += 1
    assert dialled.is_open


def wired_nodes(gate: bytes) -> Nodes:
    tower = Tower(random=lambda size: bytes(size))
    tower.gates.add(gate[0])
    return Nodes(tower)


def test_what_is_unread_at_the_end_can_still_be_read() -> None:
    """C6: closing comes after all that was sent."""
    line = Line(Conditions(jitter_s=0.03, loss=0.1))
    line.world.run_until(lambda: bool(line.bob.notices) and line.dialled.is_open)
    for number in range(SPAN_MAX):
        line.send(line.dialled, b"%d" % number)
    line.close(line.dialled)
    assert line.dialled.state is NodeChannelState.CLOSING
    line.close(line.dialled)
    accepted = next(
        each for each in line.bob.notices if isinstance(each, CrowChannelOpened)
    ).channel
    line.world.run_until(lambda: accepted.is_closed and line.dialled.is_closed)
    assert read(accepted) == [b"%d" % number for number in range(SPAN_MAX)]
    assert (line.dialled.reason, accepted.reason) == ("closed here", "closed by the other end")
    assert len(line.acceptor) == 0
    assert line.dialled.node not in line.alice.nodes
    assert accepted.node not in line.bob.nodes


def test_both_may_close_at_once() -> None:
    """C6."""
    line = Line()
    accepted = line.open()
    line.dialled.close(line.world.now)
    accepted.close(line.world.now)
    line.settle()
    line.world.run(1)
    assert line.dialled.is_closed
    assert accepted.is_closed
    assert line.dialled.reason == accepted.reason == "closed here"


def test_nothing_is_sent_on_a_channel_that_is_not_open() -> None:
    """C6."""
    line = Line()
    with pytest.raises(CongestionError):
        line.dialled.send(b"early", 0.0)
    line.open()
    with pytest.raises(UsageError):
        line.dialled.send(bytes(FRAME_SIZE_MAX + 1), line.world.now)
    line.close(line.dialled)
    with pytest.raises(ChannelError, match="closed here"):
        line.dialled.send(b"late", line.world.now)
    line.world.run(1)
    with pytest.raises(ChannelError, match="closed here"):
        line.dialled.send(b"late", line.world.now)


def test_the_sender_stays_near_the_oldest_frame_that_is_missing() -> None:
    """C6: what the other end must keep is bounded."""
    line = Line()
    line.open()
    line.world.network.change(Conditions(blocked=True))
    for _ in range(SPAN_MAX):
        line.send(line.dialled, b"")
    assert line.dialled.room == 0
    with pytest.raises(CongestionError):
        line.dialled.send(b"", line.world.now)


def test_an_unanswered_dialled_channel_is_closed() -> None:
    """C6."""
    world = CrowWorld()
    station, peer = world.station("10.0.0.1"), CppPeer(world)
    peer.react = peer.acknowledge
    channel = NodeChannel.dial(station.nodes, peer.hop, ACCEPTOR, 0.0)
    station.settle()
    world.run(ANSWER_WITHIN_S - 0.1)
    assert not channel.is_closed
    world.run(0.2)
    assert (channel.is_closed, channel.reason) == (True, "no answer")
    assert station.notices == [CrowChannelChanged(channel)]


def test_dialling_an_unknown_address_or_node_fails_soon() -> None:
    """C6."""
    world = CrowWorld()
    alice, bob = world.station("10.0.0.1"), world.station("10.0.0.2")
    gone = NodeChannel.dial(alice.nodes, bob.hop[:-1] + b"\x00", ACCEPTOR, 0.0)
    missing = NodeChannel.dial(alice.nodes, bob.hop, ACCEPTOR, 0.0)
    nowhere = NodeChannel.dial(alice.nodes, b"\x63", ACCEPTOR, 0.0)
    alice.settle()
    world.run(2)
    assert gone.reason == "undelivered: no acknowledgement"
    assert missing.reason == "no such node there"
    assert nowhere.reason == "undelivered: there is no gate 99"
    assert len(alice.nodes) == 0


def test_dialling_what_cannot_be_dialled_leaves_nothing_behind() -> None:
    """C6."""
    station = CrowWorld().station("10.0.0.1")
    with pytest.raises(UsageError):
        NodeChannel.dial(station.nodes, b"\x0c", ACCEPTOR, 0.0, qos=3)
    with pytest.raises(UsageError):
        NodeChannel.dial(station.nodes, bytes(300), ACCEPTOR, 0.0)
    assert len(station.nodes) == 0


def test_closing_while_connecting_is_at_once() -> None:
    """C6: and whoever answers later learns it."""
    line = Line()
    line.close(line.dialled)
    assert line.dialled.is_closed
    line.world.run(1)
    assert len(line.acceptor) == 0
    line.close(line.dialled)


def test_closing_with_a_full_queue_does_not_wait() -> None:
    """C6."""
    line = Line()
    accepted = line.open()
    line.world.network.change(Conditions(blocked=True), "10.0.0.2", "10.0.0.1")
    while line.alice.tower.room(line.bob.hop):
        line.alice.send(line.bob.hop, b"", qos=1)
    line.close(line.dialled)
    assert line.dialled.is_closed
    line.world.run(1)
    assert accepted.is_closed


class Peered:
    """A channel to a peer that says what a test wants."""

    def __init__(self, qos: int = 1) -> None:
        self.world = CrowWorld()
        self.station: SimulatedTower = self.world.station("10.0.0.1")
        self.peer = CppPeer(self.world)
        self.peer.react = self.peer.acknowledge
        self.channel = NodeChannel.dial(self.station.nodes, self.peer.hop, ACCEPTOR, 0.0, qos=qos)
        self.station.settle()

    def say(self, data: bytes, sid: int = 512) -> None:
        self.peer.send_node(self.station, NodePacket(sid, self.channel.node, data), 2)
        self.world.run(0.01)

    def answer(self, qos: int = 1) -> None:
        self.say(ChannelAnswer(qos, 100).serialize())
        assert self.channel.is_open

    @property
    def dropped(self) -> dict[str, int]:
        return dict(self.station.tower.dropped)


@pytest.mark.parametrize("frame_id", [1, 200])
def test_a_gap_that_stays_closes_the_channel(frame_id: int) -> None:
    """C6: and the other end is told, so that it need not wait for anything."""
    peered = Peered()
    peered.answer()
    peered.say(ChannelData(frame_id, b"too early").serialize())
    peered.world.run(GAP_S - 0.1)
    assert peered.channel.is_open
    peered.world.run(0.2)
    assert peered.channel.reason == "a frame is missing"
    assert peered.channel.receive() is None
    refuse = peered.peer.node_packets[-1]
    assert (refuse.rid, refuse.data) == (512, ChannelRefuse(0x8000).serialize())


def test_a_gap_has_new_time_whenever_frames_come_in_order() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.say(ChannelData(1, b"b").serialize())
    peered.say(ChannelData(3, b"d").serialize())
    peered.world.run(GAP_S - 0.1)
    peered.say(ChannelData(0, b"a").serialize())
    peered.world.run(GAP_S - 0.1)
    peered.say(ChannelData(2, b"c").serialize())
    peered.world.run(2 * GAP_S)
    assert peered.channel.is_open
    assert read(peered.channel) == [b"a", b"b", b"c", b"d"]


def test_an_end_that_misses_frames_waits_for_them() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.say(ChannelRefuse(2).serialize())
    peered.say(ChannelData(1, b"b").serialize())
    assert peered.channel.is_open
    peered.say(ChannelData(0, b"a").serialize())
    assert peered.channel.reason == "closed by the other end"
    assert read(peered.channel) == [b"a", b"b"]


def test_an_end_that_misses_frames_for_good_is_an_error() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.say(ChannelRefuse(2).serialize())
    peered.world.run(GAP_S + 0.1)
    assert peered.channel.reason == "a frame is missing"


def test_a_refusal_without_a_number_is_believed_at_once() -> None:
    """C6, C8."""
    peered = Peered()
    peered.answer()
    for frame_id in range(3):
        peered.say(ChannelData(frame_id, b"").serialize())
    peered.say(ChannelRefuse(0).serialize())
    assert peered.channel.reason == "closed by the other end"


def test_an_acceptor_may_refuse() -> None:
    """C6."""
    peered = Peered()
    peered.say(ChannelRefuse().serialize(), ACCEPTOR)
    assert (peered.channel.is_closed, peered.channel.reason) == (True, "refused")


def test_data_that_overtakes_the_answer_is_kept() -> None:
    """C6: a bounded number of frames."""
    peered = Peered()
    for frame_id in range(EARLY_MAX + 5):
        peered.say(ChannelData(frame_id, b"%d" % frame_id).serialize())
    peered.answer()
    assert read(peered.channel) == [b"%d" % frame_id for frame_id in range(EARLY_MAX)]
    assert peered.dropped["frame out of turn"] == 5


def test_the_answer_decides_how_data_is_carried() -> None:
    """C6."""
    peered = Peered(qos=2)
    peered.answer(qos=0)
    peered.channel.send(b"m", peered.world.now)
    peered.station.settle()
    peered.world.run(0.01)
    assert peered.peer.received[-1].qos == 0
    assert peered.channel.room == SPAN_MAX


def test_messages_of_other_nodes_do_not_affect_a_channel() -> None:
    """C6."""
    peered = Peered()
    stranger = CppPeer(peered.world, "10.0.9.10")
    for frame in (ChannelAnswer(1, 100), ChannelData(0, b"x"), ChannelRefuse()):
        packet = NodePacket(ACCEPTOR, peered.channel.node, frame.serialize())
        stranger.send_node(peered.station, packet)
    stranger.send_node(peered.station, NodePacket.error(ACCEPTOR, peered.channel.node))
    peered.world.run(0.1)
    assert peered.channel.state is NodeChannelState.CONNECTING
    assert peered.dropped["frame from a stranger"] == 3
    peered.answer()
    peered.say(ChannelRefuse().serialize(), sid=99)
    assert peered.channel.is_open
    peered.peer.send_node(peered.station, NodePacket.error(99, peered.channel.node))
    peered.world.run(0.1)
    assert peered.channel.is_open


def test_frames_out_of_turn_are_dropped() -> None:
    """C6."""
    peered = Peered()
    peered.say(ChannelRequest(1, 100).serialize())
    peered.answer()
    peered.say(ChannelAnswer(2, 100).serialize())
    peered.say(b"\x00")
    peered.say(ChannelData(0, b"a").serialize())
    peered.say(ChannelData(0, b"a").serialize())
    assert peered.dropped["frame out of turn"] == 2
    assert peered.dropped["no channel frame"] == 1
    assert peered.dropped["copy of a frame"] == 1
    assert peered.channel.qos == 1


def test_the_node_of_the_other_end_may_vanish() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.peer.send_node(peered.station, NodePacket.error(512, peered.channel.node))
    peered.world.run(0.1)
    assert peered.channel.reason == "no such node there"


def test_a_reader_that_does_not_read_loses_the_channel() -> None:
    """C6: nothing on the wire could slow the other end down."""
    peered = Peered()
    peered.answer()
    for frame_id in range(100):
        peered.say(ChannelData(frame_id, bytes(50_000)).serialize())
    assert peered.channel.reason == "more came than could be kept"
    assert len(read(peered.channel)) < 100


def test_data_after_closing_is_not_read() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.peer.react = lambda packet, return_address: None
    peered.channel.close(peered.world.now)
    peered.station.settle()
    peered.say(ChannelData(0, b"late").serialize())
    assert peered.channel.receive() is None
    peered.say(ChannelRefuse(1).serialize())
    assert peered.channel.reason == "closed here"


def test_closing_towards_a_peer_that_is_gone_ends_as_well() -> None:
    """C6."""
    peered = Peered()
    peered.answer()
    peered.peer.react = lambda packet, return_address: None
    peered.channel.close(peered.world.now)
    peered.station.settle()
    peered.world.run(2)
    assert peered.channel.is_closed
    assert peered.channel.reason == "undelivered: no acknowledgement"
