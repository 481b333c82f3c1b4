"""Acceptors: where channels are asked for."""

import pytest

from rookery.crow.events import CrowChannelOpened
from rookery.crow.nodes.acceptor import AcceptorLimits, ChannelAcceptor
from rookery.crow.nodes.channel import NodeChannel
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions
from rookery.wire.crow.channel import ChannelData, ChannelRefuse, ChannelRequest
from rookery.wire.crow.node import NodePacket
from tests.crow.cpp_peer import CppPeer

ACCEPTOR = 30
REQUEST = ChannelRequest(1, 50).serialize()


@pytest.fixture
def world() -> CrowWorld:
    return CrowWorld(5)


@pytest.fixture
def station(world: CrowWorld) -> SimulatedTower:
    return world.station("10.0.0.1")


@pytest.fixture
def peer(world: CrowWorld) -> CppPeer:
    made = CppPeer(world)
    made.react = made.acknowledge
    return made


def ask(world: CrowWorld, station: SimulatedTower, peer: CppPeer, node: int = 77) -> None:
    peer.send_node(station, NodePacket(node, ACCEPTOR, REQUEST), 2)
    world.run(0.1)


def opened(station: SimulatedTower) -> list[NodeChannel]:
    return [each.channel for each in station.notices if isinstance(each, CrowChannelOpened)]


def test_many_dial_and_each_has_its_own_channel(world: CrowWorld, station: SimulatedTower) -> None:
    """C6."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    callers = [world.station(f"10.0.1.{number}") for number in range(10)]
    dialled = [NodeChannel.dial(each.nodes, station.hop, ACCEPTOR, 0.0) for each in callers]
    for caller in callers:
        caller.settle()
    world.run(1)
    channels = opened(station)
    assert len(acceptor) == len({channel.node for channel in channels}) == 10
    for caller, channel in zip(callers, dialled, strict=True):
        channel.send(caller.hop, world.now)
        caller.settle()
    world.run(1)
    assert [channel.receive() for channel in channels] == [each.address for each in channels]


def test_a_closed_acceptor_leaves_its_channels_alone(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    ask(world, station, peer)
    acceptor.close()
    ask(world, station, peer, 78)
    assert opened(station)[0].is_open
    assert len(opened(station)) == 1
    assert peer.node_packets[-1] == NodePacket.error(ACCEPTOR, 78)


def test_a_repeated_request_gets_the_same_answer(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6: as long as the channel has carried nothing."""
    ChannelAcceptor(station.nodes, ACCEPTOR)
    ask(world, station, peer)
    ask(world, station, peer)
    answers = peer.node_packets
    assert len(answers) == 2
    assert answers[0] == answers[1]
    assert len(opened(station)) == 1


def test_a_repeated_request_before_the_answer_arrived_is_answered_once(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6: the tower repeats the answer anyway."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    peer.react = lambda packet, return_address: None
    ask(world, station, peer)
    ask(world, station, peer)
    assert len(acceptor) == 1
    assert len({packet.seqid for packet in peer.received if not packet.is_ack}) == 1


def test_a_peer_that_restarted_gets_a_new_channel(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    ask(world, station, peer)
    (old,) = opened(station)
    data = ChannelData(0, b"before").serialize()
    peer.send_node(station, NodePacket(77, old.node, data), 2)
    world.run(0.1)
    ask(world, station, peer)
    new = opened(station)[1]
    assert (old.is_closed, old.reason) == (True, "the other end asked anew")
    assert new.is_open
    assert new.node != old.node
    assert len(acceptor) == 1


def test_data_proves_that_the_answer_has_arrived(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6: also when every acknowledgement of it is lost."""
    ChannelAcceptor(station.nodes, ACCEPTOR)
    peer.react = lambda packet, return_address: None
    ask(world, station, peer)
    assert opened(station) == []
    node = next(packet.sid for packet in peer.node_packets if packet.rid == 77)
    peer.send_node(station, NodePacket(77, node, ChannelData(0, b"hi").serialize()), 2)
    world.run(0.01)
    assert opened(station)[0].receive() == b"hi"


def test_what_is_no_request_is_dropped(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6."""
    ChannelAcceptor(station.nodes, ACCEPTOR)
    for data in (b"", b"\x00\x00\x09", ChannelData(0, b"").serialize()):
        peer.send_node(station, NodePacket(77, ACCEPTOR, data))
    peer.send_node(station, NodePacket.error(77, ACCEPTOR))
    world.run(1)
    assert station.notices == []
    assert station.tower.dropped == {"no channel frame": 2, "frame out of turn": 1}


@pytest.mark.slow
def test_made_up_sources_never_reach_the_shell_and_are_forgotten(
    world: CrowWorld, station: SimulatedTower
) -> None:
    """C6: 5,000 that ask and are not there."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR, AcceptorLimits(channels_max=100))
    for number in range(5000):
        ghost = CppPeer(world, f"10.1.{number // 250}.{number % 250 + 1}")
        ghost.send_node(station, NodePacket(77, ACCEPTOR, REQUEST))
    world.run(0.1)
    assert len(acceptor) == 100
    assert len(station.nodes) == 101
    assert station.tower.dropped["too many channels"] == 4900
    world.run(5)
    assert len(acceptor) == 0
    assert station.tower.unacknowledged == 0
    assert opened(station) == []


def test_one_address_has_its_own_bound(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6: and is told that there are no more."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR, AcceptorLimits(per_address_max=2))
    for node in (77, 78, 79):
        ask(world, station, peer, node)
    assert len(acceptor) == 2
    assert NodePacket(ACCEPTOR, 79, ChannelRefuse().serialize()) in peer.node_packets


def test_the_quietest_channel_makes_room_once_it_was_silent_for_long(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6."""
    limits = AcceptorLimits(channels_max=2, silent_s=10.0)
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR, limits)
    for node in (77, 78):
        ask(world, station, peer, node)
    quiet, lively = opened(station)
    world.run(8)
    ask(world, station, peer, 79)
    assert len(opened(station)) == 2
    peer.send_node(station, NodePacket(78, lively.node, ChannelData(0, b"").serialize()), 1)
    world.run(3)
    ask(world, station, peer, 79)
    assert (quiet.is_closed, lively.is_open) == (True, True)
    assert len(acceptor) == 2


def test_an_answer_that_cannot_be_sent_is_not_tried(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6: the queue towards the peer is full."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    ask(world, station, peer)
    world.network.change(Conditions(blocked=True), "10.0.9.9", "10.0.0.1")
    while station.tower.room(peer.hop):
        station.send(peer.hop, b"", qos=1)
    world.network.change(Conditions())
    peer.react = lambda packet, return_address: None
    for node in (77, 78):
        peer.send_node(station, NodePacket(node, ACCEPTOR, REQUEST), 0)
    world.run(0.01)
    assert len(acceptor) == 1
    assert station.tower.dropped["too many channels"] == 1


def test_without_a_free_node_no_channel_is_accepted(
    world: CrowWorld, station: SimulatedTower, peer: CppPeer
) -> None:
    """C6."""
    acceptor = ChannelAcceptor(station.nodes, ACCEPTOR)
    for _ in range(0x8000):
        station.nodes.register()
    ask(world, station, peer)
    assert len(acceptor) == 0
    assert station.tower.dropped["too many channels"] == 1
