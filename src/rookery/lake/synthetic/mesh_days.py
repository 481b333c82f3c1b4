"""A day's link samples, records and routing decisions of all nodes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rookery.lake.schema.landing import DECISIONS, LINK_SAMPLES, RECORD_CHANGES, RECORD_LINK
from rookery.lake.synthetic.batch import SyntheticBatch, latency_ms
from rookery.lake.synthetic.columns import FixedWidthTexts, texts_at
from rookery.lake.synthetic.link_quality import LinkQuality
from rookery.lake.synthetic.mesh import FADE_S, SyntheticMesh
from rookery.lake.synthetic.noise import Ints, noise, pair
from rookery.lake.synthetic.timeline import DAY_S, SyntheticTimeline, day_steps

RENEWAL_S = 1200
LIFETIME_S = 3600
OBSERVERS = 2  # of each record, so that losing one loses nothing

_CHANNEL = 70
_NOTICED_S = 5.0  # from a change to a new record


class SyntheticRecord(NamedTuple):
    """A record that a node publishes at a time."""

    at_s: float
    node: int
    is_withdrawn: bool = False


class SyntheticDecision(NamedTuple):
    at_s: float
    nodes: tuple[int, ...]
    previous: tuple[int, ...]
    verdict: str
    reason: str


class MeshDays:
    """One day of all realms at a time."""

    def __init__(
        self, seed: int, mesh: SyntheticMesh, timeline: SyntheticTimeline, links: LinkQuality
    ) -> None:
        self._seed = seed
        self._mesh = mesh
        self._timeline = timeline
        self._links = links
        self._spools = [f"node-{each[:8]}" for each in mesh.hashnames]
        self._ids = FixedWidthTexts(mesh.ids) if mesh.ids else None
        self._costs: list[int] = []
        if mesh.links:
            number = np.arange(0, len(links), 2, dtype=np.int64)
            quiet = links.measured(number, np.zeros_like(number), np.zeros(len(number)))
            self._costs = quiet.cost_us.tolist()

    def batches(self, day: int) -> list[SyntheticBatch]:
        if not self._mesh.hashnames:
            return []
        return [self._samples(day), self._records(day), self._decisions(day)]

    def boot(self, node: Ints) -> Ints:
        return self._timeline.start_ms - 60_000 + node

    def _senders(self, node: Ints) -> pa.Array:
        assert self._ids is not None
        return self._ids.take(node)

    def _samples(self, day: int) -> SyntheticBatch:
        links = len(self._links)
        step = np.repeat(day_steps(self._timeline, day), links)
        link = np.tile(np.arange(links, dtype=np.int64), self._timeline.steps_a_day)
        node = self._links.node[link]
        seconds = step * float(self._timeline.interval_s) + (node % 50) * 0.25
        at_ms = self._timeline.start_ms + (seconds * 1000).astype(np.int64)
        measured = self._links.measured(link, step, seconds)
        is_down = ~measured.is_up
        return SyntheticBatch(
            table=LINK_SAMPLES,
            names=self._spools,
            spool=node,
            received_ms=at_ms + latency_ms(self._seed, _CHANNEL, pair(link, step)),
            sender=self._senders(node),
            boot=self.boot(node),
            sequence=step * links + link + 1,
            at_ms=at_ms,
            columns={
                "realm": texts_at(self._mesh.realms, self._links.realm[link]),
                "node": self._links.names(node),
                "peer": self._links.peers(link),
                "path": texts_at(["udp4", "tcp4"], link % 2),
                "rtt_ms": pa.array(measured.rtt_ms, mask=is_down),
                "jitter_ms": pa.array(measured.jitter_ms, mask=is_down),
                "loss_in": pa.array(measured.loss_in, mask=is_down),
                "loss_out": pa.array(measured.loss_out, mask=is_down),
                "rate_kbps": pa.array(measured.rate_kbps, mask=is_down),
                "cost_us": pa.array(measured.cost_us, mask=is_down),
                "is_up": pa.array(measured.is_up),
            },
        )

    def records(self, day: int) -> list[SyntheticRecord]:
        """Records of all nodes, in order: renewals, and new ones when a link changed its state."""
        begin, end = day * float(DAY_S), (day + 1) * float(DAY_S)
        found: set[SyntheticRecord] = set()
        for node in range(len(self._mesh.hashnames)):
            offset = node % 60
            times = [begin + offset + at for at in range(0, DAY_S, RENEWAL_S)]
            links = set(self._mesh.links_of(node))
            news = [
                at + _NOTICED_S
                for down in self._mesh.downs
                if down.link in links
                for at in (down.from_s, down.to_s)
                if at < self._timeline.days * DAY_S
            ]
            times += [at for at in news if begin <= at < end]
            found |= {SyntheticRecord(at, node) for at in times if self._is_there(node, at)}
        found |= {each for each in self._goodbyes() if begin <= each.at_s < end}
        return sorted(found)

    def _is_there(self, node: int, at_s: float) -> bool:
        if node in self._mesh.leavers and at_s >= self._mesh.left_s:
            return False
        first, last = self._mesh.away
        return node != self._mesh.relays[-1] or not first <= at_s < last

    def _goodbyes(self) -> Iterator[SyntheticRecord]:
        yield SyntheticRecord(self._mesh.away[0], self._mesh.relays[-1], is_withdrawn=True)
        for leaver in self._mesh.leavers:
            yield SyntheticRecord(self._mesh.left_s, leaver, is_withdrawn=True)

    def claimed(self, record: SyntheticRecord) -> list[tuple[int, int]]:
        """Peers and costs that a record names."""
        if record.is_withdrawn:
            return []
        claimed = [
            (self._mesh.peer(record.node, link), self._costs[link])
            for link in self._mesh.links_of(record.node)
            if self._mesh.is_up(link, record.at_s)
        ]
        return claimed + [(to, 30_000) for node, to in self._mesh.claims if node == record.node]

    def _epoch(self, record: SyntheticRecord) -> int:
        is_back = record.node == self._mesh.relays[-1] and record.at_s >= self._mesh.away[1]
        return 2 if is_back else 1

    def _records(self, day: int) -> SyntheticBatch:
        records = self.records(day)
        rows = [(record, place) for record in records for place in range(OBSERVERS)]
        at_s = np.array([record.at_s + place for record, place in rows])
        at_ms = self._timeline.start_ms + (at_s * 1000).astype(np.int64)
        observers = [self._observers(record)[place] for record, place in rows]
        observer = np.array(observers, dtype=np.int64)
        names = self._mesh.hashnames
        links = [
            [{"peer": names[peer], "cost_us": cost} for peer, cost in self.claimed(record)]
            for record, _ in rows
        ]
        return SyntheticBatch(
            table=RECORD_CHANGES,
            names=self._spools,
            spool=observer,
            received_ms=at_ms + latency_ms(self._seed, _CHANNEL + 1, np.arange(len(rows))),
            sender=self._senders(observer),
            boot=self.boot(observer),
            sequence=day * 10_000_000 + np.arange(1, len(rows) + 1),
            at_ms=at_ms,
            columns={
                "realm": pa.array([self._realm(record.node) for record, _ in rows], pa.string()),
                "node": pa.array([names[record.node] for record, _ in rows], pa.string()),
                "epoch": pa.array([self._epoch(record) for record, _ in rows], pa.int64()),
                "number": pa.array([int(record.at_s) + 1 for record, _ in rows], pa.int64()),
                "lifetime_s": pa.array([LIFETIME_S] * len(rows), pa.int64()),
                "links": pa.array(links, pa.list_(RECORD_LINK)),
                "is_withdrawn": pa.array([record.is_withdrawn for record, _ in rows], pa.bool_()),
            },
        )

    def _realm(self, node: int) -> str:
        return self._mesh.realms[self._mesh.realm_of[node]]

    def _observers(self, record: SyntheticRecord) -> tuple[int, int]:
        """Two members of its realm that are never down."""
        return self._mesh.observers(self._mesh.realm_of[record.node])

    def decided(self, day: int) -> list[SyntheticDecision]:
        """The ends of a fading link take a detour at night."""
        found = []
        for link in self._mesh.fading:
            _, one, other = self._mesh.links[link]
            peers = {self._mesh.peer(one, each) for each in self._mesh.links_of(one)} - {other}
            detour, direct = (one, min(peers), other), (one, other)
            night, morning = (day * DAY_S + at for at in FADE_S)
            found.append(
                SyntheticDecision(night + 30.0, detour, direct, "changed", "clearly cheaper")
            )
            found.append(
                SyntheticDecision(morning + 60.0, direct, detour, "changed", "clearly cheaper")
            )
        return found

    def _decisions(self, day: int) -> SyntheticBatch:
        found = self.decided(day)
        at_s = np.array([each.at_s for each in found])
        source = np.array([each.nodes[0] for each in found], dtype=np.int64)
        at_ms = self._timeline.start_ms + (at_s * 1000).astype(np.int64)
        names = self._mesh.hashnames
        costs = noise(self._seed, _CHANNEL + 2, at_ms) % np.uint64(50_000)
        return SyntheticBatch(
            table=DECISIONS,
            names=self._spools,
            spool=source,
            received_ms=at_ms + 5,
            sender=self._senders(source),
            boot=self.boot(source),
            sequence=day * 1000 + np.arange(1, len(found) + 1),
            at_ms=at_ms,
            columns={
                "realm": pa.array([self._realm(each.nodes[0]) for each in found], pa.string()),
                "source": pa.array([names[each.nodes[0]] for each in found], pa.string()),
                "destination": pa.array([names[each.nodes[-1]] for each in found], pa.string()),
                "nodes": _node_lists([each.nodes for each in found], names),
                "cost_us": pa.array(costs.astype(np.int64)),
                "verdict": pa.array([each.verdict for each in found], pa.string()),
                "reason": pa.array([each.reason for each in found], pa.string()),
                "candidates": pa.array([2] * len(found), pa.int64()),
                "previous": _node_lists([each.previous for each in found], names),
            },
        )


def _node_lists(routes: list[tuple[int, ...]], names: list[str]) -> pa.Array:
    return pa.array([[names[node] for node in route] for route in routes], pa.list_(pa.string()))
