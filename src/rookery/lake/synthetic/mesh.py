"""The mesh of a synthetic dataset: realms, nodes and links, and the faults of the links.

`RandomMesh` draws as many realms as are asked for:

      ring A ═ relay ═ ring B        the relay is all that joins the rings
        │                            leaf: linked to one node of ring A only
       leaf

In the first realm a chord of ring B fails for good and a link of ring A degrades every night; in
the last one the relay is down for two hours. In each realm one node claims a link that its peer
does not confirm, and in the last hour one member leaves.

`RosterMesh` takes nodes and links from a roster instead: links that the roster marks degrade every
night or go down four times a day, and its relay is down for two hours once.
"""

import hashlib
from typing import NamedTuple

from rookery.errors import UsageError
from rookery.fleet.entry import server_id
from rookery.lake.synthetic.population import Population, synthetic_hashname
from rookery.lake.synthetic.roster import Roster
from rookery.lake.synthetic.timeline import DAY_S, HOUR_S, SyntheticTimeline
from rookery.wire.fleet.mac import mac_text
from rookery.wire.mesh.statement import REALM_ID_SIZE

REALM_SIZE_MIN = 10
FADE_S = (HOUR_S, 4 * HOUR_S)  # of every day
FLAP_INTERVAL_S = 6 * HOUR_S
FLAP_S = (5 * HOUR_S, 5 * HOUR_S + 900)  # of each interval

_AWAY_S = (14 * HOUR_S, 16 * HOUR_S)
_LEAF, _ANCHOR = 1, 2


class SyntheticLink(NamedTuple):
    """Between two nodes of a realm."""

    realm: int
    one: int
    other: int


class LinkOutage(NamedTuple):
    """When a link is down, in seconds since the dataset began."""

    link: int
    from_s: float
    to_s: float


class LinkBaseline(NamedTuple):
    """Values of a link while nothing is wrong."""

    rtt_ms: float
    loss: float


class SyntheticMesh:
    """Nodes and links by number; the subclasses decide which there are."""

    def __init__(self, population: Population, timeline: SyntheticTimeline) -> None:
        self.population = population
        self.timeline = timeline
        self.realms: list[str] = []
        self.realm_of: list[int] = []
        self.device_of: list[int | None] = []
        self.hashnames: list[str] = []
        self.ids: list[str] = []
        self.links: list[SyntheticLink] = []
        self.usual: dict[int, LinkBaseline] = {}  # of links that are not drawn
        self.relays: list[int] = []
        self.leaves: list[int] = []
        self.downs: list[LinkOutage] = []
        self.fading: list[int] = []
        self.dead: list[int] = []
        self.claims: list[tuple[int, int]] = []  # that nobody confirms
        self.leavers: list[int] = []

    def _link(self, one: int, other: int) -> None:
        self.links.append(SyntheticLink(self.realm_of[one], min(one, other), max(one, other)))

    def _take_away(self, relay: int) -> None:
        """Its links are down while it is away."""
        self.downs += [LinkOutage(link, *self.away) for link in self.links_of(relay)]

    @property
    def away(self) -> tuple[float, float]:
        """When the last realm has no relay."""
        day_s = self.timeline.days // 2 * DAY_S
        return float(day_s + _AWAY_S[0]), float(day_s + _AWAY_S[1])

    @property
    def left_s(self) -> float:
        return float(self.timeline.days * DAY_S - HOUR_S)

    def link(self, one: int, other: int) -> int:
        """Its number."""
        ends = min(one, other), max(one, other)
        return next(
            number for number, link in enumerate(self.links) if (link.one, link.other) == ends
        )

    def links_of(self, node: int) -> list[int]:
        return [number for number, link in enumerate(self.links) if node in link[1:]]

    def peer(self, node: int, link: int) -> int:
        _, one, other = self.links[link]
        return other if node == one else one

    def anchor(self, realm: int) -> int:
        """The only neighbour of the leaf."""
        leaf = self.leaves[realm]
        return self.peer(leaf, self.links_of(leaf)[0])

    def is_up(self, link: int, seconds: float) -> bool:
        return not any(
            down.link == link and down.from_s <= seconds < down.to_s for down in self.downs
        )

    def observers(self, realm: int) -> tuple[int, int]:
        """Two members that are never down."""
        return self.leaves[realm], self.leaves[realm] + 1


class RandomMesh(SyntheticMesh):
    """Realms that are drawn. Every second node runs on a device, the others on their own."""

    def __init__(
        self, population: Population, timeline: SyntheticTimeline, *, nodes: int, realms: int
    ) -> None:
        super().__init__(population, timeline)
        if nodes and nodes // max(realms, 1) < REALM_SIZE_MIN:
            raise UsageError(f"a realm has at least {REALM_SIZE_MIN} nodes")
        self.realms = [_realm_id(population.seed, number) for number in range(realms)]
        self.realm_of = [number * realms // nodes for number in range(nodes)]
        self.device_of = [_device(number, population.originals) for number in range(nodes)]
        self.hashnames = [
            synthetic_hashname(population.seed, "node", number)
            if device is None
            else population.hashnames[device]
            for number, device in enumerate(self.device_of)
        ]
        self.ids = [mac_text(server_id(each)) for each in self.hashnames]
        for realm in range(realms if nodes else 0):
            self._connect([node for node in range(nodes) if self.realm_of[node] == realm])
        if nodes:
            self._break()

    def _connect(self, members: list[int]) -> None:
        relay, leaf, *rest = members
        halves = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        self.relays.append(relay)
        self.leaves.append(leaf)
        for half in halves:
            for index, node in enumerate(half):
                self._link(node, half[(index + 1) % len(half)])
            for index in range(0, len(half) - 2, 3):
                self._link(half[index], half[index + 2])
            self._link(relay, half[0])
            self._link(relay, half[1])
        self._link(leaf, members[_ANCHOR])
        self.claims.append((halves[0][1], halves[1][-1]))
        self.leavers.append(halves[1][-1])

    def _break(self) -> None:
        end_s = float(self.timeline.days * DAY_S)
        rest = [node for node in range(len(self.hashnames)) if self.realm_of[node] == 0][2:]
        ring_a, ring_b = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        self.dead.append(self.link(ring_b[0], ring_b[2]))
        self.downs.append(LinkOutage(self.dead[0], round(end_s * 0.4), end_s))
        self.fading.append(self.link(ring_a[1], ring_a[2]))
        self._take_away(self.relays[-1])
        for leaver in self.leavers:
            for link in self.links_of(leaver):
                self.downs.append(LinkOutage(link, end_s - HOUR_S, end_s))


def _device(node: int, devices: int) -> int | None:
    return node // 2 if node % 2 and node // 2 < devices else None


def _realm_id(seed: int, number: int) -> str:
    return hashlib.sha256(f"{seed} realm {number}".encode()).digest()[:REALM_ID_SIZE].hex()


class RosterMesh(SyntheticMesh):
    """One realm, whose nodes run on the first devices of the roster."""

    def __init__(self, population: Population, timeline: SyntheticTimeline, roster: Roster) -> None:
        super().__init__(population, timeline)
        if not roster.nodes:
            return
        self.realms = [roster.realm]
        self.realm_of = [0] * roster.nodes
        self.device_of = list(range(roster.nodes))
        self.hashnames = population.hashnames[: roster.nodes]
        self.ids = [mac_text(server_id(each)) for each in self.hashnames]
        self.relays = [roster.relay]
        for number, link in enumerate(roster.links):
            self._link(link.one, link.other)
            self.usual[number] = LinkBaseline(link.rtt_ms, link.loss)
        self.fading = [number for number, link in enumerate(roster.links) if link.fades]
        self._take_away(roster.relay)
        for number, link in enumerate(roster.links):
            if link.flaps:
                self._flap(number)

    def _flap(self, link: int) -> None:
        for begin in range(0, self.timeline.days * DAY_S, FLAP_INTERVAL_S):
            self.downs.append(LinkOutage(link, float(begin + FLAP_S[0]), float(begin + FLAP_S[1])))

    def observers(self, realm: int) -> tuple[int, int]:
        one, other, *_ = (each for each in range(len(self.hashnames)) if each not in self.relays)
        return one, other
