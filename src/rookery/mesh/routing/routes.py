"""Routes: which route to take to a node, and which routes stand by.

How a choice is made, in this order:

1. What counts: links that both ends claim, at the worse of both claims; nodes that may relay, other
   than the two ends; at most `hop_max` hops. Links that failed a packet lately come last.
2. The *best* route is the cheapest; among equals the one with fewer hops, then the smaller ids.
3. The *direct* link, if there is one, counts only `detour_factor` (0.8) of its cost: it wins unless
   a detour costs less than 0.8 × it.
4. The route *in use* is weighed at today's costs, the direct link's discount included, and stays
   while it counts no more than `hold_factor` (1.05) × the winner of 2 and 3. What anything cost
   in the past is never looked at, so no better route is refused for the sake of an old figure.
5. *Spares* are the cheapest routes that share no relaying node with the chosen one or with each
   other, up to `disjoint_max` routes in all. Where there is no such spare at all, one that shares
   no link will do.

Rules 3 and 4 together: from the direct link to a detour when that falls below 0.8 / 1.05 = 0.76 ×
it, and back when it rises above 0.8 × 1.05 = 0.84 ×; a fresh choice is made at 0.8 ×.
"""

from itertools import pairwise

import msgspec

from rookery.mesh.routing.graph import Edge, Graph, edge
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.mesh.routing.route_explanation import (
    Culprit,
    PreviousRoute,
    RouteCandidate,
    RouteExplanation,
    RouteVerdict,
    with_spares,
)
from rookery.mesh.routing.search import cheapest
from rookery.mesh.routing.shortest_paths import ShortestPaths
from rookery.wire.mesh.node_id import NodeId


class RouteChoice(msgspec.Struct, frozen=True):
    """The route to take, those that stand by, and why."""

    route: Route
    alternates: tuple[Route, ...]
    explanation: RouteExplanation


class RouteComparison(msgspec.Struct, frozen=True):
    """The outcome of rules 1 to 4."""

    route: Route
    candidates: tuple[RouteCandidate, ...]  # the chosen one first


def routes(graph: Graph, source: NodeId, policy: RoutePolicy) -> "Routes":
    """The routes from `source` over this graph, as it is now."""
    return Routes(graph, source, policy)


class Routes:
    """Routes from one node, as good as `paths` is up to date."""

    def __init__(self, graph: Graph, source: NodeId, policy: RoutePolicy) -> None:
        self.graph = graph
        self.source = source
        self.policy = policy
        self.paths = ShortestPaths(graph, source)

    def to(
        self, destination: NodeId, previous: RouteChoice | None = None, now: float = 0.0
    ) -> RouteChoice | None:
        """The choice to make when `previous` is in use; None when nothing leads there."""
        decision = self.decide(destination, previous)
        return None if decision is None else self.choice(decision, previous, now)

    def decide(self, destination: NodeId, previous: RouteChoice | None) -> RouteComparison | None:
        """Rules 1 to 4."""
        best = self.best(destination)
        if best is None:
            return None
        direct = self.priced((self.source, destination))
        held = None if previous is None else self.priced(previous.route.nodes)
        options = {option.nodes: option for option in (best, direct, held) if option is not None}
        counted = self.policy.counted
        preferred = min(options.values(), key=lambda one: (counted(one), len(one.nodes), one.nodes))
        limit = self.policy.hold_factor * counted(preferred)
        chosen = held if held is not None and counted(held) <= limit else preferred
        candidates = [RouteCandidate(chosen, self._merit(chosen, preferred, best))]
        del options[chosen.nodes]
        candidates += [self._defeat(loser, chosen, held) for loser in options.values()]
        if held is None and previous is not None:
            candidates.append(self._gone(previous.route))
        return RouteComparison(chosen, tuple(candidates))

    def choice(
        self, decision: RouteComparison, previous: RouteChoice | None, now: float
    ) -> RouteChoice:
        """The decision with its spares, and why."""
        spares = self.spares(decision.route)
        explanation = RouteExplanation(
            source=self.source,
            destination=decision.route.nodes[-1],
            at_s=now,
            policy=self.policy,
            candidates=with_spares(decision.candidates, spares),
            previous=None if previous is None else self._before(previous, decision.route),
        )
        return RouteChoice(decision.route, tuple(spare.route for spare in spares), explanation)

    def best(self, destination: NodeId) -> Route | None:
        """Rules 1 and 2."""
        if destination == self.source:
            return None
        nodes = self.paths.path(destination)
        if nodes is not None and len(nodes) - 1 > self.policy.hop_max:
            nodes = cheapest(self.paths, destination, self.policy.hop_max)
        return None if nodes is None else self.priced(nodes)

    def spares(self, route: Route) -> tuple[RouteCandidate, ...]:
        """Rule 5."""
        destination, hop_max = route.nodes[-1], self.policy.hop_max
        used, cut = set(route.inner), _edges(route.nodes)
        spares: list[RouteCandidate] = []
        while len(spares) + 1 < self.policy.disjoint_max:
            nodes = cheapest(self.paths, destination, hop_max, without=used, cut=cut)
            if nodes is None:
                break
            spares.append(self._spare(nodes, RouteVerdict.SPARE))
            used.update(nodes[1:-1])
            cut |= _edges(nodes)
        if not spares and self.policy.disjoint_max > 1:
            nodes = cheapest(self.paths, destination, hop_max, cut=cut)
            if nodes is not None:
                shared = tuple((node,) for node in nodes[1:-1] if node in used)
                spares.append(self._spare(nodes, RouteVerdict.SPARE_SHARING_NODES, shared))
        return tuple(spares)

    def priced(self, nodes: tuple[NodeId, ...]) -> Route | None:
        """This route at today's costs; None when it does not count."""
        costs = [self.graph.cost(u, v) for u, v in pairwise(nodes)]
        known = tuple(cost for cost in costs if cost is not None)
        if len(known) < len(costs) or not self.graph.relays.issuperset(nodes[1:-1]):
            return None
        return Route(nodes, known)

    def _merit(self, chosen: Route, preferred: Route, best: Route) -> RouteVerdict:
        if chosen is not preferred:
            return RouteVerdict.HELD
        if chosen.is_direct and chosen.nodes != best.nodes:
            return RouteVerdict.DIRECT
        return RouteVerdict.CHEAPEST

    def _defeat(self, loser: Route, chosen: Route, held: Route | None) -> RouteCandidate:
        theirs, ours = self.policy.counted(loser), self.policy.counted(chosen)
        if theirs < ours:
            return RouteCandidate(loser, RouteVerdict.WITHIN_HOLD, ours / theirs)
        if chosen.is_direct and loser.cost_us < chosen.cost_us:
            return RouteCandidate(
                loser, RouteVerdict.NOT_CLEARLY_CHEAPER, loser.cost_us / chosen.cost_us
            )
        if loser.is_direct:
            ratio = chosen.cost_us / loser.cost_us
            return RouteCandidate(loser, RouteVerdict.DETOUR_CLEARLY_CHEAPER, ratio)
        if loser is held:
            return RouteCandidate(loser, RouteVerdict.LET_GO, theirs / ours)
        return RouteCandidate(loser, RouteVerdict.DEARER, loser.cost_us / chosen.cost_us)

    def _spare(
        self, nodes: tuple[NodeId, ...], verdict: RouteVerdict, shared: tuple[Culprit, ...] = ()
    ) -> RouteCandidate:
        route = self.priced(nodes)
        assert route is not None  # it was just found
        return RouteCandidate(route, verdict, culprits=shared, stands_by=True)

    def _gone(self, route: Route) -> RouteCandidate:
        relays = self.graph.relays
        culprits: list[Culprit] = [
            ends for ends in pairwise(route.nodes) if self.graph.cost(*ends) is None
        ]
        culprits += [(node,) for node in route.inner if node not in relays]
        return RouteCandidate(route, RouteVerdict.GONE, culprits=tuple(culprits))

    def _before(self, previous: RouteChoice, route: Route) -> PreviousRoute | None:
        if previous.route == route:
            return previous.explanation.previous  # only its spares are others
        route = previous.route
        costs = tuple(self.graph.cost(u, v) for u, v in pairwise(route.nodes))
        return PreviousRoute(route, previous.explanation.at_s, costs)


def _edges(nodes: tuple[NodeId, ...]) -> set[Edge]:
    return {edge(u, v) for u, v in pairwise(nodes)}
