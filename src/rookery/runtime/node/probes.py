"""Probes: echoes along the routes that packets take now, for `ping` and `trace`."""

from collections.abc import AsyncIterator

from rookery.errors import CongestionError, UnreachableError
from rookery.mesh.routing.echo import Echoed
from rookery.mesh.routing.route import Route as MeshRoute
from rookery.runtime.node.members import NodeName, Reachability
from rookery.runtime.node.node import MeshNode
from rookery.runtime.node.route_view import RouteView, is_relayed
from rookery.runtime.node.snapshot import PingReply, TraceHop
from rookery.wire.mesh.forward import HOP_LIMIT_MAX, PathErrorReason


class Probes:
    """Pings and traces other members."""

    def __init__(self, node: MeshNode, routes: RouteView) -> None:
        self._node = node
        self._routes = routes

    async def ping(self, hashname: str, timeout_s: float) -> PingReply:
        """One ping; without an answer, `problem` says why."""
        to = self._to(hashname)
        self._hasten(hashname)
        try:
            outcome = await self._node.ping(hashname, timeout_s=timeout_s)
        except (UnreachableError, CongestionError) as error:
            return self._unanswered(to, str(error))
        nodes = tuple(map(self._routes.name_of, outcome.route))
        if not isinstance(outcome, Echoed):
            relay, failed = (
                self._routes.name_of(outcome.back[0]),
                self._routes.name_of(outcome.failed),
            )
            problem = f"{relay} gave it up before {failed}: {_reason(outcome.reason)}"
            return PingReply(to=to, reach=Reachability.ROUTE, problem=problem)
        is_direct = len(nodes) == 2
        return PingReply(
            to=to,
            reach=Reachability.DIRECT if is_direct else Reachability.ROUTE,
            rtt_ms=_ms(outcome.rtt_s),
            over=self._address(hashname) if is_direct else " → ".join(map(str, nodes[1:])),
        )

    def _unanswered(self, to: NodeName, problem: str) -> PingReply:
        link = self._node.endpoint.core.links.get(to.hashname)
        if link is not None and is_relayed(link) and link.rtt is not None:
            path = str(link.paths.best)
            return PingReply(to=to, reach=Reachability.RELAY, rtt_ms=_ms(link.rtt), over=path)
        return PingReply(to=to, reach=Reachability.NONE, problem=problem)

    def _hasten(self, hashname: str) -> None:
        """A ping waits for a direct path: dial now instead of later."""
        core = self._node.core
        member = core.membership.by_hashname(hashname)
        if member is not None:
            core.peering.dialling.news(member.node, self._node.endpoint.now())
            self._node.endpoint.stir()

    async def trace(self, hashname: str, probes: int, timeout_s: float) -> AsyncIterator[TraceHop]:
        """Hop by hop along the current route; UnreachableError when there is none."""
        member = self._node.core.membership.by_hashname(hashname)
        choice = None
        if member is not None:
            choice = self._node.core.table.to(member.node, self._node.endpoint.now())
        if choice is None:
            raise UnreachableError(f"no route leads to {self._to(hashname)}")
        for number in range(1, HOP_LIMIT_MAX + 1):
            hop = await self._hop(hashname, choice.route, number, probes, timeout_s)
            yield hop
            is_beyond = number + 1 >= len(choice.route.nodes) and not hop.is_answered
            if hop.is_last or is_beyond:
                return

    async def _hop(
        self, hashname: str, route: MeshRoute, number: int, probes: int, timeout_s: float
    ) -> TraceHop:
        expected = route.nodes[min(number, len(route.nodes) - 1)]
        node, rtts, problem, is_last = expected, list[float | None](), "", False
        for _ in range(probes):
            try:
                outcome = await self._node.ping(hashname, hop_limit=number, timeout_s=timeout_s)
            except (UnreachableError, CongestionError) as error:
                rtts.append(None)
                problem = str(error)
                continue
            rtts.append(_ms(outcome.rtt_s))
            if isinstance(outcome, Echoed):
                node, is_last = outcome.back[0], True
                continue
            node = outcome.back[0]
            if outcome.reason is not PathErrorReason.HOP_LIMIT:
                problem = f"goes no further: {_reason(outcome.reason)}"
                is_last = True
        return TraceHop(
            number=number,
            node=self._routes.name_of(node),
            rtts_ms=tuple(rtts),
            is_last=is_last,
            problem=problem,
        )

    def _to(self, hashname: str) -> NodeName:
        member = self._node.core.membership.by_hashname(hashname)
        return NodeName(hashname, member.name if member is not None else "")

    def _address(self, hashname: str) -> str:
        link = self._node.endpoint.core.links.get(hashname)
        return "" if link is None else str(link.paths.best)


def _reason(reason: PathErrorReason) -> str:
    return reason.name.lower().replace("_", " ")


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
