"""Connections of the deterministic world."""

import pytest

from rookery.link.endpoint import FrameReader
from rookery.link.link import Link, LinkState
from rookery.sim.endpoint import SimulatedEndpoint
from rookery.sim.network.network import Conditions
from rookery.sim.world import World
from rookery.wire.link.path import NetPath, Path


class Line:
    """Alice, who dialled, and Bob; what Bob hears and both lose."""

    def __init__(self, conditions: Conditions | None = None) -> None:
        self.world = World(3, conditions)
        self.alice, self.bob = (
            self.world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2)
        )
        self.alice.endpoint.own_paths = self.bob.endpoint.own_paths = ()  # or both would dial
        self.bob.accepts_strangers = True
        self.heard: list[tuple[float, bytes]] = []
        self.bob.endpoint.frame_reader = self.reader()
        self.link = self.alice.link(self.bob)
        self.world.run_until(lambda: self.link.state is LinkState.UP)
        self.world.run(5)  # until nobody speaks without being asked

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, body in self.heard]

    def reader(self) -> FrameReader:
        def read(
            link: Link, path: Path, head: bytes, body: bytes | memoryview, now: float, _: object
        ) -> None:
            self.heard.append((now, bytes(body)))

        return read

    def say(self, body: bytes) -> None:
        self.link.send_frame(b"\x01", body)
        self.alice.settle()


def test_a_dial_takes_a_round_trip_and_the_acceptor_sees_a_port_of_the_diallers_own() -> None:
    world = World(1, Conditions(delay_s=0.05))
    alice, bob = (world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2))
    alice.link(bob)
    world.run_until(lambda: world.deliveries == 1)
    assert world.now == pytest.approx(0.15)
    assert list(alice.connections) == [NetPath("tcp4", "10.0.0.2", 42424)]
    assert list(bob.connections) == [NetPath("tcp4", "10.0.0.1", 32768)]


def test_packets_arrive_in_order_whatever_the_jitter() -> None:
    line = Line(Conditions(delay_s=0.01, jitter_s=0.5, loss=0.3, reordering=0.5))
    sent = [b"%d" % number for number in range(100)]
    for body in sent:
        line.say(body)
    line.world.run(100)
    assert line.bodies == sent


def test_a_dial_to_a_machine_without_a_listener_is_refused() -> None:
    world = World()
    alice, bob = (world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2))
    world.crash(bob)
    link = alice.link(bob)
    world.run(0.1)
    assert link.last_error == "no path could be opened"
    assert alice.connections == {}


def test_a_dial_into_the_void_ends_after_a_while() -> None:
    world = World()
    alice, bob = (world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2))
    world.remove(bob)
    link = alice.link(bob)
    world.run(9.9)
    assert link.last_error is None
    world.run(0.2)
    assert link.last_error == "no path could be opened"


def test_a_dial_is_repeated_while_the_network_is_blocked() -> None:
    world = World()
    alice, bob = (world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2))
    bob.accepts_strangers = True
    world.network.block("10.0.0.2", "10.0.0.1")
    link = alice.link(bob)
    world.run(2)
    assert link.state is LinkState.DOWN
    world.reunite()
    world.run_until(lambda: link.state is LinkState.UP, 2)


def test_a_crash_resets_the_connections_at_the_peers() -> None:
    line = Line()
    line.say(b"before")
    line.world.crash(line.bob)
    line.world.run(0.1)
    assert line.link.state is not LinkState.UP
    assert line.alice.connections == {}
    assert line.bodies == []  # it was under way


def test_what_was_sent_before_a_crash_arrives_before_the_reset() -> None:
    line = Line()
    line.say(b"last words")
    line.world.crash(line.alice)
    line.world.run(0.1)
    assert line.bodies == [b"last words"]
    assert line.bob.connections == {}


def test_a_crash_behind_a_block_is_silent_until_a_packet_passes() -> None:
    line = Line()
    line.world.separate("10.0.0.1", "10.0.0.2")
    line.world.crash(line.bob)
    line.world.run(2)
    assert line.link.state is LinkState.UP
    line.world.reunite()
    line.world.run(2)
    assert line.link.state is LinkState.UP
    line.say(b"anybody there?")
    line.world.run(0.01)
    assert line.link.state is not LinkState.UP


def test_a_blocked_connection_goes_on_where_it_stopped() -> None:
    line = Line()
    line.world.network.block("10.0.0.1", "10.0.0.2")
    for number in range(3):
        line.say(b"%d" % number)
    line.world.run(5)
    assert line.bodies == []
    assert line.world.connections.queued(line.alice, line.bob.paths[0]) > 0
    line.world.reunite()
    line.world.run(10)
    assert line.bodies == [b"0", b"1", b"2"]
    assert line.world.connections.queued(line.alice, line.bob.paths[0]) == 0
    assert line.world.connections.queued(line.alice, NetPath("tcp4", "10.9.9.9", 1)) == 0


@pytest.mark.parametrize("way", [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")])
def test_a_connection_that_confirms_nothing_is_lost_in_the_end(way: tuple[str, str]) -> None:
    line = Line()
    line.world.connections.stalled_s_max = 20.0
    line.world.network.block(*way)
    line.say(b"hello?")
    line.world.run(15)
    assert len(line.alice.connections) == 1
    assert line.bodies == ([] if way[0] == "10.0.0.1" else [b"hello?"])
    line.world.run(30)
    assert not any(end.number == 1 for end in line.alice.connections.values())


def test_an_end_that_timed_out_alone_resets_the_other_when_it_speaks() -> None:
    line = Line()
    line.alice.endpoint.frame_reader = line.reader()
    line.world.connections.stalled_s_max = 1.0
    line.alice.endpoint.links[line.bob.hashname].persistent = False
    line.world.separate("10.0.0.1", "10.0.0.2")
    line.say(b"hello?")
    line.world.run(5)
    assert line.alice.connections == {}
    line.world.reunite()
    assert len(line.bob.connections) == 1
    line.bob.endpoint.links[line.alice.hashname].send_frame(b"\x01", b"hello?")
    line.bob.settle()
    line.world.run(1)
    assert line.bob.connections == {}
    assert line.bodies == []


def test_a_full_queue_drops_what_comes() -> None:
    line = Line()
    line.world.network.block("10.0.0.1", "10.0.0.2")
    for _ in range(100):
        line.say(bytes(60_000))
    assert line.world.connections.dropped > 0
    line.world.reunite()
    line.world.run(5)
    assert len(line.heard) == 100 - line.world.connections.dropped


def test_a_restarted_machine_resets_what_its_old_self_had_open() -> None:
    line = Line()
    line.world.remove(line.bob)
    line.say(b"into the void")
    line.world.run(1)
    assert line.link.state is LinkState.UP
    bob = line.world.restart(line.bob)
    assert bob.hashname == line.bob.hashname
    line.world.run(5)
    assert line.heard == []
    assert not any(end.number == 1 for end in line.alice.connections.values())


def test_a_hang_up_reaches_the_other_end() -> None:
    line = Line()
    (end,) = line.bob.connections.values()
    line.world.connections.hang_up(end)
    line.world.run(0.01)
    assert line.link.state is not LinkState.UP


def test_dialling_needs_the_transport() -> None:
    world = World()
    alice, bob = world.node("10.0.0.1", kinds=("udp4",)), world.node("10.0.0.2", kinds=("tcp4",))
    alice.link(bob)
    assert alice.connections == {}


def node_pair(world: World) -> tuple[SimulatedEndpoint, SimulatedEndpoint]:
    one, other = (world.node(f"10.0.0.{number}", kinds=("tcp4",)) for number in (1, 2))
    return one, other


def test_nodes_that_dial_each_other_have_two_connections() -> None:
    world = World()
    alice, bob = node_pair(world)
    there, back = alice.link(bob), bob.link(alice)
    world.run(2)
    assert there.state is back.state is LinkState.UP
    assert len(alice.connections) == len(bob.connections) == 2


def test_an_endpoint_that_hangs_up_loses_the_path_and_so_does_its_peer() -> None:
    line = Line()
    line.link.hang_up(line.bob.paths[0])
    line.alice.settle()
    assert line.alice.connections == {}
    assert line.link.state is not LinkState.UP
    line.world.run(0.1)
    assert line.bob.connections == {}
    line.alice.hang_up(line.bob.paths[0])  # there is nothing to end any more
    line.world.run_until(lambda: line.link.state is LinkState.UP, 10)
