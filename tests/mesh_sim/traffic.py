"""Datagrams between members that have no link, small and large, and how many arrive."""

from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from random import Random

from rookery.errors import RookeryError
from rookery.sim.mesh.world import MeshWorld
from tests.mesh_sim.shift import Pair, route

EVERY_S = 0.2
SIZES = (100, 900)
LINKED_S = 15.0  # until all links are up, and what is sent has settled


class Traffic:
    """Between these pairs from now on, each over a link of its own."""

    def __init__(self, world: MeshWorld, pairs: Collection[Pair], seed: int) -> None:
        self.sent = Counter[Pair]()
        self._world = world
        self._random = Random(seed)
        self._numbers = {node.hashname: number for number, node in world.members.items()}
        for one, other in pairs:
            node = world.members[one]
            node.core.reach(world.members[other].hashname, world.now)
            node.due()
            world.at(world.now + self._random.uniform(0, EVERY_S), self._send, (one, other))
        world.run(LINKED_S)
        self.forget()

    def forget(self) -> None:
        """Count anew."""
        self.sent.clear()
        for node in self._world.members.values():
            node.datagrams.clear()

    def arrived(self) -> Counter[Pair]:
        """How many datagrams did, each counted as often as it came."""
        return Counter(
            (self._numbers[datagram.hashname], number)
            for number, node in self._world.members.items()
            for datagram in node.datagrams
        )

    def _send(self, pair: Pair) -> None:
        world, (one, other) = self._world, pair
        node, size = world.members[one], self._random.choice(SIZES)
        with suppress(RookeryError):  # a link may be down for a moment
            node.core.send_datagram(world.members[other].hashname, bytes(size), world.now)
            self.sent[pair] += 1
        node.due()
        world.at(world.now + EVERY_S, self._send, pair)


def left_s(
    world: MeshWorld, pairs: Iterable[Pair], relay: int, limit_s: float
) -> dict[Pair, float]:
    """When each pair's packets left a relay, until all had at the same time or time is over."""
    began_s, left, waiting = world.now, dict[Pair, float](), list(pairs)
    while world.now < began_s + limit_s and len(left) < len(waiting):
        world.run(0.5)
        for pair in waiting:
            if relay in route(world, *pair):
                left.pop(pair, None)
            else:
                left.setdefault(pair, world.now - began_s)
    return left
