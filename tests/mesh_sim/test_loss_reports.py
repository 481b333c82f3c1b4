r"""Word of a lost link makes others look at once, and makes nobody give up what works.

      0 ─── 1
    / │     │ \
   5 ─── H ─── 2      everybody on the rim reaches those across over the hub,
    \ │     │ /       whose links are much faster than the rim's
      4 ─── 3
"""

from collections.abc import Sequence

import msgspec
import pytest

from rookery.mesh.quality.liveness import PathCondition
from rookery.sim.mesh.topology import Topology
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.record import RecordLink
from tests.mesh_sim.hive import HONEST, M, hive, routes
from tests.mesh_sim.probes import REPAIRED_WITHIN_S, repair, route
from tests.mesh_sim.puppet import Liar, Puppet

HUB = 6
WAVERING_S = 0.5
WHEEL = Topology(
    7,
    {
        **{(at, at + 1): 0.02 + 0.001 * at for at in range(5)},
        (0, 5): 0.026,
        **{(at, HUB): 0.003 + 0.0005 * at for at in range(6)},
    },
)


@pytest.fixture
def wheel() -> MeshWorld:
    world = MeshWorld(11, topology=WHEEL)
    world.converge(60)
    world.run(60.0)  # whatever is not in use is asked every 15 s only
    return world


def test_idle_links_to_a_relay_that_vanished_are_not_relied_on_after_the_first_word(
    wheel: MeshWorld,
) -> None:
    """M2: by themselves their ends would find out seconds later."""
    assert route(wheel, 0, 3) == [0, HUB, 3]
    assert route(wheel, 1, 4) == [1, HUB, 4]
    assert route(wheel, 2, 5) == [2, HUB, 5]
    links = [(near, HUB) for near in range(6)]
    done = repair(wheel, [(0, 3), (1, 4), (2, 5)], links, lambda: wheel.vanish(HUB))
    assert done.detected_s > 1.0
    assert done.late_s <= REPAIRED_WITHIN_S


def test_an_end_that_heard_nothing_of_a_reset_asks_when_the_other_says_so(
    wheel: MeshWorld,
) -> None:
    """M2: a middlebox may tell one side only, and then swallow what the other sends."""
    hub, rim = wheel.members[HUB], wheel.members[2]
    neighbour = rim.core.neighbours[hub.id]
    wheel.sever(2, HUB)
    for path in list(hub.core.neighbours[rim.id].streams):
        hub.endpoint.lost(path, wheel.now)
    hub.due()
    began_s = wheel.now
    wheel.run_until(lambda: neighbour.state is PathCondition.SUSPECT, 30)
    assert wheel.now - began_s < 0.1  # word may come all the way around the rim
    wheel.run_until(lambda: neighbour.state is PathCondition.DOWN, 30)
    assert wheel.now - began_s < 4.0


def test_a_link_that_works_is_doubted_for_a_round_trip(wheel: MeshWorld) -> None:
    """The hub lives, only its link to 1 is cut."""
    neighbour = wheel.members[3].core.neighbours[wheel.identifier(HUB)]
    cut = wheel.members[1].core.neighbours[wheel.identifier(HUB)]
    wheel.sever(1, HUB)
    wheel.run_until(lambda: neighbour.state is PathCondition.SUSPECT, 60)
    doubted_s = wheel.now
    assert cut.state is PathCondition.DOWN
    wheel.run_until(lambda: neighbour.state is PathCondition.UP, 1)
    assert wheel.now - doubted_s < 0.02


class Wavering(Liar):
    """Tells of its first link only, then of all, and so on, as often as a record is taken."""

    told_s = 0.0

    def update(
        self,
        links: Sequence[RecordLink],
        paths: Sequence[NetPath],
        now: float,
        unix_s: float,
    ) -> bytes | None:
        super().update(links, paths, now, unix_s)
        if self.record is None:
            return None
        self.deadline = self.told_s + WAVERING_S
        if now < self.deadline:
            return None
        self.told_s, self.sequence = now, self.sequence + 1
        said = sorted(links, key=lambda link: link.peer)[: None if self.sequence % 2 else 1]
        lie = msgspec.structs.replace(
            self.record, sequence=self.sequence, links=tuple(said), made_s=int(unix_s)
        )
        return self.sign(lie)


def test_whoever_keeps_saying_that_links_are_lost_takes_none_down() -> None:
    """R3: and those whom she says to be lost are doubted only now and then."""
    world = hive()
    before, mallory = routes(world), Puppet(world, M)
    neighbours = [
        neighbour
        for number in HONEST
        for peer, neighbour in world.members[number].core.neighbours.items()
        if peer != mallory.id
    ]
    mallory.claim(lambda links: links, Wavering)
    world.run(5.0)
    doubts = looks = 0
    for _ in range(3000):
        world.run(0.01)
        states = [neighbour.state for neighbour in neighbours]
        assert PathCondition.DOWN not in states
        doubts += states.count(PathCondition.SUSPECT)
        looks += len(states)
    assert 0 < doubts < 0.02 * looks
    mallory.claim(lambda links: links)
    world.run(120.0)
    assert routes(world) == before
