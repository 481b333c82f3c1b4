"""Rows of a control socket, turned into what the web shows."""

from collections.abc import Iterable

import msgspec

from rookery.errors import ProtocolError
from rookery.mesh.routing.graph import AVOIDED_US
from rookery.runtime.node.members import GraphLink, GraphMember, GraphPart, Reachability
from rookery.runtime.node.snapshot import ExplanationRow
from rookery.runtime.outbox.rows import QueueRow, RequestRow
from rookery.web.mesh.graph import (
    LinkNow,
    LinkShown,
    MemberNow,
    MemberShown,
    MeshGraphShown,
    MeshRouteExplanation,
    MeshRouteShown,
    QueuedRequest,
    QueueShown,
)

MEMBERS_MAX = 20_000
LINKS_MAX = 200_000


class _Candidate(msgspec.Struct):
    """What is shown of a candidate of a decision."""

    nodes: tuple[str, ...]
    costs_us: tuple[int, ...]
    reason: str
    chosen: bool


class _Decision(msgspec.Struct):
    candidates: tuple[_Candidate, ...]


class MeshGraphBuilder:
    """Puts a graph together from its parts, so that a large one is made a little at a time."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._members: list[MemberShown] = []
        self._links: list[LinkShown] = []

    def add(self, part: GraphPart) -> None:
        at = self._at = part.at if self._at is None else self._at
        self._members += [_member(one, at) for one in part.members]
        self._links += [_link(one, at) for one in part.links]
        if len(self._links) > LINKS_MAX or len(self._members) > MEMBERS_MAX:
            raise ProtocolError("more than a mesh can have")

    def graph(self) -> MeshGraphShown:
        """All of it; ProtocolError when that is nothing."""
        if self._at is None or not self._members:
            raise ProtocolError("a mesh without any member")
        return MeshGraphShown(at=self._at, members=tuple(self._members), links=tuple(self._links))


def _member(row: GraphMember, at: float) -> MemberShown:
    return MemberShown(
        hashname=row.hashname,
        name=row.name,
        site=row.site,
        roles=row.roles,
        is_up=row.reach is not Reachability.NONE,
        age_s=_age_s(row.claimed_at, at),
        reach=row.reach.value,
    )


def _link(row: GraphLink, at: float) -> LinkShown:
    rates = [rate for rate in (row.rate_ab_bytes_s, row.rate_ba_bytes_s) if rate is not None]
    return LinkShown(
        a=row.a,
        b=row.b,
        rtt_ms=row.rtt_ms,
        loss_ab=row.loss_ab,
        loss_ba=row.loss_ba,
        cost_ab_us=row.cost_ab_us,
        cost_ba_us=row.cost_ba_us,
        rate_bytes_s=min(rates, default=None),
        state=row.state.value,
        age_s=_age_s(row.claimed_at, at),
    )


def _age_s(claimed_at: int | None, at: float) -> float | None:
    """Clocks differ a little: nothing is younger than new."""
    return None if claimed_at is None else max(0.0, round(at - claimed_at, 1))


def members_now(graph: MeshGraphShown) -> Iterable[MemberNow]:
    """Without ages, so that what has not changed is the same a second later."""
    for one in graph.members:
        yield MemberNow(
            hashname=one.hashname,
            name=one.name,
            site=one.site,
            roles=one.roles,
            is_up=one.is_up,
            claimed_at=_claimed_at(one.age_s, graph.at),
        )


def links_now(graph: MeshGraphShown) -> Iterable[LinkNow]:
    for one in graph.links:
        yield LinkNow(
            a=one.a,
            b=one.b,
            rtt_ms=one.rtt_ms,
            loss_ab=one.loss_ab,
            loss_ba=one.loss_ba,
            cost_ab_us=one.cost_ab_us,
            cost_ba_us=one.cost_ba_us,
            rate_bytes_s=one.rate_bytes_s,
            state=one.state,
            claimed_at=_claimed_at(one.age_s, graph.at),
        )


def _claimed_at(age_s: float | None, at: float) -> float | None:
    return None if age_s is None else float(round(at - age_s))


def explanation_shown(row: ExplanationRow, source: str, target: str) -> MeshRouteExplanation:
    """ProtocolError when the decision is none that we know how to read."""
    try:
        decision = msgspec.convert(row.decision, _Decision)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"a decision that cannot be read: {error}") from error
    return MeshRouteExplanation(
        source=source,
        target=target,
        lines=row.lines,
        routes=tuple(
            MeshRouteShown(
                nodes=one.nodes,
                cost_us=sum(us - AVOIDED_US if us > AVOIDED_US else us for us in one.costs_us),
                is_used=one.chosen,
                why=one.reason,
            )
            for one in decision.candidates
        ),
    )


def queue_shown(row: QueueRow) -> QueueShown:
    return QueueShown(
        hashname=row.node.hashname,
        name=row.node.name,
        requests=row.requests,
        requests_max=row.requests_max,
        bytes=row.bytes,
        bytes_max=row.bytes_max,
        states=row.states,
        is_in_session=row.is_in_session,
        is_alarmed=row.is_alarmed,
        last_error=row.last_error,
    )


def request_shown(row: RequestRow) -> QueuedRequest:
    return QueuedRequest(
        id=row.id,
        state=row.state,
        qos=row.qos,
        bytes=row.bytes,
        wants_reply=row.wants_reply,
        expires_in_s=row.expires_in_s,
        is_begun=row.is_begun,
    )
