"""Flooding: passes new statements on once, and compares with neighbours what each holds.

    news       ─ STATEMENTS ─▶   to at most six neighbours, never back where it came from (R2)
    now and    ─── DIGEST ───▶   equal: done
    then, and  ◀── DIGEST ────   else: by bucket
    with each  ── SUMMARY ───▶   of the buckets that differ
    new one    ◀ STATEMENTS ──   what you lack
               ◀─── WANT ─────   and I
               ─ STATEMENTS ─▶

A statement is news to a node once, so every flood ends. What waits for a neighbour is a set of
keys: a record that changes while it waits is sent once, in its newest form. What we send is
bounded in total, what we accept by neighbour (R4); losses are repaired by the next comparison.

The six neighbours are the three cheapest, for speed; the two next to us in the circle of all our
neighbours' ids, which alone reach everybody in a full mesh; and one by hash, a shortcut that other
nodes choose differently. Members with few links might be chosen by none of their neighbours, so
they always get the news as well.
"""

from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import assert_never

import msgspec

from rookery.errors import AuthenticationError, DecodeError, ProtocolError, RemoteError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.records.database import RecordDatabase, RecordVerdict
from rookery.mesh.records.flood_queue import WAITING_MAX, FloodQueue
from rookery.wire.link.frame_types import DIGEST, STATEMENTS, SUMMARY, WANT
from rookery.wire.mesh.flood import (
    WANTED_MAX,
    BucketDigests,
    RootDigest,
    StatementKey,
    Statements,
    Summary,
    SummarySection,
    Want,
    key_of,
    parse_digest,
)
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.statement import RECORD

FLOOD_TARGETS_MAX = 6
FLOOD_CHEAPEST = 3
FEW_LINKS = 6  # links


def flood_targets(
    own: NodeId, costs: Mapping[NodeId, int], lonely: Collection[NodeId] = ()
) -> tuple[NodeId, ...]:
    """`lonely`: those of our neighbours that have no more than `FEW_LINKS` links."""
    if len(costs) <= FLOOD_TARGETS_MAX:
        return tuple(costs)
    ring = sorted(costs)
    above = next((node for node in ring if node > own), ring[0])
    below = next((node for node in reversed(ring) if node < own), ring[-1])
    cheapest = sorted(costs, key=lambda node: (costs[node], node))
    by_hash = sorted(costs, key=lambda node: blake2b(own + node, digest_size=8).digest())
    chosen = tuple(dict.fromkeys([*cheapest[:FLOOD_CHEAPEST], above, below]))
    others = [node for node in by_hash if node not in chosen]
    chosen += tuple(others[: FLOOD_TARGETS_MAX - len(chosen)])
    return chosen + tuple(node for node in costs if node in lonely and node not in chosen)


SendFrame = Callable[[NodeId, bytes, bytes], None]

FRAME_TYPES = frozenset((STATEMENTS, DIGEST, SUMMARY, WANT))

_FRAME_OVERHEAD = 60  # bytes, of the packet around a frame
_BATCH_S = 0.005  # the first news leaves at once, more within that time together
_FIRST_SYNC_MAX_S = 0.1  # the first comparison with a new neighbour comes within that,
_FIRST_SYNC_GAP_S = 0.05  # and many of them one after the other
_RESYNC_S = 0.5
_DIGEST_COST = 20.0  # statements; the answer to one is long
_SUMMARY_COST = 1 / 16  # for each entry
_WANT_COST = 1 / 8  # for each key
_FORGERY_COST = 100.0  # neighbours verify what they pass on, so an honest one sends none
_WASTE_COST = 20.0  # for a certificate that was verified and is of no use
_RETURNS_PER_S = 20.0
_RETURNS_BURST = 100.0


class FloodLimits(msgspec.Struct, frozen=True):
    """What an operator may tune."""

    send_bytes_per_s: float = 128 * 1024.0  # to all neighbours together
    send_burst_bytes: float = 512 * 1024.0
    accept_per_s: float = 500.0  # statements from one neighbour
    accept_burst: float = 4000.0
    waiting_max: int = WAITING_MAX  # for one neighbour
    sync_interval_s: float = 10.0


class _FloodPeer:
    __slots__ = ("accept", "queue", "returns")

    def __init__(self, limits: FloodLimits, now: float) -> None:
        self.queue = FloodQueue(limits.waiting_max)
        self.accept = TokenBucket(limits.accept_per_s, limits.accept_burst, now)
        self.returns = TokenBucket(_RETURNS_PER_S, _RETURNS_BURST, now)


class Flooding:
    """Keeps one database in step with those of the neighbours."""

    def __init__(
        self,
        database: RecordDatabase,
        send: SendFrame,
        random: RandomBytes,
        *,
        limits: FloodLimits | None = None,
        now: float,
    ) -> None:
        self._database = database
        self._send = send
        self._random = random
        self._limits = limits or FloodLimits()
        self._budget = TokenBucket(
            self._limits.send_bytes_per_s, self._limits.send_burst_bytes, now
        )
        self._neighbours: dict[NodeId, _FloodPeer] = {}
        self._targets: tuple[NodeId, ...] = ()
        self._waiting: dict[NodeId, None] = {}  # those with something in their queue, in turn
        self._first_syncs: dict[NodeId, float] = {}
        self._sync_at = now
        self._flush_at: float | None = None
        self._batch_until = now
        self.bytes_sent = 0
        self.frames_sent = 0

    @property
    def targets(self) -> tuple[NodeId, ...]:
        """The neighbours that news is passed on to."""
        return self._targets

    @property
    def deadline(self) -> float | None:
        """When to call `tick`."""
        syncs = min(self._first_syncs.values(), default=self._sync_at)
        times = [min(syncs, self._sync_at)] if self._neighbours else []
        return min(times if self._flush_at is None else [*times, self._flush_at], default=None)

    def knows(self, neighbour: NodeId) -> bool:
        """Whether frames of this neighbour are taken yet."""
        return neighbour in self._neighbours

    def neighbours_changed(self, costs: Mapping[NodeId, int], now: float) -> None:
        """Who our neighbours are, and what the links to them cost."""
        for node in self._neighbours.keys() - costs.keys():
            del self._neighbours[node]
            self._waiting.pop(node, None)
            self._first_syncs.pop(node, None)
        if not self._neighbours:
            self._sync_at = self._next_sync(now)
        # Not all at once, however many links come up together (R4).
        at = max([now + self._chance() * _FIRST_SYNC_MAX_S, *self._first_syncs.values()])
        for node in [node for node in costs if node not in self._neighbours]:
            self._neighbours[node] = _FloodPeer(self._limits, now)
            self._first_syncs[node] = at
            at += _FIRST_SYNC_GAP_S
        records = self._database.records
        lonely = {n for n in costs if n in records and 0 < len(records[n].links) <= FEW_LINKS}
        self._targets = flood_targets(self._database.membership.own.node, costs, lonely)

    def publish(self, data: bytes, now: float, unix_s: float) -> None:
        """Tell the realm something new: our own record, or what we learnt outside of floods."""
        key = key_of(data)
        is_first = self._database.statement(key) is None
        if key.kind == RECORD:
            self._database.publish(data, now)
        else:
            self._database.offer(data, now, unix_s)
            self._database.reconcile(now)
        self._flood(key, None, now, with_certificate=is_first)

    def received(
        self,
        neighbour: NodeId,
        frame_type: int,
        head: bytes,
        body: bytes,
        now: float,
        unix_s: float,
    ) -> None:
        """Take in a neighbour's frame; RemoteError: some of it, or all, was refused."""
        state = self._neighbours.get(neighbour)
        if state is None:
            raise ProtocolError("flood frame of no neighbour")
        if frame_type == STATEMENTS:
            frame = Statements.parse(head, body)
            self._received_statements(neighbour, state, frame, now, unix_s)
        elif frame_type == DIGEST:
            self._received_digest(neighbour, state, parse_digest(head, body), now)
        elif frame_type == SUMMARY:
            self._received_summary(neighbour, state, Summary.parse(head, body), now)
        elif frame_type == WANT:
            self._received_want(neighbour, state, Want.parse(head, body), now)
        else:
            raise DecodeError("no flood frame")

    def tick(self, now: float) -> None:
        """Compare with the neighbours that are due, and send what had to wait."""
        for node in [node for node, at in self._first_syncs.items() if now >= at]:
            self._sync(node, now)
        if now >= self._sync_at and self._neighbours:
            nodes = tuple(self._neighbours)
            self._sync(nodes[int(self._chance() * len(nodes))], now)
            self._sync_at = self._next_sync(now)
        if self._flush_at is not None and now >= self._flush_at:
            self.flush(now)

    def flush(self, now: float) -> None:
        """Send what waits, one frame for each neighbour in turn, as far as the budget goes."""
        if now < self._batch_until:
            return
        self._flush_at = None
        if self._waiting:
            self._batch_until = now + _BATCH_S
        while self._waiting:
            if self._budget.level(now) <= 0:
                self._flush_at = max(self._budget.ready_at(1.0, now), self._batch_until)
                return
            node = next(iter(self._waiting))
            del self._waiting[node]
            queue = self._neighbours[node].queue
            frame = queue.next_frame(self._database, now)
            if frame is not None:
                self._transmit(node, frame, now)
            if queue:
                self._waiting[node] = None
            elif queue.has_overflowed:
                queue.has_overflowed = False
                self._first_syncs[node] = now + _RESYNC_S

    def _received_statements(
        self,
        neighbour: NodeId,
        state: _FloodPeer,
        frame: Statements,
        now: float,
        unix_s: float,
    ) -> None:
        first_error: RemoteError | None = None
        for data in frame.statements:
            if not state.accept.take(1.0, now):
                raise ProtocolError("too many statements")
            try:
                self._received_statement(neighbour, state, data, now, unix_s)
            except RemoteError as error:
                if isinstance(error, AuthenticationError):
                    state.accept.charge(_FORGERY_COST, now)
                elif data[1:2] != bytes((RECORD,)):
                    state.accept.charge(_WASTE_COST, now)
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def _received_statement(
        self, neighbour: NodeId, state: _FloodPeer, data: bytes, now: float, unix_s: float
    ) -> None:
        key = key_of(data)
        is_first = self._database.statement(key) is None
        match self._database.offer(data, now, unix_s):
            case RecordVerdict.NEW:
                state.queue.discard(key)
                self._flood(key, neighbour, now, with_certificate=is_first)
            case RecordVerdict.KNOWN:
                state.queue.discard(key)
            case RecordVerdict.STALE:
                if self._database.statement(key) and state.returns.take(1.0, now):
                    self._enqueue(neighbour, key, now)
            case RecordVerdict.OWN:
                pass  # only we can answer it, with a newer one
            case never:
                assert_never(never)

    def _flood(
        self, key: StatementKey, source: NodeId | None, now: float, *, with_certificate: bool
    ) -> None:
        certificate = None
        if with_certificate and key.kind == RECORD:
            # A node that first learns of an origin may not know that it is a member.
            certificate = self._database.certificate(key.key)
        for target in self._targets:
            if target != source:
                self._enqueue(target, key, now)
                if certificate is not None:
                    self._enqueue(target, certificate, now)

    def _received_digest(
        self, neighbour: NodeId, state: _FloodPeer, digest: RootDigest | BucketDigests, now: float
    ) -> None:
        _pay(state, _DIGEST_COST, now)
        self._first_syncs.pop(neighbour, None)
        inventory = self._database.inventory(now)
        if isinstance(digest, BucketDigests):
            state.queue.buckets.update(inventory.differing(digest))
            self._wait(neighbour, now)
        elif digest != inventory.root:
            self._transmit(neighbour, inventory.digests.serialize(), now)

    def _received_summary(
        self, neighbour: NodeId, state: _FloodPeer, summary: Summary, now: float
    ) -> None:
        _pay(state, 1 + sum(len(part.entries) for part in summary.sections) * _SUMMARY_COST, now)
        wanted: list[StatementKey] = []
        for section in summary.sections:
            wanted += self._compare(neighbour, section, now)
        for at in range(0, len(wanted), WANTED_MAX):
            want = Want(tuple(wanted[at : at + WANTED_MAX]))
            self._transmit(neighbour, want.serialize(), now)

    def _compare(
        self, neighbour: NodeId, section: SummarySection, now: float
    ) -> list[StatementKey]:
        """Send what the neighbour lacks in a bucket; the keys of what we lack."""
        theirs = {StatementKey(kind, key): version for kind, key, version in section.entries}
        for key, entry in self._database.inventory(now).entries(section.bucket).items():
            if theirs.get(key, -1) < entry.version:
                self._enqueue(neighbour, key, now)
        lacking = (entry for entry in section.entries if self._database.lacks(entry))
        return [StatementKey(entry.kind, entry.key) for entry in lacking]

    def _received_want(self, neighbour: NodeId, state: _FloodPeer, want: Want, now: float) -> None:
        _pay(state, 1 + len(want.keys) * _WANT_COST, now)
        for key in want.keys:
            if self._database.statement(key) is not None:
                self._enqueue(neighbour, key, now)

    def _sync(self, node: NodeId, now: float) -> None:
        self._first_syncs.pop(node, None)
        self._transmit(node, self._database.inventory(now).root.serialize(), now)

    def _enqueue(self, node: NodeId, key: StatementKey, now: float) -> None:
        self._neighbours[node].queue.add(key)
        self._wait(node, now)

    def _wait(self, node: NodeId, now: float) -> None:
        self._waiting.setdefault(node)
        if self._flush_at is None:
            self._flush_at = max(now, self._batch_until)

    def _transmit(self, node: NodeId, frame: tuple[bytes, bytes], now: float) -> None:
        head, body = frame
        size = len(head) + len(body) + _FRAME_OVERHEAD
        self._budget.charge(size, now)
        self.bytes_sent += size
        self.frames_sent += 1
        self._send(node, head, body)

    def _next_sync(self, now: float) -> float:
        return now + self._limits.sync_interval_s * (0.75 + self._chance() / 2)

    def _chance(self) -> float:
        """Between 0 and 1, without 1."""
        return int.from_bytes(self._random(4)) / 2**32


def _pay(state: _FloodPeer, cost: float, now: float) -> None:
    if not state.accept.take(cost, now):
        raise ProtocolError("too many questions")
