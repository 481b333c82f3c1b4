"""Routes after a change: repaired, against computed anew by our own code and by networkx.

One process, one mesh of random links and costs; no sockets. Smaller is better: the ratio says which
part of the limit's time is needed. The time is the processor's.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random

import networkx  # type: ignore[import-untyped]

from bench.figure import Effort, Figure, Goal, middle
from rookery.mesh.routing.graph import EdgeChange, Graph
from rookery.mesh.routing.route import RoutePolicy
from rookery.mesh.routing.route_table import RouteTable
from rookery.mesh.routing.routes import Routes
from rookery.mesh.routing.shortest_paths import ShortestPaths
from rookery.wire.mesh.node_id import NodeId

NODES = 1000
EDGES = 5000
_CHANGES = 100  # in a run
_SEED = 10
_US = 1e6

Link = tuple[NodeId, NodeId, int]


def measure(effort: Effort) -> list[Figure]:
    mesh = Mesh(_SEED)
    return [
        *any_link(mesh, effort),
        *tree_link(mesh, effort),
        used_link(mesh, effort),
        disjoint(mesh, effort),
    ]


class Mesh:
    """The links, as a graph of ours and as one of networkx."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.nodes = [number.to_bytes(8, "big") for number in range(NODES)]
        self.links = list(self._links())
        self.source = self.nodes[0]
        self.graph = Graph(lambda _: True)
        self.theirs = networkx.Graph()
        self.theirs.add_weighted_edges_from(self.links)
        for node in self.nodes:
            costs = {peer: row["weight"] for peer, row in self.theirs[node].items()}
            self.graph.claim(node, costs)

    def _links(self) -> Iterator[Link]:
        ends = {(self.random.randrange(number), number) for number in range(1, NODES)}
        while len(ends) < EDGES:
            u, v = sorted(self.random.sample(range(NODES), 2))
            ends.add((u, v))
        for u, v in sorted(ends):
            yield self.nodes[u], self.nodes[v], self.random.randrange(1_000, 100_000)

    def set_cost(self, u: NodeId, v: NodeId, cost_us: int | None) -> list[EdgeChange]:
        """As one end's record would: it suffices to cut the link or to make it dearer."""
        costs = {peer: cost for peer, cost in self.graph.neighbours(u).items() if peer != v}
        return self.graph.claim(u, costs if cost_us is None else {**costs, v: cost_us})

    def their_distances(self) -> None:
        networkx.single_source_dijkstra_path_length(self.theirs, self.source)


def any_link(mesh: Mesh, effort: Effort) -> list[Figure]:
    """A link of the mesh, whichever, becomes dearer and cheaper again."""
    paths = ShortestPaths(mesh.graph, mesh.source)
    times = []
    for u, v, cost_us in _some(mesh, mesh.links, effort):
        for after in (2 * cost_us, cost_us):
            changes = mesh.set_cost(u, v, after)
            times.append(_timed(partial(paths.changed, changes)))
    return _beside_recomputations("any link changes its cost", times, mesh, effort)


def tree_link(mesh: Mesh, effort: Effort) -> list[Figure]:
    """A link that cheapest routes use is cut: others must be found for all behind it."""
    paths = ShortestPaths(mesh.graph, mesh.source)
    tree = [link for link in mesh.links if _is_used(paths, link)]
    times = []
    for u, v, cost_us in _some(mesh, tree, effort):
        changes = mesh.set_cost(u, v, None)
        times.append(_timed(partial(paths.changed, changes)))
        paths.changed(mesh.set_cost(u, v, cost_us))
    return _beside_recomputations("a link in use is cut", times, mesh, effort)


def used_link(mesh: Mesh, effort: Effort) -> Figure:
    """From the news to the new choice, spares and explanation included."""
    table, times, anew = RouteTable(mesh.graph, mesh.source), [], []
    for number, _ in enumerate(_some(mesh, mesh.links, effort)):
        destination = mesh.random.choice(mesh.nodes[1:])
        choice = table.to(destination, float(number))
        assert choice is not None
        u, v = choice.route.nodes[-2:]
        cost_us = mesh.graph.cost(u, v)
        changes = mesh.set_cost(u, v, None)
        times.append(_timed(partial(_repair, table, changes, destination, float(number))))
        if number % 10 == 0:
            anew.append(_timed(partial(_anew, mesh, destination)))
        table.changed(mesh.set_cost(u, v, cost_us))
    figure = _figure("cut of a route in use → next choice, with spares", times, anew, "all anew")
    return replace(figure, goal=Goal(value_max=1000.0))


def disjoint(mesh: Mesh, effort: Effort) -> Figure:
    """Three routes that share no node, to a node not asked for before."""
    routes = Routes(mesh.graph, mesh.source, RoutePolicy())
    times, theirs = [], []
    for number, _ in enumerate(_some(mesh, mesh.links, effort)):
        destination = mesh.random.choice(mesh.nodes[1:])
        times.append(_timed(partial(routes.to, destination)))
        if number % 10 == 0:
            theirs.append(_timed(partial(_theirs_disjoint, mesh, destination)))
    return _figure("three disjoint routes to one node", times, theirs, "networkx, one by one")


def _repair(table: RouteTable, news: list[EdgeChange], destination: NodeId, now: float) -> None:
    table.changed(news)
    table.to(destination, now)


def _anew(mesh: Mesh, destination: NodeId) -> None:
    Routes(mesh.graph, mesh.source, RoutePolicy()).to(destination)


def _theirs_disjoint(mesh: Mesh, destination: NodeId) -> None:
    graph = mesh.theirs.copy()
    for _ in range(RoutePolicy().disjoint_max):
        if not networkx.has_path(graph, mesh.source, destination):
            return
        _, path = networkx.bidirectional_dijkstra(graph, mesh.source, destination)
        graph.remove_nodes_from(path[1:-1])
        if len(path) == 2:
            graph.remove_edge(*path)


def _is_used(paths: ShortestPaths, link: Link) -> bool:
    u, v, cost_us = link
    here, there = paths.distance(u), paths.distance(v)
    return here is not None and there is not None and abs(here - there) == cost_us


def _some(mesh: Mesh, links: list[Link], effort: Effort) -> list[Link]:
    return mesh.random.choices(links, k=effort.runs * _CHANGES)


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return _US * (time.process_time() - began)


def _beside_recomputations(
    what: str, times: list[float], mesh: Mesh, effort: Effort
) -> list[Figure]:
    paths = ShortestPaths(mesh.graph, mesh.source)
    ours = [_timed(paths.recompute) for _ in range(4 * effort.runs)]
    theirs = [_timed(mesh.their_distances) for _ in range(4 * effort.runs)]
    return [
        _figure(what, times, ours, "Dijkstra anew, our code"),
        _figure(what, times, theirs, "Dijkstra anew, networkx"),
    ]


def _figure(what: str, times: list[float], limits: list[float], against: str) -> Figure:
    times.sort()
    value, limit = middle(times), middle(limits)
    slow = times[len(times) * 99 // 100]
    return Figure(
        what=f"{NODES} nodes, {EDGES} links: {what}",
        value=value,
        unit="µs",
        limit=limit,
        against=against,
        remark=f"99 % within {slow:,.0f} µs",
    )
