"""The deterministic world."""

import pytest

from rookery.errors import UnreachableError
from rookery.link.link import LinkState
from rookery.sim.world import World
from rookery.wire.path import NetPath


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


def test_a_node_that_is_gone_neither_hears_nor_speaks() -> None:
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
