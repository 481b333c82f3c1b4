"""One hostile member in the worst place, and what she does to the routes of others.

How much is too much: `shift`. `ROOKERY_LIARS=100` tries so many seeds instead of a few.
"""

import os
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest

from rookery.mesh.routing.route_explanation import UNANSWERED
from rookery.sim.mesh.hostile import (
    DropRule,
    Flooder,
    Replayer,
    Sybils,
    all_but_handshakes,
    at_random,
    claim_cheap_links,
    claim_long_holding,
    drop_transit,
    every_packet,
    larger_than,
    to_or_from,
)
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.node_id import NodeId
from tests.mesh_sim.hive import explained
from tests.mesh_sim.shift import SIZE, Scene, check_shift, harmed, scene
from tests.mesh_sim.traffic import Traffic, left_s

SEEDS = range(1, 1 + int(os.environ.get("ROOKERY_LIARS", "2")))
PAIRS_MAX = 8  # that send packets over her
FOUND_S = 10.0
MEASURED_S = 240.0  # idle links are asked each 15 s, and each answer counts an eighth
SOME_FOUND_S = 45.0  # who drops a share only
TRIED_S = 15.0  # until relays that are not to blame are cleared

pytestmark = pytest.mark.parametrize("seed", SEEDS)


# --- lies ---


def test_who_says_that_her_links_cost_nothing_draws_no_routes(seed: int) -> None:
    one, world = harmed(seed, claim_cheap_links)
    check_shift(one, world)


def test_who_says_that_she_held_pings_draws_no_routes_and_is_named(seed: int) -> None:
    """Also together with the other lie; her neighbours say what they measure instead."""

    def harm(world: MeshWorld, node: SimulatedMember) -> None:
        claim_long_holding(node.endpoint, node.core)
        claim_cheap_links(world, node)

    one, world = harmed(seed, harm, MEASURED_S)
    check_shift(one, world)
    near = next(iter(one.topology.neighbours(one.hostile)))
    notes = [line for line in explained(world, near, one.hostile) if line.startswith("note:")]
    assert any("claims to have held beats" in line for line in notes), f"seed {seed}: {notes}"
    assert any("the worse of both counts" in line for line in notes), f"seed {seed}: {notes}"


# --- relays that drop ---


class Dropping(NamedTuple):
    """What she drops, whom that concerns, and by when those must have left her."""

    drops: Callable[[MeshWorld, Scene], DropRule]
    within_s: float = FOUND_S
    is_one: bool = False  # only packets of or for one member


def _victim(world: MeshWorld, one: Scene) -> NodeId:
    return world.identifier(one.passing()[0][1])


DROPPINGS = {
    "black hole": Dropping(lambda _, __: every_packet),
    "all but handshakes": Dropping(lambda _, __: all_but_handshakes),
    "large ones": Dropping(lambda _, __: larger_than(600)),
    "of one member": Dropping(lambda *where: to_or_from(_victim(*where)), is_one=True),
    "two of five": Dropping(lambda _, one: at_random(0.4, Random(one.seed)), SOME_FOUND_S),
}


@pytest.mark.parametrize("name", DROPPINGS)
def test_packets_leave_a_relay_that_drops_them(seed: int, name: str) -> None:
    """All of them arrive again, other routes stay as they are, and `explain` tells why."""
    one, dropping = scene(seed), DROPPINGS[name]
    world, pairs = one.world(), one.passing()[:PAIRS_MAX]
    victim = _victim(world, one)
    traffic = Traffic(world, pairs, seed)
    concerned = [
        pair for pair in pairs if not dropping.is_one or victim in map(world.identifier, pair)
    ]
    drop_transit(world.members[one.hostile], dropping.drops(world, one))
    left = left_s(world, concerned, one.hostile, dropping.within_s)
    assert left.keys() == set(concerned), f"seed {seed}: {set(concerned) - left.keys()} still there"
    lines = [line for pair in concerned for line in explained(world, *pair)]
    assert any(line.startswith(f"note: {one.hostile} {UNANSWERED}") for line in lines)
    world.run(TRIED_S)
    check_shift(one, world)
    traffic.forget()
    world.run(5.0)
    world.run(1.0)
    arrived = traffic.arrived()
    lost = [pair for pair in concerned if arrived[pair] < 0.9 * traffic.sent[pair]]
    assert not lost, f"seed {seed}: {lost}"


# --- those who say too much ---


def test_what_is_said_or_sent_again_changes_nothing(seed: int) -> None:
    """Every datagram arrives once, whatever its relay sends twice more."""
    one = scene(seed)
    world, pairs = one.world(), one.passing()[:PAIRS_MAX]
    traffic = Traffic(world, pairs, seed)
    world.traces.hostile.add(world.identifier(one.hostile))
    replayer = Replayer(world, world.members[one.hostile])
    world.run(15.0)
    assert replayer.replayed > 1000, f"seed {seed}"
    check_shift(one, world)
    traffic.forget()
    world.run(5.0)
    more = [pair for pair, count in traffic.arrived().items() if count > traffic.sent[pair] + 2]
    assert not more, f"seed {seed}: {more}"


def test_a_flood_shifts_no_routes(seed: int) -> None:
    """Of records, forgeries, questions, packets for nobody and probes."""
    one, world = harmed(seed, lambda world, node: Flooder(world, node, Random(seed)), 15.0)
    check_shift(one, world)
    near = [world.members[number].core for number in one.topology.neighbours(one.hostile)]
    for core in near:
        assert len(core.rejected_frames) <= 16, f"seed {seed}: {core.rejected_frames}"
        assert any(
            name == world.members[one.hostile].hashname[:8] for name, _ in core.rejected_frames
        )


def test_names_that_are_all_hers_shift_no_routes(seed: int) -> None:
    """Forty members that she took in, each with links to all her neighbours, as it says."""
    sybils: list[Sybils] = []

    def harm(world: MeshWorld, node: SimulatedMember) -> None:
        sybils.append(Sybils(world, node, 40, Random(1000 + seed), name="member 1"))

    one, world = harmed(seed, harm)
    check_shift(one, world)
    assert len(world.members[0].core.membership.members) > SIZE + 20, f"seed {seed}"
