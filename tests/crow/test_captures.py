"""Captures of the C++ towers replayed: we get what one side got, and send what it sent.

Where the specification leaves a choice (the node of an accepted channel, the order of two packets
sent at once) the bytes are compared without it.
"""

import pytest

from rookery.crow.events import (
    CrowChannelOpened,
    CrowTransmit,
    Event,
    MessageUndelivered,
    NodeRefused,
)
from rookery.crow.nodes.acceptor import ChannelAcceptor
from rookery.crow.nodes.channel import NodeChannel
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import NodeMessage, PacketArrived
from rookery.crow.tower.tower import Tower
from rookery.wire.crow.packet import CrowPacket
from tests.wire.crow_captures import VECTORS, Step

LOOPBACK = bytes([127, 0, 0, 1])
UDP_GATE = 12


def hop(port: int) -> bytes:
    return bytes([UDP_GATE]) + LOOPBACK + port.to_bytes(2, "big")


def steps(name: str) -> list[Step]:
    return VECTORS.sequences[name].steps


class Replay:
    """One tower of a capture, at its port, with the first number it had there."""

    def __init__(self, port: int, first_seqid: int = 0, *, forwards: bool = False) -> None:
        tower = Tower(random=lambda size: first_seqid.to_bytes(size, "little"), forwards=forwards)
        tower.gates.add(UDP_GATE)
        self.port = port
        self.tower = tower
        self.nodes = Nodes(tower)
        self.sent: list[tuple[int, str]] = []  # port and bytes
        self.times: list[float] = []
        self.events: list[Event] = []

    def hear(self, step: Step) -> None:
        assert step.dst_port == self.port
        self.tower.received(CrowPacket.parse(step.packet), hop(step.src_port)[::-1], step.t)
        self.settle(step.t)

    def settle(self, now: float) -> None:
        for event in self.nodes.take(now):
            if isinstance(event, CrowTransmit):
                argument = event.packet.address[event.packet.stage + 1 :]
                port = int.from_bytes(argument[4:6], "big")
                self.sent.append((port, event.packet.serialize().hex()))
                self.times.append(now)
            else:
                self.events.append(event)

    def pass_time(self, until: float) -> None:
        while (deadline := self.nodes.deadline) is not None and deadline <= until:
            self.nodes.tick(deadline)
            self.settle(deadline)

    def resend(self, step: Step) -> None:
        """Send what the capture's tower sent of its own accord."""
        packet = CrowPacket.parse(step.packet)
        self.tower.send(
            packet.address,
            packet.data,
            step.t,
            type=packet.type,
            qos=packet.qos,
            ackquant_ms=packet.ackquant_ms,
        )
        self.settle(step.t)


def replay_sender(name: str, port: int, first_seqid: int) -> Replay:
    """Send what the tower at this port sent, hear what it heard."""
    replay = Replay(port, first_seqid)
    for step in steps(name):
        replay.pass_time(step.t)
        if step.dst_port == port:
            replay.hear(step)
        elif not CrowPacket.parse(step.packet).is_ack and not was_sent(replay, step):
            replay.resend(step)
    return replay


def was_sent(replay: Replay, step: Step) -> bool:
    return (step.dst_port, step.hex) in replay.sent


def captured(name: str, port: int) -> list[tuple[int, str]]:
    return [(step.dst_port, step.hex) for step in steps(name) if step.src_port == port]


def test_the_sender_of_every_qos_sends_the_same_bytes() -> None:
    """C3, C8."""
    assert replay_sender("qos", 7101, 258).sent == captured("qos", 7101)


def test_the_receiver_of_every_qos_answers_with_the_same_bytes() -> None:
    """C3, C8."""
    replay = Replay(7102)
    for step in steps("qos"):
        if step.dst_port == 7102:
            replay.hear(step)
    assert replay.sent == captured("qos", 7102)
    arrived = [each.packet.data for each in replay.events if isinstance(each, PacketArrived)]
    assert arrived == [b"zero", b"one", b"two", b"t0", b"big"]


def test_a_silent_peer_is_sent_the_same_at_the_same_times() -> None:
    """C3, C8: five transmissions each, then undelivered."""
    replay = Replay(7101, 100)
    for step in steps("retransmit"):
        replay.pass_time(step.t)
        if not was_sent(replay, step):
            replay.resend(step)
    replay.pass_time(10.0)
    assert replay.sent == captured("retransmit", 7101)
    assert replay.times == pytest.approx([step.t for step in steps("retransmit")], abs=0.004)
    assert [type(each) for each in replay.events] == [MessageUndelivered, MessageUndelivered]


def test_an_unconfirmed_packet_is_acknowledged_at_the_same_times() -> None:
    """C3, C8."""
    replay = Replay(7102)
    replay.hear(steps("ack21_repeat")[0])
    replay.pass_time(10.0)
    assert replay.sent == captured("ack21_repeat", 7102)
    times = [step.t for step in steps("ack21_repeat") if step.src_port == 7102]
    assert replay.times == pytest.approx(times, abs=0.004)


@pytest.mark.parametrize("port", [7112, 7113])
def test_a_route_over_three_towers_is_written_back_hop_by_hop(port: int) -> None:
    """C1, C8: the tower in the middle, and the one at the end."""
    replay = Replay(port, forwards=True)
    for step in steps("multihop_udp"):
        if step.dst_port == port:
            replay.hear(step)
    assert replay.sent == captured("multihop_udp", port)


def test_the_beginning_of_the_route_sends_the_same_bytes() -> None:
    """C1, C8."""
    assert replay_sender("multihop_udp", 7111, 4660).sent == captured("multihop_udp", 7111)


def test_a_middle_tower_that_does_not_forward_sends_nothing() -> None:
    """C1."""
    replay = Replay(7112)
    replay.hear(steps("multihop_udp")[0])
    assert replay.sent == []
    assert replay.tower.dropped == {"forwarding is off": 1}


def test_an_unknown_node_is_reported_with_the_same_bytes() -> None:
    """C5, C8."""
    replay = Replay(7122)
    replay.nodes.register(42)
    for step in steps("node"):
        if step.dst_port == 7122:
            replay.hear(step)
    assert sorted(replay.sent) == sorted(captured("node", 7122))
    assert replay.events == [NodeMessage(9, 42, hop(7121), b"to42", 1, 104)]


def test_the_sending_node_sends_the_same_bytes_and_gets_an_error_for_the_missing_one() -> None:
    """C5, C8."""
    replay = Replay(7121, 16)
    replay.nodes.register(9)
    for step in steps("node"):
        if step.dst_port == 7121:
            replay.hear(step)
        elif not CrowPacket.parse(step.packet).is_ack:
            replay.resend(step)
    assert replay.sent == captured("node", 7121)
    refusals = [each for each in replay.events if isinstance(each, NodeRefused)]
    assert refusals == [NodeRefused(9, 43, hop(7122), 33)] * 2


def test_a_dialled_channel_sends_the_same_bytes() -> None:
    """C6, C8."""
    replay = Replay(7131, 64)
    channel = NodeChannel.dial(replay.nodes, hop(7132), 30, 0.0, qos=1, ackquant_ms=100, node=77)
    replay.settle(0.0)
    for step in steps("channel"):
        if step.dst_port == 7131:
            replay.hear(step)
        elif (data := bytes.fromhex(step.decoded.data)).endswith((b"m0", b"m1")):
            channel.send(data[-2:], step.t)
            replay.settle(step.t)
    # Two packets that were sent at once changed places: both are acknowledgements.
    assert sorted(replay.sent) == sorted(captured("channel", 7131))
    assert channel.remote == 512
    assert channel.receive() == b"from-server"


def test_an_accepted_channel_sends_the_same_bytes_but_for_its_node() -> None:
    """C6, C8."""
    replay = Replay(7132)
    ChannelAcceptor(replay.nodes, 30)
    channel = None
    for step in steps("channel"):
        if step.src_port == 7132 and step.decoded.data.endswith(b"from-server".hex()):
            assert channel is not None
            channel.send(b"from-server", step.t)
            replay.settle(step.t)
        elif step.dst_port == 7132:
            replay.hear(readdressed(step, channel))
        for event in replay.events:
            if isinstance(event, CrowChannelOpened):
                channel = event.channel
    assert channel is not None
    ours, theirs = channel.node.to_bytes(2, "little").hex(), (512).to_bytes(2, "little").hex()
    sent = [(port, data.replace(ours, theirs)) for port, data in replay.sent]
    assert sorted(sent) == sorted(captured("channel", 7132))
    assert [channel.receive(), channel.receive()] == [b"m0", b"m1"]


def readdressed(step: Step, channel: NodeChannel | None) -> Step:
    """The capture's server channel is node 512, ours has a node of its own."""
    if channel is None or not step.decoded.data.startswith("4d000002"):
        return step
    node = channel.node.to_bytes(2, "little").hex()
    data = step.hex.replace("4d000002", "4d00" + node)
    return Step(step.t, data, step.decoded, step.src_port, step.dst_port)
