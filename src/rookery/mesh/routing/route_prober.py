"""Route prober: sends sealed probes along the routes in use and learns which relays drop packets.

    packets start for a member over relays ──▶ each second a probe along the same route, small and
    large in turn ──▶ its answer, back along the probe's own route
                  └─▶ none in time ──▶ evidence ──▶ the relays of that route are passed over

A route fails when chance alone would lose as many probes as were lost in less than one of 100,000
cases, given what its links are known to lose (`ProbeEvidence`). Links' losses are claims of their
ends, so they excuse a part of what is lost and never all of it.

Where several relays may be to blame, each is tried on a route that has none of the others, by
probes alone: when so many in a row come back, it is cleared. It is tried once, so that a relay that
drops a share is seldom lucky. Probe and answer are sealed for the two ends, so a relay can neither
tell them from data nor answer. Losses along a route that has gone since count against no relay.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import comb, sqrt
from typing import Final

import msgspec

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.link import Link, LinkState
from rookery.link.token_bucket import TokenBuckets
from rookery.mesh.membership.membership import Membership
from rookery.mesh.quality.path_quality import LOSS_PINGS
from rookery.mesh.routing.data_plane import DataPlane
from rookery.mesh.routing.forwarding import RouteNodes
from rookery.mesh.routing.graph import AVOIDED_US
from rookery.mesh.routing.route_table import RouteTable
from rookery.mesh.services import PROBES
from rookery.wire.link.frame_types import PROBE
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.mesh.ping import DATA_SIZE
from rookery.wire.mesh.probe import SIZES, TOKEN_SIZE, Probe, Probed
from rookery.wire.mesh.record import LOSS_MAX, Record

PROBES_MAX: Final = 32  # remembered
LOSS_MIN: Final = 0.02  # that no link is blamed for
CHANCE_MAX: Final = 1e-5
SILENT_AFTER: Final = 8  # lost in a row, whatever losses the links claim

_LOSS_MAX: Final = 0.6
_SPANS: Final = (3, 6, 12, 24, PROBES_MAX)


class ProbeEvidence:
    """The outcomes of the last probes along one route."""

    __slots__ = ("_all", "_large")

    def __init__(self) -> None:
        self._all: deque[bool] = deque(maxlen=PROBES_MAX)
        self._large: deque[bool] = deque(maxlen=PROBES_MAX)

    def add(self, size: int, *, is_lost: bool) -> None:
        self._all.append(is_lost)
        if size == DATA_SIZE:
            self._large.append(is_lost)

    def failure(self, loss: float) -> str | None:
        """Why the route fails, if its links lose this share of probes or answers; None if not.

        That is their ends' word, which excuses nothing once all are lost for long enough.
        """
        last = list(self._all)[-SILENT_AFTER:]
        if len(last) == SILENT_AFTER and all(last):
            return f"{SILENT_AFTER} of the last {SILENT_AFTER} probes over it were not answered"
        margin = 2 * sqrt(loss * (1 - loss) / LOSS_PINGS)  # it is an estimate itself
        loss = min(max(loss + margin, LOSS_MIN), _LOSS_MAX)
        for fates, what in ((self._all, "probes"), (self._large, "large probes")):
            for span in _SPANS:
                last = list(fates)[-span:]
                if len(last) == span and _chance(last, loss) < CHANCE_MAX:
                    return f"{sum(last)} of the last {span} {what} over it were not answered"
        return None


def _chance(fates: Sequence[bool], loss: float) -> float:
    """The probability of as many losses or more by chance alone."""
    count, lost = len(fates), sum(fates)
    return sum(
        comb(count, some) * loss**some * (1 - loss) ** (count - some)
        for some in range(lost, count + 1)
    )


EVERY_S: Final = 1.0
BUSY_S: Final = 10.0  # so long after its last packet a route is probed
PROBED_MAX: Final = 64  # destinations at a time
CLEARED_BY: Final = 8  # probes in a row that come back

_PATIENCE_S: Final = (1.0, 3.0)
_ANSWERS_PER_S: Final = 4.0  # to one member
_ANSWERS_BURST: Final = 16.0


class _PendingProbe(msgspec.Struct, frozen=True, gc=False):
    destination: NodeId
    route: RouteNodes
    size: int
    until: float
    relay: NodeId | None  # that is tried; None: the route is in use


class _ProbedRoute:
    """One destination whose route is in use."""

    __slots__ = ("count", "evidence", "next_s", "route", "trials")

    def __init__(self, now: float) -> None:
        self.count = 0
        self.next_s = now
        self.route: RouteNodes = ()
        self.evidence = ProbeEvidence()
        self.trials: dict[
            NodeId, int
        ] = {}  # of relays: probes that came back, minus one: it failed


class RouteProber:
    """The probes of one node, and its answers to those of others."""

    def __init__(
        self,
        links: Mapping[str, Link],
        membership: Membership,
        records: Mapping[NodeId, Record],
        table: RouteTable,
        data_plane: DataPlane,
        random: RandomBytes,
    ) -> None:
        self._links = links
        self._membership = membership
        self._records = records
        self._table = table
        self._data_plane = data_plane
        self._random = random
        self._probed: dict[NodeId, _ProbedRoute] = {}
        self._pending: dict[bytes, _PendingProbe] = {}  # by token, oldest first
        self._answers = TokenBuckets(_ANSWERS_PER_S, _ANSWERS_BURST)

    # --- what arrives ---

    def received(
        self, link: Link, arrival: Arrival | None, head: bytes, body: bytes, now: float
    ) -> None:
        """A PROBE or PROBED frame of the member at the far end; RemoteError when refused."""
        if arrival is None or self._membership.by_hashname(link.hashname) is None:
            raise ProtocolError("a probe of no route to a member")
        if head[0] == PROBE:
            self._answer(link, Probe.parse(head, body), arrival.back, now)
            return
        probed = Probed.parse(head, body)
        pending = self._pending.get(probed.token)
        if pending is not None and pending.destination == node_id(link.hashname):
            del self._pending[probed.token]
            self._learn(pending, now, is_lost=False)

    def _answer(self, link: Link, probe: Probe, back: RouteNodes, now: float) -> None:
        if not self._answers.take(node_id(link.hashname), now):
            raise ProtocolError("too many probes")
        sealed = link.sealed_frame(*Probed(probe.token).serialize())
        if sealed is not None:
            self._data_plane.follow(back, sealed, now)

    # --- time ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        times = [probed.next_s for probed in self._probed.values()]
        times += [pending.until for pending in list(self._pending.values())[:1]]
        if len(self._probed) < min(len(self._data_plane.started), PROBED_MAX):
            times.append(self._data_plane.now)  # somewhere packets have just started
        return min(times, default=None)

    def tick(self, now: float) -> None:
        for token, pending in list(self._pending.items()):
            if now >= pending.until:
                del self._pending[token]
                self._learn(pending, now, is_lost=True)
        self._follow_traffic(now)
        for destination, probed in self._probed.items():
            if now >= probed.next_s:
                probed.next_s = now + EVERY_S
                self._ask(destination, probed, now)
        self._forgive()

    def forget(self, node: NodeId) -> None:
        """No member any more."""
        self._probed.pop(node, None)
        self._answers.forget(node)

    def _follow_traffic(self, now: float) -> None:
        """Probe the destinations of recent packets, and no others."""
        started = self._data_plane.started
        for destination in [node for node, at in started.items() if now >= at + BUSY_S]:
            del started[destination]
        for destination in self._probed.keys() - started.keys():
            del self._probed[destination]
        for destination in started:
            if destination not in self._probed and len(self._probed) < PROBED_MAX:
                self._probed[destination] = _ProbedRoute(now)

    def _ask(self, destination: NodeId, probed: _ProbedRoute, now: float) -> None:
        route = self._data_plane.current_route(destination, now)
        if route is None:
            return
        if route != probed.route:
            probed.route, probed.evidence = route, ProbeEvidence()
        probed.count += 1
        self._send(destination, route, probed.count, None, now)
        doubted = {doubt.relay for doubt in self._data_plane.blackhole_relays.towards(destination)}
        probed.trials = {node: count for node, count in probed.trials.items() if node in doubted}
        for relay in doubted if len(doubted) > 1 else ():
            detour = self._table.detour(destination, doubted - {relay})
            if detour is not None and relay in detour.inner and probed.trials.get(relay, 0) >= 0:
                self._send(destination, detour.nodes, probed.count, relay, now)

    def _send(
        self, destination: NodeId, route: RouteNodes, count: int, relay: NodeId | None, now: float
    ) -> None:
        link = self._link_that_answers(destination)
        if len(route) == 2 or not self._data_plane.sound(route[1]) or link is None:
            return
        probe = Probe(self._random(TOKEN_SIZE), SIZES[count % len(SIZES)])
        sealed = link.sealed_frame(*probe.serialize())
        if sealed is not None and self._data_plane.try_out(route, sealed, now):
            until = now + self._patience_s(route)
            self._pending[probe.token] = _PendingProbe(destination, route, probe.size, until, relay)

    def _link_that_answers(self, destination: NodeId) -> Link | None:
        """The link to a member that answers probes; older nodes do not."""
        member, record = self._membership.member(destination), self._records.get(destination)
        if member is None or record is None or PROBES not in record.services:
            return None
        link = self._links.get(member.hashname)
        return link if link is not None and link.state is LinkState.UP else None

    def _patience_s(self, route: RouteNodes) -> float:
        priced, (least_s, most_s) = self._table.priced(route), _PATIENCE_S
        cost_us = 0 if priced is None else sum(us % AVOIDED_US for us in priced.costs_us)
        return min(max(least_s, 8 * cost_us / 1e6), most_s)

    # --- what follows ---

    def _learn(self, pending: _PendingProbe, now: float, *, is_lost: bool) -> None:
        probed = self._probed.get(pending.destination)
        if probed is None:
            return
        if pending.relay is not None:
            self._try(pending.destination, pending.relay, probed, is_lost=is_lost)
            return
        if probed.route != pending.route:
            return
        if is_lost and not self._data_plane.sound(pending.route[1]):
            return  # it may have been lost on our own link
        probed.evidence.add(pending.size, is_lost=is_lost)
        if not is_lost:
            self._data_plane.blackhole_relays.delivered(pending.route, now)
            return
        failure = probed.evidence.failure(self._loss(pending.route))
        if failure is not None:
            self._data_plane.blackhole_relays.failed(pending.route, failure, now)

    def _try(
        self, destination: NodeId, relay: NodeId, probed: _ProbedRoute, *, is_lost: bool
    ) -> None:
        count = probed.trials.get(relay, 0)
        if count < 0:
            return
        probed.trials[relay] = -1 if is_lost else count + 1
        if probed.trials[relay] == CLEARED_BY:
            self._data_plane.blackhole_relays.clear(destination, relay)

    def _loss(self, route: RouteNodes) -> float:
        """The share of probes or answers that the links of a route lose, as their ends claim."""
        arrive = 1.0
        for one, other in pairwise(route):
            arrive *= 1 - self._loss_between(one, other)
        return 1 - arrive

    def _loss_between(self, one: NodeId, other: NodeId) -> float:
        """The greater of both ends' claims: the other end may not have published it yet."""
        said = []
        for node, peer in ((one, other), (other, one)):
            record = self._records.get(node)
            links = () if record is None else record.links
            said += [link.loss / LOSS_MAX for link in links if link.peer == peer]
        return max(said, default=0.0)

    def _forgive(self) -> None:
        """Clear relays of routes with a link that is gone: it explains the losses."""
        blackhole_relays = self._data_plane.blackhole_relays
        gone = {
            doubt.route for doubt in blackhole_relays if self._table.priced(doubt.route) is None
        }
        for route in gone:
            blackhole_relays.forgive(route[-1], route)
