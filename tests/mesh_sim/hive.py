r"""A small mesh with a hostile member in its middle, and what honest members know of her.

      1 ─── 2
    /     /   \
   0 ─── M     3      a ring of honest members, and Mallory,
    \     \   /       who is on the shortest route between three of them
      5 ─── 4
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import permutations

import pytest

from rookery.identity import signing
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from tests.mesh_sim.probes import route

M = 6
HONEST = range(6)
NEAR = (0, 2, 4)  # to Mallory
HIVE = Topology(
    7,
    {
        (0, 1): 0.016,  # so that no two routes between honest members cost nearly the same
        (1, 2): 0.008,
        (2, 3): 0.013,
        (3, 4): 0.015,
        (4, 5): 0.008,
        (0, 5): 0.02,
        (0, M): 0.008,
        (2, M): 0.003,
        (4, M): 0.007,
    },
)

Routes = dict[tuple[int, int], list[int]]


def hive(seed: int = 1) -> MeshWorld:
    world = MeshWorld(seed, topology=HIVE)
    world.traces.hostile.add(world.identifier(M))
    world.converge(60)
    world.run(20.0)  # what is measured becomes certain
    return world


def routes(world: MeshWorld, members: Iterable[int] = HONEST) -> Routes:
    return {(a, b): route(world, a, b) for a, b in permutations(members, 2)}


def reasons(world: MeshWorld, culprit: str) -> set[str]:
    """Why honest members refused something of this one."""
    return {reason for name, reason in _refused(world) if name == culprit}


def named(world: MeshWorld) -> set[str]:
    """Whom honest members blame for anything."""
    return {name for name, _ in _refused(world)}


def _refused(world: MeshWorld) -> Iterator[tuple[str, str]]:
    """But for records that come before their origin's certificate, which is nobody's fault."""
    for number in HONEST:
        for name, reason in world.members[number].core.rejected_frames:
            if reason != "unknown member":
                yield name, reason


def explained(world: MeshWorld, source: int, target: int) -> list[str]:
    """What a node says about its way to another, for people."""
    explanation = world.members[source].core.explain(world.members[target].hashname, world.now)
    return explanation.lines(lambda node: str(world.numbers[node]))


@contextmanager
def counted_signatures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Signatures that somebody has to look at; the same valid one counts once for all."""
    verify, seen = signing.verify, list[bytes]()

    def counting(key: bytes, message: bytes, signature: bytes) -> None:
        seen.append(signature)
        verify(key, message, signature)

    with monkeypatch.context() as patched:
        patched.setattr(signing, "verify", counting)
        yield seen
