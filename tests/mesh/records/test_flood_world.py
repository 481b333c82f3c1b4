"""Thirty nodes and more that flood, in virtual time: everybody comes to hold the same.

A failure replays from its seed.
"""

import pytest

from rookery.mesh.records.flooding import FloodLimits
from rookery.wire.link.frame_types import DIGEST, STATEMENTS
from tests.mesh.flood_world import FloodWorld, trusting

SIZE = 30


def published(world: FloodWorld) -> FloodWorld:
    for node in world.nodes.values():
        node.publish()
    return world


def settled(size: int = SIZE, degree: int = 6, seed: int = 1) -> FloodWorld:
    world = FloodWorld(size, seed=seed, verify=trusting)
    world.join_at_random(degree)
    published(world).converges_within(5.0)
    world.run(30.0)
    world.sent.clear()
    world.passed.clear()
    return world


@pytest.mark.parametrize("degree", [3, 6, SIZE - 1])
def test_one_publication_reaches_everybody_within_a_few_messages_each(degree: int) -> None:
    """M3: what a node tells its neighbours, all come to know."""
    world = settled(degree=degree)
    data = world.node(0).publish()
    assert world.converges_within(1.0) <= 0.2
    assert sum(world.passed.values()) <= SIZE * 6
    for (source, target, passed), times in world.passed.items():
        assert passed == data
        assert times == 1, (source, target)


def test_a_line_is_passed_in_one_direction() -> None:
    """R2: never back by the link it came in on."""
    world = FloodWorld(5, verify=trusting)
    world.join(*((number, number + 1) for number in range(4)))
    world.run(5.0)
    world.passed.clear()
    data = world.node(0).publish()
    world.run(1.0)
    nodes = [scribe.node for scribe in world.scribes]
    record_hops = [link for link in world.passed if link[2] == data]
    assert record_hops == [(nodes[at], nodes[at + 1], data) for at in range(4)]


def test_all_restarted_at_once_stays_bounded_and_converges() -> None:
    """R1, R4 (tinc#486): every record and certificate once per flood target, and no more."""
    world = settled()
    world.restart_all()
    world.converges_within(5.0)
    world.run(20.0)
    assert world.is_converged
    # Two statements for each origin, at most six targets for each node.
    assert sum(world.passed.values()) <= SIZE * SIZE * 2 * 6 * 1.1
    assert max(world.passed.values()) <= 3
    assert world.sent[STATEMENTS] < sum(world.passed.values()) / 2  # they travel together
    world.sent.clear()
    world.run(100.0)
    assert set(world.sent) == {DIGEST}
    assert world.sent[DIGEST] <= SIZE * 14


def test_restarted_again_and_again_nothing_piles_up() -> None:
    """R1: the epoch survives restarts, so each life replaces the one before."""
    world = settled(12)
    counts = []
    for _ in range(4):
        world.passed.clear()
        world.restart_all()
        world.converges_within(5.0)
        world.run(20.0)
        counts.append(sum(world.passed.values()))
        assert all(len(node.database.records) == 12 for node in world.nodes.values())
    assert max(counts) <= min(counts) * 1.3


def halves(world: FloodWorld) -> None:
    half = len(world.scribes) // 2
    for first in (0, half):
        for number in range(first, first + half):
            world.join((number, first + (number - first + 1) % half))


def test_a_healed_partition_converges_through_one_link() -> None:
    world = FloodWorld(SIZE, verify=trusting)
    halves(world)
    published(world).run(60.0)
    assert not world.is_converged
    world.join((0, SIZE // 2))
    assert world.converges_within(10.0) < 3.0
    assert set(world.refused) <= {"unknown member"}


def test_a_partition_that_nobody_noticed_is_healed_by_comparing() -> None:
    """No link went down or up, everything was just lost for a while."""
    world = settled()
    world.loss = 1.0
    published(world).run(60.0)
    assert not world.is_converged
    world.loss = 0.0
    assert world.converges_within(60.0) < 30.0


@pytest.mark.parametrize("seed", range(3))
def test_lossy_links_converge_too(seed: int) -> None:
    world = FloodWorld(SIZE, seed=seed, loss=0.3, verify=trusting)
    world.join_at_random(5)
    published(world).converges_within(90.0)


def test_newcomers_that_know_only_their_neighbours_come_to_know_everybody() -> None:
    """Certificates travel before the records that need them, and comparing does the rest."""
    world = FloodWorld(SIZE, acquainted=False)
    world.join_at_random(5)
    published(world).converges_within(60.0)
    for node in world.nodes.values():
        assert len(node.database.membership.members) == SIZE


def test_a_short_budget_delays_and_loses_nothing() -> None:
    """R4"""
    limits = FloodLimits(send_bytes_per_s=4_000.0, send_burst_bytes=8_000.0)
    world = FloodWorld(SIZE, verify=trusting, limits=limits)
    world.join_at_random(6)
    published(world)
    before = {key: node.flooding.bytes_sent for key, node in world.nodes.items()}
    world.run(10.0)
    for key, node in world.nodes.items():
        assert node.flooding.bytes_sent - before[key] <= 8_000 + 10 * 4_000 + 2_000
    world.converges_within(120.0)


def test_equal_seeds_give_equal_worlds() -> None:
    worlds = [FloodWorld(12, seed=5, loss=0.2, verify=trusting) for _ in range(2)]
    for world in worlds:
        world.join_at_random(4)
        published(world).run(40.0)
    one, other = worlds
    assert one.sent == other.sent
    assert list(one.passed) == list(other.passed)
