"""Certificates are shown until they have been seen: a frame may overtake the handshake it needs."""

from rookery.link.link import Link
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.link.frame_types import MEMBER
from rookery.wire.link.path import Arrival, Path

PAIR = Topology(2, {(0, 1): 0.01})


class Deaf:
    """A member that does not hear the first certificates that it is shown."""

    def __init__(self, node: SimulatedMember, count: int) -> None:
        assert node.endpoint.frame_reader is not None
        self.shown = 0
        self._count = count
        self._read = node.endpoint.frame_reader
        node.endpoint.frame_reader = self._received

    def _received(
        self,
        link: Link,
        path: Path,
        head: bytes,
        body: bytes | memoryview,
        now: float,
        arrival: Arrival | None,
    ) -> None:
        if head[0] == MEMBER:
            self.shown += 1
            if self.shown <= self._count:
                return
        self._read(link, path, head, body, now, arrival)


def test_a_certificate_that_is_not_heard_is_shown_again() -> None:
    world = MeshWorld(seed=1, topology=PAIR)
    ends = [Deaf(node, 2) for node in world.members.values()]
    assert world.converge() < 6
    assert all(end.shown > 2 for end in ends)


def test_a_certificate_is_shown_once_where_it_is_heard() -> None:
    world = MeshWorld(seed=1, topology=PAIR)
    ends = [Deaf(node, 0) for node in world.members.values()]
    world.converge()
    world.run(300)
    assert [end.shown for end in ends] == [1, 1]


def test_the_pauses_become_longer() -> None:
    world = MeshWorld(seed=1, topology=PAIR)
    deaf = Deaf(world.members[0], 4)
    assert 15 < world.converge() < 17
    assert deaf.shown == 5
