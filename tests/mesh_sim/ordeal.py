"""Everything that can happen to a mesh, one after the other, and what it did to it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random

import msgspec

from rookery.sim.mesh.topology import Pair
from rookery.sim.mesh.world import MeshWorld
from tests.mesh_sim.oracle import STRETCH_MAX, stretches
from tests.mesh_sim.probes import REPAIRED_WITHIN_S, Repair, repair, route

HOPS_MIN = 3  # of the routes that are harmed
PAIRS_MAX = 24  # that send packets over what is harmed
_PAIRS_TRIED = 400
_SOURCES = 8  # members whose routes networkx looks at


class Figures(msgspec.Struct):
    """Seconds of virtual time, but for the stretch."""

    repairs: dict[str, Repair] = {}
    converged_s: dict[str, float] = {}
    stretch: float = 1.0

    def lines(self) -> Iterator[str]:
        for what, done in self.repairs.items():
            known, passed = f"{done.detected_s:.3f}", f"{1000 * done.repaired_s:.0f}"
            word = f"{1000 * done.word_s:.0f}"
            mended = f"{1000 * done.mended_s:.0f}"
            yield (
                f"{what}: known to one after {known} s, packets of {done.pairs} pairs pass "
                f"{passed} ms later, {done.lost} lost; word takes {word} ms to all concerned, "
                f"of whom each mends its ways within {mended} ms"
            )
        for what, seconds in self.converged_s.items():
            yield f"{what}: settled after {seconds:.2f} s"
        yield f"stretch {self.stretch:.4f}"


class Ordeal:
    """What is done to one world; every step ends when it has settled."""

    def __init__(self, world: MeshWorld, seed: int) -> None:
        self.world = world
        self.figures = Figures()
        self._random = Random(seed)

    def begin(self) -> None:
        self._settled("start")

    def cut(self) -> None:
        """A link is cut without a word while packets pass over it."""
        self._harm(
            "link cut", lambda before, after: self.world.sever(before, after), is_death=False
        )

    def death(self) -> None:
        """A relay's process dies, and its machine says so."""
        self._harm("relay dies", lambda _, after: self.world.kill(after), is_death=True)

    def disappearance(self) -> None:
        """A relay's machine is gone without a word."""
        self._harm("relay vanishes", lambda _, after: self.world.vanish(after), is_death=True)

    def flap(self, times: int = 4, every_s: float = 2.0) -> None:
        """A link comes and goes."""
        pair = self._random.choice(sorted(self.world.links()))
        for _ in range(times):
            self.world.sever(*pair)
            self.world.run(every_s)
            self.world.mend(*pair)
            self.world.run(every_s)
        self._settled("link flaps")

    def partition(self, seconds: float = 5.0) -> None:
        """Two halves that do not hear of each other, and of whom one loses somebody meanwhile."""
        everybody = sorted(self.world.members)
        self._random.shuffle(everybody)
        half = len(everybody) // 2
        self.world.divide(everybody[:half], everybody[half:])
        self.world.run(seconds)
        self._settled("divided")
        self.world.kill(everybody[0])
        self.world.run(1.0)
        self.world.divide()
        self._settled("healed")
        self.world.revive(everybody[0])
        self._settled("back again")

    def restart(self) -> None:
        """Everybody at the same moment."""
        self.world.restart_all()
        self._settled("all restarted")

    def mend(self) -> None:
        for pair in sorted(self.world.severed):
            self.world.mend(*pair)
        for number in range(self.world.topology.size):
            if number not in self.world.members:
                self.world.revive(number)
        self._settled("mended")

    def everything(self) -> Figures:
        """All of it, one after the other."""
        self.begin()
        self.cut()
        self.death()
        self.disappearance()
        self.mend()
        self.flap()
        self.partition()
        self.restart()
        return self.figures

    def blows(self) -> Figures:
        """What befalls single links and relays.

        Partitions and restarts, which flood everything anew and so take long in a large mesh, are
        left to `everything`.
        """
        self.begin()
        self.cut()
        self.death()
        self.disappearance()
        self.flap()
        return self.figures

    def _harm(self, what: str, harm: Callable[[int, int], None], *, is_death: bool) -> None:
        nodes = self._long_route()
        before, after = nodes[1], nodes[2]
        if is_death:
            links = [(near, after) for near in self.world.topology.neighbours(after)]
        else:
            links = [(before, after), (after, before)]
        pairs = self._pairs(nodes, lambda passed: _passes(passed, before, after, is_death=is_death))
        done = repair(self.world, pairs, links, lambda: harm(before, after))
        self.figures.repairs[what] = done
        assert done.mended_s <= REPAIRED_WITHIN_S, what
        assert done.late_s <= REPAIRED_WITHIN_S, what
        self._settled(what)

    def _long_route(self) -> list[int]:
        """A route with relays, whose every step can be harmed."""
        members = sorted(self.world.members)
        for _ in range(1000):
            nodes = route(self.world, *self._random.sample(members, 2))
            if len(nodes) > HOPS_MIN:
                return nodes
        raise AssertionError("no route is long enough")

    def _pairs(self, nodes: list[int], is_harmed: Callable[[list[int]], bool]) -> list[Pair]:
        """Many of those whose packets pass what is harmed, both ways."""
        members = sorted(self.world.members)
        pairs = {(nodes[0], nodes[-1]): None, (nodes[-1], nodes[0]): None}
        for _ in range(_PAIRS_TRIED):
            source, target = self._random.sample(members, 2)
            if len(pairs) < PAIRS_MAX and is_harmed(route(self.world, source, target)):
                pairs |= dict.fromkeys([(source, target), (target, source)])
        return list(pairs)

    def _settled(self, what: str) -> None:
        self.figures.converged_s[what] = self.world.converge()
        stretch = max(stretches(self.world, _SOURCES))
        self.figures.stretch = max(self.figures.stretch, stretch)
        assert stretch <= STRETCH_MAX, what


def _passes(nodes: list[int], before: int, after: int, *, is_death: bool) -> bool:
    if is_death:
        return after in nodes[1:-1]
    return any({before, after} == set(step) for step in pairwise(nodes))
