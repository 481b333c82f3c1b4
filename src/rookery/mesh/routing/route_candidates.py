"""Route candidates: the full explanation of a choice, with the routes that were not chosen.

A choice looks at few routes. Added here are the routes over our other neighbours, and those that
would have been better but for a rule: links that only one side claims, nodes that may not relay,
links that failed lately, too many hops. This computes several graphs anew, so it is for people and
tests, not for every packet.
"""

from collections.abc import Iterator
from itertools import pairwise

from rookery.mesh.routing.graph import AVOIDED_US, HOP_BITS, Graph
from rookery.mesh.routing.route import Route
from rookery.mesh.routing.route_explanation import (
    Culprit,
    RouteCandidate,
    RouteExplanation,
    RouteVerdict,
    with_spares,
)
from rookery.mesh.routing.routes import RouteChoice, Routes
from rookery.mesh.routing.shortest_paths import ShortestPaths
from rookery.wire.mesh.node_id import NodeId

NEIGHBOURS_MAX = 8  # routes over other neighbours: so many are shown

Nodes = tuple[NodeId, ...]
Weights = dict[NodeId, dict[NodeId, int]]


def explain_choice(
    routes: Routes, destination: NodeId, choice: RouteChoice | None, now: float
) -> RouteExplanation:
    """Explain `choice`, or why there is none."""
    candidates: list[RouteCandidate] = []
    decision = None if choice is None else routes.decide(destination, choice)
    if decision is not None:
        candidates += with_spares(decision.candidates, routes.spares(decision.route))
    chosen = None if decision is None else decision.route
    seen = {candidate.route for candidate in candidates}
    for candidate in _others(routes, destination, chosen):
        if candidate.route not in seen:
            seen.add(candidate.route)
            candidates.append(candidate)
    return RouteExplanation(
        source=routes.source,
        destination=destination,
        at_s=now if choice is None else choice.explanation.at_s,
        policy=routes.policy,
        candidates=tuple(candidates),
        previous=None if choice is None else choice.explanation.previous,
        is_known=routes.graph.knows(destination),
    )


def _others(routes: Routes, destination: NodeId, chosen: Route | None) -> Iterator[RouteCandidate]:
    if chosen is not None:
        yield from _over_neighbours(routes, destination, chosen)
    nodes = routes.paths.path(destination)
    if nodes is not None and len(nodes) - 1 > routes.policy.hop_max:
        yield RouteCandidate(_supposed_route(routes.graph, nodes), RouteVerdict.TOO_LONG)
    limit = float("inf") if chosen is None else routes.policy.counted(chosen)
    for candidate in _obstructed(routes, destination):
        if routes.policy.counted(candidate.route) < limit:
            yield candidate


def _over_neighbours(
    routes: Routes, destination: NodeId, chosen: Route
) -> Iterator[RouteCandidate]:
    """The best route over each of our neighbours, cheapest first."""
    graph, source = routes.graph, routes.source
    back = ShortestPaths(graph, destination)  # costs are the same both ways
    found_routes: list[Nodes] = []
    for neighbour in graph.relays & graph.neighbours(source).keys():
        nodes = back.path(neighbour)
        if nodes is not None and source not in nodes:
            found_routes.append((source, *reversed(nodes)))
    found = [_supposed_route(graph, nodes) for nodes in found_routes]
    found.sort(key=lambda route: (route.cost_us, route.nodes))
    for route in found[:NEIGHBOURS_MAX]:
        if len(route.costs_us) > routes.policy.hop_max:
            yield RouteCandidate(route, RouteVerdict.TOO_LONG)
        elif chosen.is_direct and route.cost_us < chosen.cost_us:
            ratio = route.cost_us / chosen.cost_us
            yield RouteCandidate(route, RouteVerdict.NOT_CLEARLY_CHEAPER, ratio)
        else:
            yield RouteCandidate(route, RouteVerdict.DEARER, route.cost_us / chosen.cost_us)


def _obstructed(routes: Routes, destination: NodeId) -> Iterator[RouteCandidate]:
    """The best routes if one of the rules did not hold."""
    graph, source = routes.graph, routes.source
    yield from _one_sided(graph, source, destination)
    everybody = _supposed(graph.weights, set(graph.weights))
    yield from _if(everybody, source, destination, RouteVerdict.NO_RELAY, graph)
    forgiven = {
        node: {peer: _forgiven(weight) for peer, weight in weights.items()}
        for node, weights in graph.weights.items()
    }
    yield from _if(
        _supposed(forgiven, graph.relays), source, destination, RouteVerdict.AVOIDED, graph
    )


def _one_sided(graph: Graph, source: NodeId, destination: NodeId) -> Iterator[RouteCandidate]:
    weights: Weights = {node: dict(ends) for node, ends in graph.weights.items()}
    for u, v, cost_us in graph.claims():
        if u != v and graph.cost(u, v) is None:
            weights.setdefault(u, {})[v] = cost_us << HOP_BITS | 1
            weights.setdefault(v, {})[u] = cost_us << HOP_BITS | 1
    supposed = _supposed(weights, graph.relays)
    if supposed.cost(source, destination) is not None and graph.cost(source, destination) is None:
        nodes = (source, destination)
        yield RouteCandidate(
            _supposed_route(supposed, nodes), RouteVerdict.ONE_SIDED, culprits=(nodes,)
        )
    yield from _if(supposed, source, destination, RouteVerdict.ONE_SIDED, graph)


def _if(
    supposed: Graph, source: NodeId, destination: NodeId, verdict: RouteVerdict, graph: Graph
) -> Iterator[RouteCandidate]:
    nodes = ShortestPaths(supposed, source).path(destination)
    if nodes is not None and (culprits := _culprits(verdict, nodes, graph)):
        yield RouteCandidate(_supposed_route(supposed, nodes), verdict, culprits=culprits)


def _culprits(verdict: RouteVerdict, nodes: Nodes, graph: Graph) -> tuple[Culprit, ...]:
    """What on this route the verdict is about."""
    if verdict is RouteVerdict.NO_RELAY:
        return tuple((node,) for node in nodes[1:-1] if node not in graph.relays)
    if verdict is RouteVerdict.AVOIDED:
        return tuple(ends for ends in pairwise(nodes) if graph.is_avoided(*ends))
    return tuple(ends for ends in pairwise(nodes) if graph.cost(*ends) is None)


def _supposed(weights: Weights, relays: set[NodeId]) -> Graph:
    graph = Graph(relays.__contains__)
    graph.weights, graph.relays = weights, relays
    return graph


def _supposed_route(graph: Graph, nodes: Nodes) -> Route:
    return Route(nodes, tuple(graph.weights[u][v] >> HOP_BITS for u, v in pairwise(nodes)))


def _forgiven(weight: int) -> int:
    penalty = AVOIDED_US << HOP_BITS
    return weight - penalty if weight > penalty + 1 else weight
