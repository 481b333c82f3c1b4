"""What a running node says about itself: snapshots for the control socket and the metrics."""

import os
import time
from collections.abc import AsyncIterator, Iterator

from rookery.mesh.quality.liveness import PathCondition
from rookery.runtime.node.members import GraphPart, NodeName, Reachability
from rookery.runtime.node.node import MeshNode
from rookery.runtime.node.peer_log import PeerLog
from rookery.runtime.node.peer_view import absent_peer, linked_peer, noted
from rookery.runtime.node.probes import Probes
from rookery.runtime.node.route_view import RouteView
from rookery.runtime.node.snapshot import (
    ExplanationRow,
    MemberRouteRow,
    MemberRow,
    NetCheckItem,
    NodeCounters,
    NodeStatus,
    PeerRow,
    PingReply,
    RefusalCount,
    TraceHop,
)
from rookery.runtime.version import build, installed_version

_DROPPED = ("gave up", "not taken", "no detour", "repairs used up", "detour too long")


class NodeView:
    """Snapshots of one node."""

    def __init__(self, node: MeshNode) -> None:
        self._node = node
        self._core = node.core
        self._routes = RouteView(node)
        self._probes = Probes(node, self._routes)
        self._log = PeerLog()
        node.driver.on_event = self._log.hear

    def status(self) -> NodeStatus:
        core, endpoint = self._core, self._node.endpoint
        own, now = core.own, endpoint.now()
        states = [neighbour.state for neighbour in core.neighbours.values()]
        problems = tuple(self._problems())
        return NodeStatus(
            hashname=own.hashname,
            name=own.name,
            realm=core.membership.realm.name,
            roles=tuple(sorted(own.roles)),
            version=installed_version(),
            build=build(),
            pid=os.getpid(),
            made_at=time.time(),
            uptime_s=round(time.time() - self._node.started_s, 3),
            worked_ago_s=round(now - self._node.driver.worked_s, 3),
            listening=tuple(map(str, endpoint.core.own_paths)),
            members=len(core.membership.members),
            peers=len(states) + sum(1 for _ in self._absent()),
            peers_up=states.count(PathCondition.UP),
            routes=sum(
                reach not in (Reachability.NONE, Reachability.SELF)
                for _, reach in self._routes.reaches()
            ),
            certificate_ends_at=own.not_after_s,
            is_ready=not problems,
            problems=problems,
            advice=self._advice(),
        )

    def _advice(self) -> str:
        cost_advice = self._core.cost_advice
        if not cost_advice.advisors:
            return "off"
        if cost_advice.learned is None:
            return "missing"
        return "followed" if cost_advice.is_current(time.time()) else "stale"

    def _problems(self) -> Iterator[str]:
        core = self._core
        if core.own.node not in core.membership.members:
            yield "its certificate has ended or was revoked"
        is_alone = len(core.membership.members) <= 1 and not core.settings.peers
        states = [neighbour.state for neighbour in core.neighbours.values()]
        if not is_alone and PathCondition.UP not in states:
            yield "no peer is up"

    def peers(self) -> Iterator[PeerRow]:
        core, links = self._core, self._node.endpoint.core.links
        for neighbour in sorted(core.neighbours.values(), key=lambda one: one.member.name):
            link = links.get(neighbour.member.hashname)
            if link is not None:  # None: it went down since the iteration began
                yield self._noted(linked_peer(neighbour, link, self._node.endpoint.now()))
        for node in list(self._absent()):
            yield self._noted(absent_peer(node, links.get(node.hashname)))

    def _absent(self) -> Iterator[NodeName]:
        """Members that are being dialled, and peers that have not proved to be members yet."""
        core = self._core
        known = {neighbour.member.hashname for neighbour in core.neighbours.values()}
        for node, member in core.membership.members.items():
            is_wanted = node in core.peering.dialling or member.hashname in core.settings.peers
            if is_wanted and member.hashname not in known:
                yield NodeName(member.hashname, member.name)
        for hashname in core.settings.peers:
            if core.membership.by_hashname(hashname) is None:
                yield NodeName(hashname)

    def _noted(self, peer: PeerRow) -> PeerRow:
        entry, now = self._log.entry(peer.node.hashname), self._node.endpoint.now()
        since_s = round(now - entry.changed_s, 3) if entry.changed_s else 0.0
        return noted(peer, entry.error, entry.error_at, since_s)

    def name_of(self, hashname: str) -> NodeName:
        """With its name, if it is a member."""
        member = self._core.membership.by_hashname(hashname)
        return NodeName(hashname, "" if member is None else member.name)

    def routes(self) -> Iterator[MemberRouteRow]:
        return self._routes.routes()

    def members(self) -> Iterator[MemberRow]:
        return self._routes.members()

    def counters(self) -> NodeCounters:
        fates = self._core.data_plane.forwarder.fates
        by_class: dict[str, dict[str, int]] = {}
        for (kind, fate), count in self._core.neighbourhood.datagrams().items():
            by_class.setdefault(kind.name.lower(), {})[fate.value] = count
        return NodeCounters(
            packets={fate: n for fate, n in fates.items() if not fate.startswith(_DROPPED)},
            dropped={fate: n for fate, n in fates.items() if fate.startswith(_DROPPED)},
            datagrams=by_class,
            endpoint=dict(self._node.endpoint.dropped),
            bytes={
                "relayed": self._core.data_plane.forwarder.relayed_bytes,
                "flooded": self._core.flooding.bytes_sent,
            },
            joins={} if self._node.joins is None else dict(self._node.joins.refused),
            refused=tuple(
                RefusalCount(reason, source, count)
                for (source, reason), count in self._core.rejected_frames.items()
            ),
        )

    async def ping(self, hashname: str, timeout_s: float) -> PingReply:
        return await self._probes.ping(hashname, timeout_s)

    def trace(self, hashname: str, probes: int, timeout_s: float) -> AsyncIterator[TraceHop]:
        return self._probes.trace(hashname, probes, timeout_s)

    def explain(self, hashname: str, source: str = "") -> ExplanationRow:
        return self._routes.explain(hashname, source)

    def graph(self) -> Iterator[GraphPart]:
        from rookery.runtime.node.graph_view import (
            GraphView,  # takes memory, and is rarely asked for
        )

        return GraphView(self._node, self._routes).parts()

    def netcheck(self) -> tuple[NetCheckItem, ...]:
        from rookery.runtime.node.netcheck import (
            net_facts,
            netcheck,  # takes memory, and is rarely asked for
        )

        return netcheck(net_facts(self._node, tuple(self.peers())))
