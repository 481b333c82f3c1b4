"""Publisher: makes our own record anew when something worth publishing has changed.

    a link is gone, an address changed             at once
    a link is new                                  0.2 s after the first new one, with all others
    a cost changed by 4 steps of 12.5 % or more    at once
    a cost changed by 2 or 3 steps                 when that has lasted 3 s
    nothing                                        at two fifths to half of the lifetime

At most one record a second, after a burst of five. Records for changed costs alone, of which a
node with many links always has some, are limited to one every ten seconds, after a burst of five.
New links are gathered, longer after each record that had some, up to 0.8 s. Losses are never held
back. A link that keeps coming and going is published later each time (`FlapDamping`: each loss
adds to a penalty that halves every minute), unless it is the only link to its part of the realm,
or we or the peer have lost all links at once: then two of those that are back are published
anyway. A cost that changed by less than two steps is repeated as it was, so that routes elsewhere
stay as they are. Losing a peer removes its link from the next record and nothing else (R3).
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import inf, log
from types import MappingProxyType

from rookery.identity import signing
from rookery.link.token_bucket import TokenBucket
from rookery.mesh.membership.membership import Member
from rookery.mesh.records.advertised_links import (
    CHOSEN_MAX,
    advertised_links,
    is_hardly_confirmed,
    only_links,
)
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.certificate import role_bits
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import COST_MAX, PATHS_MAX, Record, RecordLink, Version
from rookery.wire.mesh.statement import RECORD, Statement, to_sign

LOSS_PENALTY = 1.0
JUMP_PENALTY = 1.0  # a cost that fell so much that it was published at once
PENALTY_MAX = 6.0
HOLD_MAX_S = 2.0**PENALTY_MAX

_HALF_LIFE_S = 60.0
_HARMLESS = 1.5
_FORGOTTEN = 0.1


class FlapDamping:
    __slots__ = ("_at", "_penalty")

    def __init__(self, now: float) -> None:
        self._penalty = 0.0
        self._at = now

    def penalty(self, now: float) -> float:
        self._penalty *= 0.5 ** (max(0.0, now - self._at) / _HALF_LIFE_S)
        self._at = now
        return self._penalty

    def add(self, amount: float, now: float) -> None:
        self._penalty = min(PENALTY_MAX, self.penalty(now) + amount)

    def hold_s(self, now: float) -> float:
        """How long a link has to stay up before it is published."""
        penalty = self.penalty(now)
        return 0.0 if penalty < _HARMLESS else 2.0**penalty

    def is_forgotten(self, now: float) -> bool:
        return self.penalty(now) < _FORGOTTEN


LIFETIME_S = 7200
RECORDS_PER_S = 1.0
RECORDS_BURST = 5.0
COSTS_PER_S = 0.1
COSTS_BURST = 5.0
GATHER_S = 0.2
GATHER_S_MAX = 0.8
STEP = 1.125
# On a fast path a busy machine doubles the round trip; records should not change for that.
NOISE_US = 10_000

_STEPS_HELD = 2
_STEPS_AT_ONCE = 4
_HELD_S = 3.0
_COSTS_FIRST = 3.0  # of the burst are spent at the start: first measures are soon better ones
_PUBLISHED_MIN = 2  # links, if we have them: with one alone there is no route around its loss
_FEW_S = 10.0  # without new links, and the next ones are gathered as shortly as the first
_CHOICE_S = 2.0  # how long a choice among many links holds
_WATCHED_MAX = 1024
_U32_MAX = 2**32 - 1
_NO_RECORDS: Mapping[NodeId, Record] = MappingProxyType({})


def steps(cost_us: int) -> int:
    """A cost in steps of 12.5 %, what any path may cost by chance included."""
    return round(log(cost_us + NOISE_US) / log(STEP))


def quantised(cost_us: int) -> int:
    """The cost that is published for all costs of one step."""
    return min(COST_MAX, max(1, round(STEP ** steps(cost_us)) - NOISE_US))


class _PublishedLink:
    """One peer, as long as it matters: while there is a link, and while its losses do."""

    __slots__ = ("damping", "deviates_since", "is_dearer", "is_present", "steps", "worthy_at")

    def __init__(self, now: float) -> None:
        self.damping = FlapDamping(now)
        self.is_present = False
        self.worthy_at = now  # when a link that came up may be published
        self.steps = 0  # its cost now
        self.deviates_since: float | None = None  # from the published cost, by 2 steps or more
        self.is_dearer = False

    def seen(self, cost_us: int, published: RecordLink | None, now: float) -> None:
        self.steps = steps(cost_us)
        if not self.is_present:
            self.is_present = True
            self.worthy_at = now + self.damping.hold_s(now)
        change = 0 if published is None else self.steps - steps(published.cost_us)
        if abs(change) < _STEPS_HELD:
            self.deviates_since = None
        elif self.deviates_since is None or self.is_dearer is not (change > 0):
            self.deviates_since = now
            self.is_dearer = change > 0

    def lost(self, now: float) -> None:
        if self.is_present:
            self.is_present = False
            self.deviates_since = None
            self.damping.add(LOSS_PENALTY, now)

    def due_at(self, published: RecordLink, now: float) -> float | None:
        """When a changed cost has to be published."""
        if self.deviates_since is None:
            return None
        held_s = 0.0 if abs(self.steps - steps(published.cost_us)) >= _STEPS_AT_ONCE else _HELD_S
        if not self.is_dearer:
            held_s = max(held_s, self.damping.hold_s(now))
        return self.deviates_since + held_s


class Publisher:
    """Signs for `own`; `roles` and `services` may be set at any time, `update` tells of them."""

    def __init__(
        self,
        own: Member,
        secret: bytes,
        *,
        epoch: int,
        now: float,
        records: Mapping[NodeId, Record] = _NO_RECORDS,
        lifetime_s: int = LIFETIME_S,
        services: tuple[str, ...] = (),
    ) -> None:
        """`secret` is of cipher set 40; many links are chosen among by the realm's `records`."""
        self._own = own.node
        self._realm = Statement.parse(own.certificate).realm
        self._seed = signing.signing_seed(secret)
        self._records = records
        self._lifetime_s = lifetime_s
        self._pace = TokenBucket(RECORDS_PER_S, RECORDS_BURST, now)
        self._cost_pace = TokenBucket(COSTS_PER_S, COSTS_BURST, now)
        self._cost_pace.charge(_COSTS_FIRST, now)
        self._link_states: dict[NodeId, _PublishedLink] = {}
        self._chosen: set[NodeId] = set()
        self._chosen_from: frozenset[NodeId] = frozenset()
        self._chosen_until = now
        self._last_record: Record | None = None
        self._published_links: dict[NodeId, RecordLink] = {}
        self._refresh_at = now
        self._gains_since: float | None = now  # there are links that were not published yet
        self._gains_published_s = now
        self._gather_s = GATHER_S
        self.epoch = epoch
        self.sequence = 0
        self.roles = role_bits(own.roles)
        self.services = services
        self.costs: Mapping[NodeId, int] = {}  # of all our links, as steady as those we tell
        self.deadline: float | None = now  # when to call `update` even if nothing happened

    def __repr__(self) -> str:
        return f"Publisher({self._own.hex()}, {self.epoch}, {self.sequence})"

    @property
    def record(self) -> Record | None:
        """The last published record."""
        return self._last_record

    def outdo(self, version: Version, now: float) -> None:
        """A record of an earlier process of this node is about: the next one has to be newer."""
        if version >= (self.epoch, self.sequence):
            self.epoch, self.sequence = min(version[0] + 1, _U32_MAX), version[1]
            self._refresh_at = self.deadline = now

    def update(
        self,
        links: Sequence[RecordLink],
        paths: Sequence[NetPath],
        now: float,
        unix_s: float,
    ) -> bytes | None:
        """All our links and addresses as they are now; the statement to publish, if any."""
        current = {link.peer: link for link in links}
        self._observe(current, now)
        worthy = self._worthy(current, now)
        chosen = self._choose(worthy, now)
        addresses = tuple(dict.fromkeys(paths))[:PATHS_MAX]
        self._note_gains(chosen, now)
        due_at = self._due_at(chosen, current, addresses, now)
        data = None
        if due_at <= now and self._pace.take(1.0, now):
            data = self._make({peer: worthy[peer] for peer in chosen}, addresses, now, unix_s)
            due_at = self._due_at(chosen, current, addresses, now)
        self.deadline = max(due_at, self._pace.ready_at(1.0, now))
        self.costs = {peer: self._steady(link, now) for peer, link in current.items()}
        return data

    def _observe(self, current: Mapping[NodeId, RecordLink], now: float) -> None:
        for peer, link in current.items():
            link_state = self._link_states.get(peer)
            if link_state is None:
                link_state = self._link_states[peer] = _PublishedLink(now)
            link_state.seen(link.cost_us, self._published_links.get(peer), now)
        absent = [peer for peer in self._link_states if peer not in current]
        for peer in absent:
            self._link_states[peer].lost(now)
            excess = len(self._link_states) > max(_WATCHED_MAX, len(current))
            if excess or self._link_states[peer].damping.is_forgotten(now):
                del self._link_states[peer]

    def _worthy(
        self, current: Mapping[NodeId, RecordLink], now: float
    ) -> Mapping[NodeId, RecordLink]:
        """Links that may be published: stable ones, and others that are the only link somewhere."""
        held = {peer for peer in current if self._link_states[peer].worthy_at > now}
        if not held:
            return current
        believed = {peer: link for peer, link in current.items() if peer not in held}
        for peer in only_links(self._own, believed, held, self._records):
            self._link_states[peer].worthy_at = now
            believed[peer] = current[peer]
        # Whether these are believed in the end shows when the record is made.
        for peer in held - believed.keys():
            if is_hardly_confirmed(self._own, peer, self._records):
                believed[peer] = current[peer]
        rest = sorted(held - believed.keys(), key=lambda peer: (current[peer].cost_us, peer))
        if len(rest) > 1:  # not one link that flaps: all of them came back together
            for peer in rest[: max(0, _PUBLISHED_MIN - len(believed))]:
                believed[peer] = current[peer]
        return believed

    def _note_gains(self, chosen: set[NodeId], now: float) -> None:
        if self._last_record is not None and chosen <= self._published_links.keys():
            self._gains_since = None
        elif self._gains_since is None:
            self._gains_since = now
            if now >= self._gains_published_s + _FEW_S:
                self._gather_s = GATHER_S

    def _choose(self, worthy: Mapping[NodeId, RecordLink], now: float) -> set[NodeId]:
        peers = frozenset(worthy)
        if peers != self._chosen_from or now >= self._chosen_until:
            self._chosen = advertised_links(self._own, worthy, self._published_links, self._records)
            self._chosen_from = peers
            self._chosen_until = now + _CHOICE_S
        return self._chosen

    def _due_at(
        self,
        chosen: set[NodeId],
        current: Mapping[NodeId, RecordLink],
        addresses: tuple[NetPath, ...],
        now: float,
    ) -> float:
        published, gathered_at = self._last_record, inf
        if self._gains_since is not None:
            gathered_at = self._gains_since + self._gather_s
        if published is None:
            return gathered_at
        # A link that is merely not chosen any more is not gone.
        is_gone = not self._published_links.keys() <= current.keys()
        rest = addresses, self.roles, self.services
        if is_gone or (published.paths, published.roles, published.services) != rest:
            return now
        times = [self._refresh_at, gathered_at]
        for peer in current:
            link_state = self._link_states[peer]
            if peer in self._published_links:
                due_at = link_state.due_at(self._published_links[peer], now)
                if due_at is not None:
                    times.append(max(due_at, self._cost_pace.ready_at(1.0, now)))
            elif link_state.worthy_at > now:
                times.append(link_state.worthy_at)
        if len(current) > CHOSEN_MAX:
            times.append(max(self._chosen_until, now + _CHOICE_S))
        return min(times)

    def _make(
        self,
        links: Mapping[NodeId, RecordLink],
        addresses: tuple[NetPath, ...],
        now: float,
        unix_s: float,
    ) -> bytes:
        self.sequence += 1
        self._cost_pace.charge(1.0, now)  # any record tells of costs, too
        if self._gains_since is not None:
            self._gains_since, self._gains_published_s = None, now
            self._gather_s = min(2 * self._gather_s, GATHER_S_MAX)
        for peer in links:
            self._link_states[peer].worthy_at = min(self._link_states[peer].worthy_at, now)
        self._published_links = {
            peer: self._tell(link, now) for peer, link in sorted(links.items())
        }
        self._last_record = Record(
            self._own,
            self.epoch,
            self.sequence,
            int(unix_s),
            self._lifetime_s,
            self.roles,
            links=tuple(self._published_links.values()),
            paths=addresses,
            services=self.services,
        )
        content = self._last_record.serialize()
        # Different for each node and record, so that those who started together drift apart.
        share = blake2b(content, digest_size=1).digest()[0] / 0xFF
        self._refresh_at = now + self._lifetime_s * (0.4 + share / 10)
        signature = signing.sign(self._seed, to_sign(RECORD, self._realm, content))
        return Statement(RECORD, self._realm, content, signature).serialize()

    def _tell(self, link: RecordLink, now: float) -> RecordLink:
        link_state, published = self._link_states[link.peer], self._published_links.get(link.peer)
        cost_us = self._steady(link, now)
        if published is not None and cost_us != published.cost_us:
            link_state.deviates_since = None
            # The way up is often the beginning of a loss, which counts itself.
            if steps(published.cost_us) - link_state.steps >= _STEPS_AT_ONCE:
                link_state.damping.add(JUMP_PENALTY, now)
        return RecordLink(link.peer, link.label, cost_us, link.loss, link.rate)

    def _steady(self, link: RecordLink, now: float) -> int:
        """The cost as measured; a small or recent change keeps the published cost."""
        published = self._published_links.get(link.peer)
        if published is not None:
            due_at = self._link_states[link.peer].due_at(published, now)
            if due_at is None or due_at > now:
                return published.cost_us
        return quantised(link.cost_us)
