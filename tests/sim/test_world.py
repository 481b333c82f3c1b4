"""The deterministic world."""

import pytest

from rookery.errors import UnreachableError
from rookery.link.link import Link, LinkState
from rookery.sim.endpoint import EPOCH_UNIX_S, HELD_DATAGRAMS_MAX, SimulatedEndpoint
from rookery.sim.network.network import Conditions
from rookery.sim.world import World
from rookery.wire.link.path import NetPath


def test_time_jumps_from_event_to_event() -> None:
    world = World()
    seen: list[float] = []
    world.at(5.0, lambda: seen.append(world.now))
    world.at(2.0, lambda: world.soon(lambda: seen.append(world.now)))
    world.at(-1.0, lambda: seen.append(world.now))
    world.run(10)
    assert seen == [0.0, 2.0, 5.0]
    assert world.now == 10.0


def test_waiting_for_what_never_comes_ends() -> None:
    world = World()
    with pytest.raises(UnreachableError):
        world.run_until(lambda: False)
    world.at(1000.0, lambda: None)
    with pytest.raises(UnreachableError):
        world.run_until(lambda: False, 10)


def test_two_nodes_link() -> None:
    """T2."""
    world = World(seed=7)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)
    assert world.deliveries > 0


def test_a_removed_node_neither_receives_nor_sends() -> None:
    world = World()
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    world.remove(bob)
    world.remove(bob)
    alice.link(bob)
    bob.link(alice)
    world.run(10)
    assert world.deliveries == 0


def test_a_transport_that_a_node_lacks_carries_nothing() -> None:
    world = World()
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2", kinds=("tcp4",))
    alice.link(bob)
    world.run(10)
    assert world.deliveries == 0


def test_a_node_moves_with_its_ports() -> None:
    world = World()
    alice = world.node("10.0.0.1", kinds=("udp4", "tcp4"))
    world.move(alice, "10.0.0.7")
    assert alice.paths == (NetPath("udp4", "10.0.0.7", 42424), NetPath("tcp4", "10.0.0.7", 42424))


def test_a_cut_transport_is_still_overheard() -> None:
    world = World()
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    seen: list[tuple[NetPath, NetPath]] = []
    world.overhear(lambda source, target, data: seen.append((source, target)))
    world.cut("udp4")
    alice.link(bob)
    world.run(0.5)
    assert seen == [(alice.paths[0], bob.paths[0])]
    assert world.deliveries == 0


def pair(
    *, kinds: tuple[str, ...] = ("udp4",)
) -> tuple[World, SimulatedEndpoint, SimulatedEndpoint, Link]:
    world = World(seed=7)
    alice, bob = (world.node(f"10.0.0.{number}", kinds=kinds) for number in (1, 2))
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)
    world.run(1)
    return world, alice, bob, link


@pytest.mark.parametrize("kind", ["udp4", "tcp4"])
def test_a_frozen_node_receives_everything_late(kind: str) -> None:
    world, alice, bob, link = pair(kinds=(kind,))
    heard: list[float] = []
    bob.endpoint.frame_reader = lambda link, path, head, body, now, _: heard.append(now)
    bob.freeze()
    for _ in range(HELD_DATAGRAMS_MAX + 10):
        link.send_frame(b"\x01", b"")
    alice.settle()
    world.run(10)
    assert heard == []
    bob.thaw()
    assert heard == [world.now] * (HELD_DATAGRAMS_MAX + (0 if kind == "udp4" else 10))


def test_the_timers_of_a_frozen_node_are_late() -> None:
    world, alice, bob, link = pair()
    world.overhear(lambda source, target, data: seen.append((world.now, source)))
    seen: list[tuple[float, NetPath]] = []
    bob.freeze()
    world.run(50)
    assert {source for _, source in seen} == {alice.paths[0]}
    bob.thaw()
    assert (world.now, bob.paths[0]) in seen
    world.run(5)
    assert link.state is LinkState.UP


def test_a_frozen_node_learns_of_a_lost_connection_when_it_thaws() -> None:
    world, alice, bob, link = pair(kinds=("tcp4",))
    alice.freeze()
    world.crash(bob)
    world.run(1)
    assert link.state is LinkState.UP
    alice.thaw()
    assert link.state is not LinkState.UP


def test_a_crashed_node_does_nothing_any_more() -> None:
    world, alice, _, link = pair()
    world.crash(alice)
    sent = alice.sent
    link.send_frame(b"\x01", b"")
    alice.settle()
    world.run(100)
    assert alice.sent == sent


def test_a_restarted_node_has_its_identity_and_links_anew() -> None:
    world, alice, bob, link = pair(kinds=("udp4", "tcp4"))
    world.step_clock(bob, 5.0)
    again = world.restart(bob)
    again.accepts_strangers = True
    assert (again.hashname, again.paths, again.unix_s) == (bob.hashname, bob.paths, bob.unix_s)
    world.run(40)
    assert link.state is LinkState.UP
    assert alice.hashname in again.endpoint.links


def test_a_clock_is_stepped() -> None:
    world, alice, bob, _ = pair()
    world.step_clock(alice, -3600)
    assert bob.unix_s - alice.unix_s == 3600
    assert bob.unix_s == EPOCH_UNIX_S + world.now


def test_bytes_that_are_no_packet_are_counted() -> None:
    _, alice, bob, _ = pair()
    alice.deliver(bob.paths[0], b"\xff")
    assert alice.endpoint.dropped == {"DecodeError": 1}


def test_the_same_seed_gives_the_same_log() -> None:
    def history(seed: int) -> tuple[str, int]:
        conditions = Conditions(jitter_s=0.1, loss=0.2, duplication=0.2, reordering=0.1, rate=1e5)
        world = World(seed, conditions)
        nodes = [world.node(f"10.0.0.{n}", kinds=("udp4", "tcp4")) for n in range(1, 5)]
        for node in nodes:
            node.accepts_strangers = True
        for node in nodes[1:]:
            node.link(nodes[0])
        world.at(5.0, world.crash, nodes[0])
        world.run(30)
        assert any("crashes" in line for line in world.journal.lines(10_000))
        return world.journal.digest, world.journal.count

    assert history(1) == history(1)
    assert history(1) != history(2)
