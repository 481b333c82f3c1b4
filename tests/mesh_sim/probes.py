"""Packets sent all the time from one member to another, and how long they fail to arrive."""

from collections.abc import Callable, Iterable

import msgspec

from rookery.sim.mesh_world import MeshWorld
from rookery.wire.node_id import NodeId

EVERY_S = 0.005
REPAIRED_WITHIN_S = 0.03  # of the detection
_LOOK_S = 0.001
_BEFORE_S = 1.0
_AFTER_S = 4.0
_DETECTION_S_MAX = 30.0
_LONGEST_WAY_S = 1.0


class Repair(msgspec.Struct, frozen=True):
    """Seconds since the harm was done, and how many packets it cost."""

    detected_s: float  # until the node before it knew
    repaired_s: float  # until the first of those packets was sent that all arrived
    late_s: float  # of the packets that were lost, how long after whoever lost them knew
    lost: int


class Probes:
    """From `source` to `target`, until stopped."""

    def __init__(self, world: MeshWorld, source: int, target: int) -> None:
        self.sent: dict[bytes, float] = {}
        self._world = world
        self._source, self._target = source, target
        self._is_stopped = False
        self._send()

    def stop(self) -> None:
        self._is_stopped = True

    def lost(self) -> list[float]:
        """When those were sent that never came."""
        return [sent_s for sent_s, _ in self.losses()]

    def losses(self) -> list[tuple[float, int]]:
        """Those that never came: when they were sent, and who had them last."""
        travels, numbers = self._world.travels, self._world.numbers
        losses = []
        for token, sent_s in self.sent.items():
            if token not in travels.arrived:
                last = travels.last_seen(token)
                losses.append((sent_s, self._source if last is None else numbers[last]))
        return losses

    def _send(self) -> None:
        world = self._world
        if self._is_stopped:
            return
        node, target = world.members[self._source], world.identifier(self._target)
        token = b"\x00\x00probe %d %d %.3f" % (self._source, self._target, world.now)
        self.sent[token] = world.now
        node.core.transit.start(target, token, world.now)
        node.due()
        world.at(world.now + EVERY_S, self._send)


class Detection:
    """Watches when each member learns that its link to one of the harmed is gone."""

    def __init__(self, world: MeshWorld, links: Iterable[tuple[int, NodeId]]) -> None:
        self.known_s: dict[int, float] = {}
        self._world = world
        self._open = list(links)
        self._look()

    def _look(self) -> None:
        world = self._world
        for number, peer in list(self._open):
            node = world.members.get(number)
            if node is None or not node.core.transit.usable(peer):
                self.known_s[number] = world.now
                self._open.remove((number, peer))
        if self._open:
            world.at(world.now + _LOOK_S, self._look)


def route(world: MeshWorld, source: int, target: int) -> list[int]:
    """The way that packets take now, as numbers of members."""
    choice = world.members[source].core.table.to(world.identifier(target), world.now)
    assert choice is not None
    return [world.numbers[node] for node in choice.route.nodes]


def repair(
    world: MeshWorld,
    way: list[int],
    links: Iterable[tuple[int, int]],
    harm: Callable[[], None],
) -> Repair:
    """Do harm to `links`, the first of which is on a busy way; when packets pass again."""
    probes = Probes(world, way[0], way[-1])
    world.run(_BEFORE_S)
    harmed_s = world.now
    links = list(links)
    harm()
    detection = Detection(world, [(one, world.identifier(other)) for one, other in links])
    before = links[0][0]
    world.run_until(lambda: before in detection.known_s, _DETECTION_S_MAX)
    world.run(_AFTER_S)
    probes.stop()
    world.run(_LONGEST_WAY_S)
    lost = probes.losses()
    # Whoever has no harmed link has no excuse; whoever has one may not know of it yet.
    known_s = dict.fromkeys((one for one, _ in links), world.now) | detection.known_s
    late_s = max((sent_s - known_s.get(last, harmed_s) for sent_s, last in lost), default=0.0)
    repaired_s = max((sent_s for sent_s, _ in lost), default=harmed_s - EVERY_S) + EVERY_S
    return Repair(known_s[before] - harmed_s, repaired_s - harmed_s, max(late_s, 0.0), len(lost))
