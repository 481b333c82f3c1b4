"""Route explanation: why packets to a node take their route.

It has every route that was considered, with the cost of each hop and the reason why it won or
lost, the numbers of the policy, and what became of the route that was in use before. It is a value:
it does not change with the mesh, and it can be shown to people (`lines`) and programs (`json`).
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

import msgspec

from rookery.mesh.routing.graph import AVOIDED_US, edge
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.node_id import NodeId

Name = Callable[[NodeId], str]
Culprit = tuple[NodeId, ...]  # a node, or the two ends of an edge


class RouteVerdict(StrEnum):
    """What became of a candidate. The first three are chosen, the next two stand by."""

    CHEAPEST = "cheapest"
    DIRECT = "direct"
    HELD = "held"
    SPARE = "spare"
    SPARE_SHARING_NODES = "spare-sharing-nodes"
    DEARER = "dearer"
    NOT_CLEARLY_CHEAPER = "not-clearly-cheaper"
    DETOUR_CLEARLY_CHEAPER = "detour-clearly-cheaper"
    WITHIN_HOLD = "within-hold"
    LET_GO = "let-go"
    GONE = "gone"
    TOO_LONG = "too-long"
    ONE_SIDED = "one-sided"
    NO_RELAY = "no-relay"
    AVOIDED = "avoided"


SILENT = "is avoided for a while: handshakes along it had no answer"
UNANSWERED = "is avoided on routes there"
CONTRADICTED = "signed records that contradict each other"
PRETENDED = "claims roles that its certificate has not"

CHOSEN = frozenset({RouteVerdict.CHEAPEST, RouteVerdict.DIRECT, RouteVerdict.HELD})


class RouteCandidate(msgspec.Struct, frozen=True):
    """A route that was considered."""

    route: Route
    verdict: RouteVerdict
    ratio: float | None = None  # to what the verdict compares it with
    culprits: tuple[Culprit, ...] = ()  # what stood in the way
    stands_by: bool = False  # as a spare


class PreviousRoute(msgspec.Struct, frozen=True):
    """The route that was in use before, and what its hops cost by now (None: gone)."""

    route: Route
    at_s: float
    costs_now_us: tuple[int | None, ...]


class RouteRemark(msgspec.Struct, frozen=True):
    """A remark about a node or a route."""

    nodes: Culprit
    text: str


class RouteExplanation(msgspec.Struct, frozen=True):
    source: NodeId
    destination: NodeId
    at_s: float
    policy: RoutePolicy
    candidates: tuple[RouteCandidate, ...]  # the chosen one first, if there is one
    previous: PreviousRoute | None = None
    is_known: bool = True  # whether any record mentions the destination
    remarks: tuple[RouteRemark, ...] = ()

    @property
    def chosen(self) -> RouteCandidate | None:
        first = self.candidates[0] if self.candidates else None
        return first if first is not None and first.verdict in CHOSEN else None

    def account(self, name: Name) -> str:
        """In one line: why the route before was given up, or else why this one is chosen."""
        before = None if self.previous is None else self.previous.route.nodes
        given_up = [one for one in self.candidates if one.route.nodes == before]
        candidates = [*given_up, *self.candidates]
        return _reason(candidates[0], self.policy, name) if candidates else "nothing leads there"

    def concerns(self, node: NodeId) -> bool:
        """True if a node is on any of the candidates."""
        return node == self.destination or any(
            node in candidate.route.nodes for candidate in self.candidates
        )

    def edges(self) -> list[tuple[NodeId, NodeId]]:
        """The links of all candidates, each once."""
        ends = [ends for candidate in self.candidates for ends in pairwise(candidate.route.nodes)]
        return list(dict.fromkeys(edge(*each) for each in ends))

    def with_remarks(self, remarks: Iterable[RouteRemark]) -> "RouteExplanation":
        return msgspec.structs.replace(self, remarks=tuple(remarks))

    def lines(self, name: Name) -> list[str]:
        """For people."""
        lines = [self._headline(name)]
        for candidate in self.candidates:
            mark = "*" if candidate.verdict in CHOSEN else " "
            lines.append(f"{mark} {_nodes(candidate.route.nodes, name)}  {_cost(candidate.route)}")
            lines.append(f"      {_account(candidate, self.policy, name)}")
        if self.previous is not None:
            lines.append(_before(self.previous, name))
        lines += [f"note: {_nodes(remark.nodes, name)} {remark.text}" for remark in self.remarks]
        policy = self.policy
        lines.append(
            f"rules: a direct link counts {policy.detour_factor:g} of its cost; the route in use "
            f"stays up to {policy.hold_factor:g} × the best; at most {policy.hop_max} hops"
        )
        return lines

    def json(self, name: Name = bytes.hex) -> JsonObject:
        """For programs."""
        return {
            "source": name(self.source),
            "destination": name(self.destination),
            "known": self.is_known,
            "at_s": self.at_s,
            "policy": msgspec.to_builtins(self.policy),
            "candidates": [_candidate_json(one, self.policy, name) for one in self.candidates],
            "previous": None if self.previous is None else _previous_json(self.previous, name),
            "remarks": [
                {"nodes": [name(node) for node in remark.nodes], "text": remark.text}
                for remark in self.remarks
            ],
        }

    def _headline(self, name: Name) -> str:
        chosen, target = self.chosen, name(self.destination)
        if chosen is not None:
            return f"to {target}: {_nodes(chosen.route.nodes, name)}"
        if self.is_known:
            return f"to {target}: no route; nothing that counts leads there"
        return f"to {target}: no route; it has no link that we know of"


def with_spares(
    weighed: tuple[RouteCandidate, ...], spares: tuple[RouteCandidate, ...]
) -> tuple[RouteCandidate, ...]:
    """Candidates and spares; a losing candidate that is a spare appears once."""
    standing_by = {spare.route for spare in spares}
    losers = {candidate.route for candidate in weighed}
    marked = [
        msgspec.structs.replace(candidate, stands_by=candidate.route in standing_by)
        for candidate in weighed
    ]
    return (*marked, *(spare for spare in spares if spare.route not in losers))


def _account(candidate: RouteCandidate, policy: RoutePolicy, name: Name) -> str:
    reason = _reason(candidate, policy, name)
    is_loser = candidate.verdict not in (RouteVerdict.SPARE, RouteVerdict.SPARE_SHARING_NODES)
    return f"{reason}; stands by as a spare" if candidate.stands_by and is_loser else reason


def _reason(candidate: RouteCandidate, policy: RoutePolicy, name: Name) -> str:
    ratio = 1.0 if candidate.ratio is None else candidate.ratio
    detour, hold = f"{policy.detour_factor:g}", f"{policy.hold_factor:g}"
    culprits = ", ".join(_nodes(culprit, name) for culprit in candidate.culprits)
    match candidate.verdict:
        case RouteVerdict.CHEAPEST:
            return "chosen: the cheapest"
        case RouteVerdict.DIRECT:
            return f"chosen: the direct link; no detour costs less than {detour} × it"
        case RouteVerdict.HELD:
            return f"chosen: in use, and still within {hold} × the best"
        case RouteVerdict.SPARE:
            return "spare: shares no node with the routes above"
        case RouteVerdict.SPARE_SHARING_NODES:
            return f"spare: shares no link with the routes above, but {culprits}"
        case RouteVerdict.DEARER:
            return f"lost: costs {ratio:.2f} × the chosen one"
        case RouteVerdict.NOT_CLEARLY_CHEAPER:
            return f"lost: costs {ratio:.2f} × the direct link, not below {detour}"
        case RouteVerdict.DETOUR_CLEARLY_CHEAPER:
            return f"lost: the detour costs {ratio:.2f} × this, below {detour}"
        case RouteVerdict.WITHIN_HOLD:
            return f"lost: the one in use counts {ratio:.2f} × this, within {hold}"
        case RouteVerdict.LET_GO:
            return f"lost: was in use, now counts {ratio:.2f} × the best, above {hold}"
        case RouteVerdict.GONE:
            return f"gone: was in use, but {culprits} no longer carries it"
        case RouteVerdict.TOO_LONG:
            hops = len(candidate.route.costs_us)
            return f"lost: {hops} hops, more than {policy.hop_max}"
        case RouteVerdict.ONE_SIDED:
            return f"does not count: {culprits} is claimed by one side only"
        case RouteVerdict.NO_RELAY:
            return f"does not count: {culprits} may not relay"
        case RouteVerdict.AVOIDED:
            return f"put off: {culprits} failed a packet lately"
        case other:
            assert_never(other)


def _nodes(nodes: tuple[NodeId, ...], name: Name) -> str:
    return " – ".join(map(name, nodes))


def _ms(cost_us: int) -> str:
    if cost_us > AVOIDED_US:
        return f"{(cost_us - AVOIDED_US) / 1000:.1f} (avoided)"
    return f"{cost_us / 1000:.1f}"


def _cost(route: Route) -> str:
    if route.is_direct:
        return f"{_ms(route.cost_us)} ms"
    total = sum(cost_us - AVOIDED_US * (cost_us > AVOIDED_US) for cost_us in route.costs_us)
    return f"{_ms(total)} ms = {' + '.join(map(_ms, route.costs_us))}"


def _before(previous: PreviousRoute, name: Name) -> str:
    route = previous.route
    hops = zip(pairwise(route.nodes), route.costs_us, previous.costs_now_us, strict=True)
    changes = [
        f"{_nodes(ends, name)} {_ms(then)} → " + ("gone" if now is None else _ms(now))
        for ends, then, now in hops
        if then != now
    ]
    since = "; ".join(changes) if changes else "none of its links changed"
    return f"before: {_nodes(route.nodes, name)}, {_cost(route)}; since then: {since}"


def _candidate_json(candidate: RouteCandidate, policy: RoutePolicy, name: Name) -> JsonObject:
    route = candidate.route
    return {
        "nodes": [name(node) for node in route.nodes],
        "costs_us": list(route.costs_us),
        "cost_us": route.cost_us,
        "verdict": candidate.verdict.value,
        "chosen": candidate.verdict in CHOSEN,
        "spare": candidate.stands_by,
        "ratio": candidate.ratio,
        "culprits": [[name(node) for node in culprit] for culprit in candidate.culprits],
        "reason": _account(candidate, policy, name),
    }


def _previous_json(previous: PreviousRoute, name: Name) -> JsonObject:
    return {
        "nodes": [name(node) for node in previous.route.nodes],
        "costs_us": list(previous.route.costs_us),
        "costs_now_us": list(previous.costs_now_us),
        "at_s": previous.at_s,
    }
