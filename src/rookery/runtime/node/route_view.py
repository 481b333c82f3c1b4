"""Members and the routes to them, as people see them."""

import time
from collections.abc import Iterator

from rookery.errors import UsageError
from rookery.link.link import Link
from rookery.mesh.membership.membership import Member as Certified
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.routing.graph import AVOIDED_US
from rookery.mesh.routing.route import Route as MeshRoute
from rookery.runtime.node.members import NodeName, Reachability
from rookery.runtime.node.node import MeshNode
from rookery.runtime.node.snapshot import ExplanationRow, MemberRouteRow, MemberRow, RouteOption
from rookery.wire import base32
from rookery.wire.link.path import PeerPath
from rookery.wire.mesh.node_id import NodeId

_PREFIX_SIZE = 12  # characters of a hashname that follow from a node id
_REFUSED_SHOWN_MAX = 10
_CARRYING = (PathCondition.UP, PathCondition.SUSPECT)


class RouteView:
    """The realm as one node sees it."""

    def __init__(self, node: MeshNode) -> None:
        self._node = node
        self._core = node.core

    def name_of(self, node: NodeId) -> NodeName:
        member = self._core.membership.member(node)
        if member is None:
            return NodeName(base32.encode(node)[:_PREFIX_SIZE])
        return NodeName(member.hashname, member.name)

    def reaches(self) -> list[tuple[Certified, Reachability]]:
        """Every member, ourselves first, and how it is reached; cheap even in a large realm."""
        core, own = self._core, self._core.own
        others = [member for member in core.membership.members.values() if member.node != own.node]
        if others:  # asking for any route brings the table up to date for all
            core.table.to(others[0].node, self._node.endpoint.now())
        others.sort(key=lambda member: (member.name or member.hashname, member.hashname))
        return [(own, Reachability.SELF), *((member, self._reach(member)) for member in others)]

    def _reach(self, member: Certified) -> Reachability:
        neighbour = self._core.neighbours.get(member.node)
        if neighbour is not None and neighbour.state in _CARRYING:
            return Reachability.DIRECT
        if self._core.table.routes.paths.distance(member.node) is not None:
            return Reachability.ROUTE
        link = self._node.endpoint.core.links.get(member.hashname)
        return Reachability.RELAY if link is not None and is_relayed(link) else Reachability.NONE

    def routes(self) -> Iterator[MemberRouteRow]:
        """Where packets to each other member go."""
        for member, reach in self.reaches()[1:]:
            choice = self._core.table.to(member.node, self._node.endpoint.now())
            to = NodeName(member.hashname, member.name)
            if choice is None:
                yield MemberRouteRow(
                    to=to, reach=_without_route(reach), problem=self._problem(member)
                )
                continue
            yield MemberRouteRow(
                to=to,
                reach=Reachability.DIRECT if choice.route.is_direct else Reachability.ROUTE,
                best=self.route_option(choice.route),
                alternates=tuple(map(self.route_option, choice.alternates)),
            )

    def route_option(self, route: MeshRoute) -> RouteOption:
        # An avoided edge counts for very much more than it costs.
        cost_us = sum(us - AVOIDED_US if us > AVOIDED_US else us for us in route.costs_us)
        return RouteOption(tuple(map(self.name_of, route.nodes)), cost_us)

    def _problem(self, member: Certified) -> str:
        if member.node in self._core.database.records:
            return "none of its links leads here"
        return "it has told of no links: has it ever been up?"

    def members(self) -> Iterator[MemberRow]:
        for member, reach in self.reaches():
            record = self._core.database.records.get(member.node)
            age_s = None if record is None else round(time.time() - record.made_s, 1)
            yield MemberRow(
                node=NodeName(member.hashname, member.name),
                reach=reach,
                roles=tuple(sorted(member.roles)),
                certificate_ends_at=member.not_after_s,
                record_age_s=age_s,
            )

    def explain(self, hashname: str, source: str = "") -> ExplanationRow:
        """Why packets to a member take their route, and who sent rejected frames."""
        core, now = self._core, self._node.endpoint.now()
        if source == hashname:
            raise UsageError("a member needs no route to itself; name two")
        explanation = core.explain(hashname, now, source)
        refused = core.rejected_frames.most_common(_REFUSED_SHOWN_MAX)
        lines = explanation.lines(lambda node: str(self.name_of(node)))
        lines += [
            f"refused of {self._named(source)}: {reason}, {count} ×"
            for (source, reason), count in refused
        ]
        decision = explanation.json(lambda node: self.name_of(node).hashname)
        decision["refused"] = [
            {"source": source, "reason": reason, "count": count}
            for (source, reason), count in refused
        ]
        return ExplanationRow(
            to=self.name_of(explanation.destination),
            source=self.name_of(explanation.source),
            lines=tuple(lines),
            decision=decision,
        )

    def _named(self, short: str) -> str:
        members = self._core.membership.members.values()
        names = [member.name for member in members if member.hashname.startswith(short)]
        return f"{names[0]} ({short})" if names and names[0] else short


def is_relayed(link: Link) -> bool:
    """Whether a router passes on what we send there."""
    return isinstance(link.paths.best, PeerPath)


def _without_route(reach: Reachability) -> Reachability:
    return reach if reach is Reachability.RELAY else Reachability.NONE
