"""Members that stand still for a while, as processes do that are stopped or wait for a processor.

What was sent to them meanwhile comes in one burst when they go on, from peers that have given them
up, hung up, and dialled again.
"""

from collections import Counter, defaultdict
from itertools import permutations
from random import Random

import pytest

from rookery.errors import UnreachableError
from rookery.mesh.routing.echo import Echoed
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Pair, Topology
from rookery.sim.mesh.world import MeshWorld, ip
from tests.mesh_sim.probes import route

SIZE = 6
LARGE = 10
EVERY_S = 0.5
BACK_S = 8.0
IN_A_ROW = 3
STALL_S_MAX = 1.0


def ring(size: int) -> Topology:
    """Of members that also reach those next to their neighbours."""
    near = {1, 2, size - 2, size - 1}
    return Topology(
        size,
        {
            (one, other): 0.002 + 0.001 * ((3 * one + 5 * other) % 4)
            for one in range(size)
            for other in range(one + 1, size)
            if other - one in near
        },
    )


class Pings:
    """From everybody to everybody, and which were answered."""

    def __init__(self, world: MeshWorld) -> None:
        self._world = world
        self._asked: dict[bytes, tuple[Pair, float]] = {}
        self._answered: defaultdict[Pair, list[bool]] = defaultdict(list)
        for number, pair in enumerate(permutations(world.members, 2)):
            world.at(world.now + EVERY_S * (number * 0.618 % 1), self._ask, pair)

    def missing(self, since_s: float) -> list[Pair]:
        """The pairs of which not the last few, asked since then, were all answered."""
        answers: dict[Pair, list[bool]] = {
            pair: [] for pair in permutations(self._world.members, 2)
        }
        outcomes = {
            outcome.token: isinstance(outcome, Echoed)
            for node in self._world.members.values()
            for outcome in node.outcomes
        }
        for token, (pair, asked_s) in self._asked.items():
            if asked_s >= since_s and token in outcomes and pair in answers:
                answers[pair].append(outcomes[token])
        return [pair for pair, said in answers.items() if said[-IN_A_ROW:] != [True] * IN_A_ROW]

    def _ask(self, pair: Pair) -> None:
        world = self._world
        if not world.members.keys() >= set(pair):
            return
        node, other = (world.members[number] for number in pair)
        world.at(world.now + EVERY_S, self._ask, pair)
        if node.is_frozen:
            return
        try:
            token = node.core.ping(other.hashname, world.now)
        except UnreachableError:
            return
        self._asked[token] = pair, world.now
        node.due()


class Stalls:
    """Everybody stands still again and again, for a moment, as on a machine with too much to do."""

    def __init__(self, world: MeshWorld, random: Random) -> None:
        self._world = world
        self._random = random
        self.spared: set[SimulatedMember] = set()
        for node in world.members.values():
            world.at(world.now + random.random(), self._stall, node)

    def _stall(self, node: SimulatedMember) -> None:
        if not node.is_running:
            return
        seconds = self._random.uniform(0.0, STALL_S_MAX)
        if node not in self.spared:
            node.freeze()
            self._world.at(self._world.now + seconds, self._go_on, node)
        pause_s = seconds + self._random.expovariate(1 / STALL_S_MAX)
        self._world.at(self._world.now + pause_s, self._stall, node)

    def _go_on(self, node: SimulatedMember) -> None:
        if node.is_running and node not in self.spared:
            node.thaw()


def frozen(seed: int, seconds: float, *, is_slow: bool) -> tuple[MeshWorld, list[Pair]]:
    """A world in which somebody stood still for so long, and the pairs that it parted for good."""
    world, random = MeshWorld(seed, topology=ring(SIZE), is_dialable=True), Random(seed)
    world.converge(60)
    pings, victim = Pings(world), world.members[random.randrange(SIZE)]
    stalls = Stalls(world, random) if is_slow else None
    world.run(random.uniform(2.0, 4.0))
    if stalls is not None:
        stalls.spared.add(victim)
    victim.freeze()
    world.run(seconds)
    victim.thaw()
    thawed_s = world.now
    world.run(BACK_S)
    return world, pings.missing(thawed_s)


@pytest.mark.parametrize("seconds", [1.0, 2.5, 4.0, 10.0, 33.0])
def test_everybody_is_reached_again_after_a_member_stood_still(seconds: float) -> None:
    _, missing = frozen(int(10 * seconds), seconds, is_slow=False)
    assert missing == []


@pytest.mark.parametrize("seconds", [2.5, 10.0])
def test_everybody_is_reached_again_where_all_are_slow(seconds: float) -> None:
    _, missing = frozen(int(10 * seconds), seconds, is_slow=True)
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_one_trouble_after_the_other_parts_nobody_for_good(seed: int) -> None:
    """A relay dies, a link fails one way, a relay stands still: as ten processes are tried."""
    world, random = MeshWorld(seed, topology=ring(LARGE), is_dialable=True), Random(seed)
    world.converge(60)
    pings, stalls = Pings(world), Stalls(world, random)
    world.run(random.uniform(2.0, 4.0))
    world.kill(busiest(world)[1])
    world.run(random.uniform(2.0, 6.0))
    source, target, _ = busiest(world)
    world.network.block(ip(source), ip(target))
    world.run(random.uniform(3.0, 8.0))
    world.network.unblock(ip(source), ip(target))
    world.run(random.uniform(0.5, 4.0))
    victim = world.members[busiest(world)[1]]
    stalls.spared.add(victim)
    victim.freeze()
    world.run(10.0)
    victim.thaw()
    thawed_s = world.now
    world.run(2 * BACK_S)
    assert pings.missing(thawed_s) == []


def busiest(world: MeshWorld) -> tuple[int, int, int]:
    """The relay that most routes pass in the middle of this step, and its neighbours there."""
    steps: Counter[tuple[int, int, int]] = Counter()
    for pair in permutations(world.members, 2):
        nodes = route(world, *pair)
        steps.update(zip(nodes, nodes[1:], nodes[2:], strict=False))
    return steps.most_common(1)[0][0]
