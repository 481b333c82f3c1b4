"""Shift: how many routes between others one hostile member changes.

Three worlds of the same seed and topology: the member hostile, honest, and absent. A *route* is the
route that packets from one member to another take at the end, for every ordered pair of the others
that can reach each other without her. It is *shifted* when it is neither the route of the honest
world nor that of the world without her: to lose her as a relay is what her absence does, too.
The member is the one that most routes of the honest world pass, so that she can do the most harm.
"""

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations
from random import Random

import msgspec

from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Topology, random_topology
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.node_id import NodeId

SHIFT_MAX = 0.05
SIZE = 12
DEGREE = 4.0
SETTLE_S = 30.0

Pair = tuple[int, int]
Routes = dict[Pair, tuple[int, ...]]
Harm = Callable[[MeshWorld, SimulatedMember], object]


class Scene(msgspec.Struct, frozen=True):
    """What a seed makes, and how it is without harm."""

    seed: int
    topology: Topology
    hostile: int
    honest: Routes
    absent: Routes

    def world(self) -> MeshWorld:
        """Converged, and as honest as ever."""
        return settled(MeshWorld(self.seed, topology=self.topology, issuers=[self.hostile]))

    def passing(self) -> list[Pair]:
        """The pairs whose packets she relays while she is honest."""
        return [pair for pair, route in self.honest.items() if self.hostile in route]

    def shifted(self, found: Routes) -> list[str]:
        """The ways that are as in neither of the other worlds."""
        return [
            f"{route}, honest {self.honest[pair]}, without her {self.absent[pair]}"
            for pair, route in found.items()
            if route not in (self.honest[pair], self.absent[pair])
        ]


@lru_cache(8)
def scene(seed: int) -> Scene:
    topology = random_topology(Random(seed), SIZE, DEGREE)
    world = settled(MeshWorld(seed, topology=topology))
    everywhere = routes(world, range(SIZE))
    relays = Counter(node for route in everywhere.values() for node in route[1:-1])
    hostile = max(range(SIZE), key=lambda number: (relays[number], number))
    others = [number for number in range(SIZE) if number != hostile]
    honest = {pair: route for pair, route in everywhere.items() if hostile not in pair}
    world.kill(hostile)
    return Scene(seed, topology, hostile, honest, routes(settled(world), others))


def settled(world: MeshWorld) -> MeshWorld:
    world.converge(120)
    world.run(SETTLE_S)  # what is measured becomes certain
    return world


def harmed(seed: int, harm: Harm, seconds: float = SETTLE_S) -> tuple[Scene, MeshWorld]:
    """The world of a seed after its hostile member has had some time."""
    one = scene(seed)
    world = one.world()
    world.traces.hostile.add(world.identifier(one.hostile))
    harm(world, world.members[one.hostile])
    world.run(seconds)
    return one, world


def check_shift(one: Scene, world: MeshWorld) -> float:
    """The share of routes that she shifts; AssertionError when it is too much."""
    others = [number for number in range(SIZE) if number != one.hostile]
    found = routes(world, others)
    shifted = one.shifted(found)
    share = len(shifted) / len(found)
    assert share <= SHIFT_MAX, "\n".join([f"seed {one.seed}: {share:.1%} shifted", *shifted])
    return share


def routes(world: MeshWorld, members: "list[int] | range") -> Routes:
    found = {(a, b): route(world, a, b) for a, b in permutations(members, 2)}
    return {pair: nodes for pair, nodes in found.items() if nodes}


def route(world: MeshWorld, source: int, target: int) -> tuple[int, ...]:
    """Where packets go now, as numbers of members; none where no route leads there."""
    nodes = world.members[source].core.data_plane.current_route(world.identifier(target), world.now)
    return () if nodes is None else tuple(number(world, node) for node in nodes)


def number(world: MeshWorld, node: NodeId) -> int:
    """Who it is; minus one for a name that somebody made up."""
    return world.numbers.get(node, -1)
