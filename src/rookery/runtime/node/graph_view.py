"""The whole mesh as one node knows it, for maps."""

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import TypeVar

from rookery.mesh.membership.membership import site_of
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.routing.link_survey import LinkClaim, SurveyedLink, survey
from rookery.runtime.node.members import (
    GraphLink,
    GraphLinkState,
    GraphMember,
    GraphPart,
    Reachability,
)
from rookery.runtime.node.node import MeshNode
from rookery.runtime.node.route_view import RouteView
from rookery.wire.mesh.node_id import NodeId

PART_MAX = 128  # members or links of a row: the node has other things to do in between

_CARRYING = (PathCondition.UP, PathCondition.SUSPECT)
_Part = TypeVar("_Part")


class GraphView:
    """All members, and every link between two of them that a record claims."""

    def __init__(self, node: MeshNode, routes: RouteView) -> None:
        self._node = node
        self._core = node.core
        self._routes = routes

    def parts(self) -> Iterator[GraphPart]:
        """First the members, then the links; each part is made when it is taken."""
        at = round(time.time(), 3)
        reaches = {member.node: reach for member, reach in self._routes.reaches()}
        for nodes in _batches(reaches):
            members = [self._member(node, reaches[node]) for node in nodes]
            yield GraphPart(at=at, members=tuple(one for one in members if one is not None))
        for links in _batches(self._links(reaches, at)):
            yield GraphPart(at=at, links=links)

    def _member(self, node: NodeId, reach: Reachability) -> GraphMember | None:
        member = self._core.membership.member(node)
        if member is None:
            return None  # it was revoked since the iteration began
        record = self._core.database.records.get(node)
        return GraphMember(
            hashname=member.hashname,
            name=member.name,
            site=site_of(member.name),
            roles=tuple(sorted(member.roles)),
            reach=reach,
            claimed_at=None if record is None else record.made_s,
        )

    def _links(self, reaches: dict[NodeId, Reachability], at: float) -> Iterator[GraphLink]:
        core, now = self._core, self._node.endpoint.now()
        rtts_ms = dict(self._rtts_ms(now))
        measured = core.neighbourhood.record_links(now)
        linked: set[NodeId] = set()
        for link in list(survey(core.database.records, core.graph, measured, at)):
            if core.own.node in link.ends:
                linked.update(link.ends)
            named = self._named(link.ends)
            if named is not None:
                yield self._link(link, named, reaches, rtts_ms)
        for node, neighbour in list(core.neighbours.items()):
            named = self._named((core.own.node, node))
            if node not in linked and neighbour.state not in _CARRYING and named is not None:
                yield GraphLink(a=min(named), b=max(named), state=GraphLinkState.DOWN)

    def _rtts_ms(self, now: float) -> Iterator[tuple[NodeId, float]]:
        links = self._node.endpoint.core.links
        for node, neighbour in self._core.neighbours.items():
            link = links.get(neighbour.member.hashname)
            best = None if link is None else link.paths.best
            for row in neighbour.paths(now):
                if row.path == best and row.rtt_s is not None:
                    yield node, round(row.rtt_s * 1000, 3)

    def _named(self, ends: tuple[NodeId, NodeId]) -> tuple[str, str] | None:
        """None for a link with a node whose certificate is not known."""
        members = [self._core.membership.member(node) for node in ends]
        one, other = (None if member is None else member.hashname for member in members)
        return None if one is None or other is None else (one, other)

    def _link(
        self,
        link: SurveyedLink,
        named: tuple[str, str],
        reaches: dict[NodeId, Reachability],
        rtts_ms: dict[NodeId, float],
    ) -> GraphLink:
        (a, ab), (b, ba) = sorted(zip(named, link.claims, strict=True), key=itemgetter(0))
        other = next((node for node in link.ends if node != self._core.own.node), b"")
        is_own = self._core.own.node in link.ends
        return GraphLink(
            a=a,
            b=b,
            state=_state(link, reaches),
            cost_us=link.cost_us,
            cost_ab_us=None if ab is None else ab.cost_us,
            cost_ba_us=None if ba is None else ba.cost_us,
            loss_ab=_loss(ab),
            loss_ba=_loss(ba),
            rate_ab_bytes_s=_rate(ab),
            rate_ba_bytes_s=_rate(ba),
            rtt_ms=rtts_ms.get(other) if is_own else None,
            is_avoided=link.is_avoided,
            claimed_at=round(link.made_s),
        )


def _state(link: SurveyedLink, reaches: dict[NodeId, Reachability]) -> GraphLinkState:
    if link.cost_us is not None:
        return GraphLinkState.UP
    claimants = [end for end, claim in zip(link.ends, link.claims, strict=True) if claim]
    is_there = any(
        reaches.get(node, Reachability.NONE) is not Reachability.NONE for node in claimants
    )
    return GraphLinkState.ONE_WAY if is_there else GraphLinkState.DOWN


def _loss(claim: LinkClaim | None) -> float | None:
    return None if claim is None else round(claim.loss, 4)


def _rate(claim: LinkClaim | None) -> int | None:
    if claim is None or claim.bytes_per_s is None:
        return None
    return round(claim.bytes_per_s)


def _batches(parts: Iterable[_Part]) -> Iterator[tuple[_Part, ...]]:
    rest = iter(parts)
    while batch := tuple(islice(rest, PART_MAX)):
        yield batch
