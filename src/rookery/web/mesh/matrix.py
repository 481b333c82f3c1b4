"""The matrix: latency and loss from each member to each other one, derived from a graph.

Routes are those that the routing rules choose over the links that are up. Along a route

    latency   half the round trip of each link that the hub's node measured itself, and of each
              other one its cost, the worse of both ends' reports, which is never less
    loss      1 - (1 - a)(1 - b)…, of what each node on the route sends to the next
    age       of the oldest report
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from rookery.mesh.routing.graph import Graph as LinkGraph
from rookery.mesh.routing.route import RoutePolicy
from rookery.mesh.routing.routes import Routes
from rookery.web.mesh.graph import (
    LinkShown,
    MemberShown,
    MeshGraphShown,
    MeshMatrix,
    MeshMatrixCell,
)

MEMBERS = 40
MEMBERS_MAX = 100  # ten thousand cells are more than can be read


class _Hop(msgspec.Struct, frozen=True, gc=False):
    """A link in one direction."""

    latency_ms: float
    loss: float
    age_s: float | None


Hops = dict[tuple[bytes, bytes], _Hop]


def matrix_of(graph: MeshGraphShown, chosen: Sequence[MemberShown]) -> MeshMatrix:
    """Routes between these members over the whole mesh; slow for a large mesh."""
    relays = {_id(one.hashname) for one in graph.members if "relay" in one.roles}
    links = LinkGraph(relays.__contains__)
    hops: Hops = {}
    claims: dict[bytes, dict[bytes, int]] = {}
    for link in graph.links:
        costs = [us for us in (link.cost_ab_us, link.cost_ba_us) if us is not None]
        if link.state == "up" and costs:
            a, b, cost_us = _id(link.a), _id(link.b), max(costs)
            claims.setdefault(a, {})[b] = claims.setdefault(b, {})[a] = cost_us
            hops[a, b] = _hop(link, cost_us, link.loss_ab)
            hops[b, a] = _hop(link, cost_us, link.loss_ba)
    for origin, costs_us in claims.items():
        links.claim(origin, costs_us)
    cells = (cell for one in chosen for cell in _row(one, chosen, links, hops))
    left_out = len(graph.members) - len(chosen)
    return MeshMatrix(at=graph.at, members=tuple(chosen), cells=tuple(cells), left_out=left_out)


def most_linked(graph: MeshGraphShown, count: int = MEMBERS) -> list[MemberShown]:
    """The members to show of a large mesh: those that are up with most links."""
    degrees: dict[str, int] = {}
    for link in graph.links:
        for end in (link.a, link.b):
            degrees[end] = degrees.get(end, 0) + (link.state == "up")

    def weight(one: MemberShown) -> tuple[bool, bool, int, str]:
        is_relay = "relay" in one.roles
        return not one.is_up, not is_relay, -degrees.get(one.hashname, 0), one.hashname

    return in_order(sorted(graph.members, key=weight)[:count])


def in_order(members: Iterable[MemberShown]) -> list[MemberShown]:
    """Members by site and name."""
    return sorted(members, key=lambda one: (one.site, one.name, one.hashname))


def _row(
    source: MemberShown, targets: Sequence[MemberShown], links: LinkGraph, hops: Hops
) -> Iterator[MeshMatrixCell]:
    routes = Routes(links, _id(source.hashname), RoutePolicy())
    for target in targets:
        if target is not source:
            decision = routes.decide(_id(target.hashname), None)
            nodes = () if decision is None else decision.route.nodes
            yield _cell(source, target, nodes, hops)


def _cell(
    source: MemberShown, target: MemberShown, nodes: tuple[bytes, ...], hops: Hops
) -> MeshMatrixCell:
    if not nodes:
        return MeshMatrixCell(
            source=source.hashname,
            target=target.hashname,
            latency_ms=None,
            loss=None,
            age_s=None,
            is_direct=False,
            via=(),
        )
    route = [hops[ends] for ends in pairwise(nodes)]
    arrives = 1.0
    for hop in route:
        arrives *= 1.0 - hop.loss
    return MeshMatrixCell(
        source=source.hashname,
        target=target.hashname,
        latency_ms=round(sum(hop.latency_ms for hop in route), 3),
        loss=round(1.0 - arrives, 4),
        age_s=max((hop.age_s for hop in route if hop.age_s is not None), default=None),
        is_direct=len(route) == 1,
        via=tuple(node.decode() for node in nodes[1:-1]),
    )


def _hop(link: LinkShown, cost_us: int, loss: float | None) -> _Hop:
    latency_ms = cost_us / 1000 if link.rtt_ms is None else link.rtt_ms / 2
    return _Hop(latency_ms, loss or 0.0, link.age_s)


def _id(hashname: str) -> bytes:
    """Anything that names a node will do, and whole hashnames can be read back."""
    return hashname.encode()
