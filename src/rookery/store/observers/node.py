"""Node observer: what a mesh node measures, hears and decides, for the lake.

every 20 s   each peer as the node sees it ─▶ LINK
on a change  any node's record, or its end ─▶ RECORD
on a change  the route to a node           ─▶ DECISION
"""

import asyncio
from collections.abc import Callable, Iterable

from rookery.mesh.node import Node
from rookery.mesh.routing.graph import AVOIDED_US
from rookery.mesh.routing.routes import RouteChoice
from rookery.runtime.node.snapshot import PeerRow, PeerState
from rookery.store.observers.observer import Observer, wall_ms
from rookery.wire import base32
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import Record
from rookery.wire.observation_content import (
    LinkSample,
    ObservedRecordLink,
    ObservedRouteDecision,
    RecordChange,
)

SAMPLE_S = 20.0
FIRST_S = 2.0  # by then the first links are up

_PREFIX_SIZE = 12  # characters of a hashname that follow from a node id
_REASON_SIZE_MAX = 256
_CARRYING = (PeerState.UP, PeerState.SUSPECT)

Peers = Callable[[], Iterable[PeerRow]]


class NodeObserver:
    """Observes from `__init__` until `close`; `run` takes the samples."""

    def __init__(self, core: Node, peers: Peers, observer: Observer) -> None:
        self._core = core
        self._peers = peers
        self._note = observer.note
        self._realm = core.membership.realm.id.hex()
        for record in core.database.records.values():
            self._recorded(record, False)
        core.database.on_record = self._recorded
        core.table.on_choice = self._chosen

    def close(self) -> None:
        self._core.database.on_record = None
        self._core.table.on_choice = None

    async def run(self) -> None:
        await asyncio.sleep(FIRST_S)
        while True:
            self.sample()
            await asyncio.sleep(SAMPLE_S)

    def sample(self) -> None:
        """Each peer as it is now."""
        for peer in self._peers():
            used, rate = peer.used, peer.rate_bytes_s
            sample = LinkSample(
                t=wall_ms(),
                realm=self._realm,
                node=self._core.own.hashname,
                peer=peer.node.hashname,
                path="" if used is None else used.transport,
                rtt_ms=peer.rtt_ms,
                jitter_ms=peer.jitter_ms,
                loss_in=peer.loss_in,
                loss_out=peer.loss_out,
                rate_kbps=None if rate is None else rate * 8 / 1000,
                cost_us=peer.cost_us,
                is_up=peer.state in _CARRYING,
            )
            self._note(sample)

    def _recorded(self, record: Record, is_withdrawn: bool) -> None:
        links = record.links if not is_withdrawn else ()
        change = RecordChange(
            t=wall_ms(),
            realm=self._realm,
            node=self._name(record.origin),
            epoch=record.epoch,
            number=record.sequence,
            lifetime_s=record.lifetime_s,
            links=tuple(ObservedRecordLink(self._name(link.peer), link.cost_us) for link in links),
            is_withdrawn=is_withdrawn,
        )
        self._note(change)

    def _chosen(
        self, destination: NodeId, choice: RouteChoice | None, previous: RouteChoice | None
    ) -> None:
        explanation = None if choice is None else choice.explanation
        chosen = None if explanation is None else explanation.chosen
        reason = "" if explanation is None else explanation.account(self._short_name)
        decision = ObservedRouteDecision(
            t=wall_ms(),
            realm=self._realm,
            source=self._core.own.hashname,
            destination=self._name(destination),
            nodes=self._names(choice),
            cost_us=None if choice is None else _cost_us(choice),
            verdict="none" if chosen is None else chosen.verdict.value,
            reason=reason[:_REASON_SIZE_MAX] or "nothing leads there",
            candidates=0 if explanation is None else len(explanation.candidates),
            previous=self._names(previous),
        )
        self._note(decision)

    def _names(self, choice: RouteChoice | None) -> tuple[str, ...]:
        return () if choice is None else tuple(map(self._name, choice.route.nodes))

    def _name(self, node: NodeId) -> str:
        member = self._core.membership.member(node)
        return base32.encode(node)[:_PREFIX_SIZE] if member is None else member.hashname

    def _short_name(self, node: NodeId) -> str:
        return self._name(node)[:8]


def _cost_us(choice: RouteChoice) -> int:
    """An avoided edge counts for very much more than it costs."""
    return sum(us - AVOIDED_US if us > AVOIDED_US else us for us in choice.route.costs_us)
