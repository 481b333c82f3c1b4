"""Packets sent all the time between members, and how long they fail to arrive after a blow.

    harm ──▶ first detection: a neighbour of the harmed gives its link up ──▶ all packets pass
    one pair ┴ all pairs, 200 a second each for a while

The way of a pair is repaired by whoever stands on it before the harm, once that one knows, by
itself or by word of another. So two times are told: how long packets of a pair are lost after the
one before the harm on their way knew, and how long any are after the first of all.

Before the detection one pair alone keeps its links busy, so that those which are idle, and find
out about the harm last by themselves, are also asked to carry packets.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

import msgspec
import networkx  # type: ignore[import-untyped]

from rookery.sim.mesh.topology import Pair
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.node_id import NodeId

EVERY_S = 0.005
REPAIRED_WITHIN_S = 0.03  # of the detection
_SELDOM_S = 0.1
_CLOSELY_S = 0.5
_LOOK_S = 0.001
_BEFORE_S = 1.0
_AFTER_S = 4.0
_DETECTION_S_MAX = 30.0
_LONGEST_WAY_S = 1.0


class Repair(msgspec.Struct, frozen=True):
    """What a blow did to the pairs whose packets passed there; seconds."""

    detected_s: float  # from the harm to the first who knew
    mended_s: float  # from when the one before the harm knew until a pair's packets pass, at most
    repaired_s: float  # from the first who knew until all packets pass
    word_s: float  # how long word takes from the first who knew to all whose links are harmed
    pairs: int
    lost: int  # packets sent after the first detection

    @property
    def late_s(self) -> float:
        """Beyond what light takes."""
        return self.repaired_s - self.word_s


class Probes:
    """From `source` to `target`, until stopped."""

    def __init__(self, world: MeshWorld, source: int, target: int, phase_s: float = 0.0) -> None:
        self.every_s = EVERY_S
        self.sent: dict[bytes, float] = {}
        self._world = world
        self._source, self._target = source, target
        self._is_stopped = False
        self._turn = 0
        world.at(world.now + phase_s, lambda: self._send(self._turn))

    def change(self, every_s: float, phase_s: float = 0.0) -> None:
        """Send so often from now on."""
        self.every_s = every_s
        self._turn += 1
        turn = self._turn
        self._world.at(self._world.now + phase_s, lambda: self._send(turn))

    def stop(self) -> None:
        self._is_stopped = True

    def lost(self) -> list[float]:
        """When those were sent that never came."""
        arrived = self._world.traces.arrived
        return [sent_s for token, sent_s in self.sent.items() if token not in arrived]

    def _send(self, turn: int) -> None:
        world = self._world
        if self._is_stopped or turn != self._turn:
            return
        node, target = world.members[self._source], world.identifier(self._target)
        token = b"\x00\x00probe %d %d %.6f" % (self._source, self._target, world.now)
        self.sent[token] = world.now
        node.core.data_plane.start(target, token, world.now)
        node.due()
        world.at(world.now + self.every_s, lambda: self._send(turn))


class Detection:
    """When members learn that their links to the harmed are gone."""

    def __init__(self, world: MeshWorld, links: Iterable[tuple[int, NodeId]]) -> None:
        self.known_s: dict[int, float] = {}  # by member, the first to know first
        self._world = world
        self._links = list(links)
        self._is_over = False
        self._look()

    def stop(self) -> None:
        self._is_over = True

    def _look(self) -> None:
        world = self._world
        for number, peer in self._links:
            node = world.members.get(number)
            if node is not None and not node.core.data_plane.usable(peer):
                self.known_s.setdefault(number, world.now)
        if not self._is_over:
            world.at(world.now + _LOOK_S, self._look)


def route(world: MeshWorld, source: int, target: int) -> list[int]:
    """The way that packets take now, as numbers of members."""
    choice = world.members[source].core.table.to(world.identifier(target), world.now)
    assert choice is not None
    return [world.numbers[node] for node in choice.route.nodes]


def repair(
    world: MeshWorld,
    pairs: Sequence[Pair],
    links: Collection[tuple[int, int]],
    harm: Callable[[], None],
) -> Repair:
    """Do harm to `links`, which packets of `pairs` pass; when all of these pass again.

    Of each link the first is the end that may learn of it. The first pair sends all the time.
    """
    before = [_before(route(world, *pair), links) for pair in pairs]
    probes = [Probes(world, *pairs[0])]
    probes[0].change(_SELDOM_S)
    world.run(_BEFORE_S)
    harmed_s = world.now
    harm()
    detection = Detection(world, [(one, world.identifier(other)) for one, other in links])
    world.run_until(lambda: bool(detection.known_s), _DETECTION_S_MAX)
    probes += [Probes(world, *pair) for pair in pairs[1:]]
    _pace(probes, EVERY_S)
    world.run(_CLOSELY_S)
    _pace(probes, _SELDOM_S)
    world.run(_AFTER_S)
    detection.stop()
    for each in probes:
        each.stop()
    world.run(_LONGEST_WAY_S)
    known_s = detection.known_s
    first, first_s = next(iter(known_s.items()))
    lost = [sent_s for each in probes for sent_s in each.lost() if sent_s >= first_s]
    return Repair(
        detected_s=first_s - harmed_s,
        mended_s=max(
            _since(each.lost(), known_s[one])
            for each, one in zip(probes, before, strict=True)
            if one is not None
        ),
        repaired_s=_since(lost, first_s),
        word_s=_word_s(world, first, {one for one, _ in links}),
        pairs=len(pairs),
        lost=len(lost),
    )


def _before(route: Sequence[int], links: Collection[tuple[int, int]]) -> int | None:
    """Who stands on a route before the first of some links; None: it passes none of them."""
    return next((one for one, other in pairwise(route) if (one, other) in links), None)


def _since(lost: Iterable[float], known_s: float) -> float:
    """How long packets were lost after a moment."""
    return max((sent_s + EVERY_S - known_s for sent_s in lost if sent_s >= known_s), default=0.0)


def _pace(probes: Sequence[Probes], every_s: float) -> None:
    """All as often, but none at the same moment."""
    for number, each in enumerate(probes):
        each.change(every_s, phase_s=every_s * number / len(probes))


def _word_s(world: MeshWorld, first: int, ends: set[int]) -> float:
    """How long packets take from one member to the farthest of others, along what is left."""
    graph = networkx.Graph()
    for pair in world.links():
        graph.add_edge(*pair, weight=world.topology.delays_s[pair])
    delays_s = networkx.single_source_dijkstra_path_length(graph, first)
    return float(max(delays_s[end] for end in ends if end in delays_s))
