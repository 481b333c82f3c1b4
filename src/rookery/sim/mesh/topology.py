"""Random topologies: which members are linked, and how far apart they are."""

from collections.abc import Iterable, Iterator
from random import Random

import msgspec

Pair = tuple[int, int]  # the smaller number first


class Topology(msgspec.Struct, frozen=True):
    """Members by number; `delays_s` has the one-way delay of every link."""

    size: int
    delays_s: dict[Pair, float]

    def neighbours(self, number: int) -> Iterator[int]:
        for one, other in self.delays_s:
            if number in (one, other):
                yield other if number == one else one


def random_topology(
    random: Random, size: int, degree: float = 6.0, delay_s: tuple[float, float] = (0.002, 0.06)
) -> Topology:
    """A ring, so that no single death divides it, and chords up to the mean degree."""
    order = list(range(size))
    random.shuffle(order)
    pairs = {_pair(order[at - 1], order[at]) for at in range(size)} if size > 1 else set()
    wanted = min(round(size * degree / 2), size * (size - 1) // 2)
    while len(pairs) < wanted:
        pairs.add(_pair(*random.sample(range(size), 2)))
    return Topology(size, {pair: random.uniform(*delay_s) for pair in sorted(pairs)})


def components(members: Iterable[int], pairs: Iterable[Pair]) -> list[set[int]]:
    """The connected components over these links."""
    whole = {number: {number} for number in members}
    for one, other in pairs:
        if one in whole and other in whole and whole[one] is not whole[other]:
            whole[one] |= whole[other]
            for number in whole[other]:
                whole[number] = whole[one]
    return list({id(part): part for part in whole.values()}.values())


def _pair(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)
