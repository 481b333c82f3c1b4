"""The route table: choices of routes, kept current as the mesh changes.

News is only noted (`changed`); the work is done when a route is next asked for, once for all the
news since. A choice once made is returned as it is until something it depends on has changed: the
best route, or any link of the routes in use. Better *spares* alone are looked for a second later.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from math import inf

from rookery.mesh.routing.graph import Edge, EdgeChange, Graph, edge
from rookery.mesh.routing.route import Route, RoutePolicy
from rookery.mesh.routing.route_candidates import explain_choice
from rookery.mesh.routing.route_explanation import RouteExplanation
from rookery.mesh.routing.routes import RouteChoice, Routes
from rookery.mesh.routing.search import cheapest
from rookery.wire.mesh.node_id import NodeId

DESTINATIONS_MAX = 4096
AVOIDED_MAX = 256
PENDING_MAX = 16_384  # from here on everything is computed anew
SPARES_REFRESH_S = 1.0


class _RouteEntry:
    """A choice in use."""

    __slots__ = ("choice", "generation", "refresh_s", "searched_s")

    def __init__(self, choice: RouteChoice, generation: int, now: float) -> None:
        self.choice = choice
        self.generation = generation  # of the news that it takes into account
        self.searched_s = now  # when its spares were looked for,
        self.refresh_s = inf  # and are to be again


# The destination, what packets to it take from now on (None: nothing leads there), and before.
OnChoice = Callable[[NodeId, RouteChoice | None, RouteChoice | None], None]


class RouteTable:
    """The routes of one node over `graph`, which its owner keeps up to date."""

    def __init__(self, graph: Graph, source: NodeId, policy: RoutePolicy | None = None) -> None:
        self.routes = Routes(graph, source, RoutePolicy() if policy is None else policy)
        self._generation = 0
        self._pending: list[EdgeChange] = []
        self._is_overrun = False
        self._entries: dict[NodeId, _RouteEntry] = {}
        self._avoided: dict[Edge, float] = {}
        self.on_choice: OnChoice | None = None

    @property
    def generation(self) -> int:
        """Another number each time that the graph has changed."""
        return self._generation

    @property
    def in_use(self) -> Collection[NodeId]:
        """The destinations for which a choice is kept."""
        return self._entries.keys()

    def used(self) -> Iterator[tuple[NodeId, ...]]:
        """The routes of all choices that are kept, their spares too."""
        for entry in self._entries.values():
            yield entry.choice.route.nodes
            for spare in entry.choice.alternates:
                yield spare.nodes

    def changed(self, changes: Iterable[EdgeChange]) -> None:
        """The graph has changed in these edges."""
        before = len(self._pending)
        self._pending.extend(changes)
        if len(self._pending) == before:
            return
        self._generation += 1
        if len(self._pending) > PENDING_MAX:
            self._pending.clear()
            self._is_overrun = True

    def avoid(self, u: NodeId, v: NodeId, until: float) -> None:
        """This edge failed a packet: until then, take it only where nothing else leads."""
        ends = edge(u, v)
        if self.routes.source in ends:
            return  # our own measurements of our links count, not records
        if ends not in self._avoided and len(self._avoided) == AVOIDED_MAX:
            self._forgive(min(self._avoided, key=self._avoided.__getitem__))
        self._avoided[ends] = max(until, self._avoided.get(ends, -inf))
        self.changed(self.routes.graph.avoid(u, v))

    @property
    def deadline(self) -> float | None:
        """When to call `tick`."""
        return min(self._avoided.values(), default=None)

    def tick(self, now: float) -> None:
        for ends in [ends for ends, until in self._avoided.items() if until <= now]:
            self._forgive(ends)

    def to(self, destination: NodeId, now: float) -> RouteChoice | None:
        """The routes to take to `destination`; None when nothing leads there."""
        entry = self._entries.get(destination)
        if entry is not None and entry.generation == self._generation and now < entry.refresh_s:
            return entry.choice
        self._catch_up()
        previous = None if entry is None else entry.choice
        decision = self.routes.decide(destination, previous)
        if decision is None:
            self._entries.pop(destination, None)
            self._tell(destination, None, previous)
            return None
        if entry is not None and decision.route == entry.choice.route and self._stands(entry, now):
            return entry.choice
        choice = self.routes.choice(decision, previous, now)
        if entry is None and len(self._entries) == DESTINATIONS_MAX:
            del self._entries[next(iter(self._entries))]
        if entry is not None and _same_routes(choice, entry.choice):
            choice = entry.choice  # with the explanation of how it came about
        self._entries[destination] = _RouteEntry(choice, self._generation, now)
        self._tell(destination, choice, previous)
        return choice

    def priced(self, nodes: tuple[NodeId, ...]) -> Route | None:
        """This very route at today's costs; None when it does not count."""
        return self.routes.priced(nodes)

    def detour(
        self, destination: NodeId, avoid: Container[NodeId], hop_max: int | None = None
    ) -> Route | None:
        """From us past the nodes in `avoid`; if the destination is one of them, not directly."""
        routes = self.routes
        self._catch_up()
        direct = edge(routes.source, destination)
        nodes = cheapest(
            routes.paths,
            destination,
            routes.policy.hop_max if hop_max is None else hop_max,
            without=avoid,
            cut={direct} if destination in avoid else frozenset(),
        )
        return None if nodes is None else routes.priced(nodes)

    def explain(self, destination: NodeId, now: float) -> RouteExplanation:
        """The current choice with all other candidates; slow."""
        choice = self.to(destination, now)
        self._catch_up()
        return explain_choice(self.routes, destination, choice, now)

    def _stands(self, entry: _RouteEntry, now: float) -> bool:
        """True if the spares are unchanged and need not be searched again yet."""
        spares = entry.choice.alternates
        if any(self.routes.priced(spare.nodes) != spare for spare in spares):
            return False
        due_s = entry.searched_s + SPARES_REFRESH_S
        if now >= due_s:
            return False
        entry.generation, entry.refresh_s = self._generation, due_s
        return True

    def _tell(
        self, destination: NodeId, choice: RouteChoice | None, previous: RouteChoice | None
    ) -> None:
        """Notify listeners of another route, not of the same one at another cost."""
        if self.on_choice is not None and _nodes(choice) != _nodes(previous):
            self.on_choice(destination, choice, previous)

    def _catch_up(self) -> None:
        if self._is_overrun:
            self.routes.paths.recompute()
        elif self._pending:
            self.routes.paths.changed(self._pending)
        self._is_overrun = False
        self._pending.clear()

    def _forgive(self, ends: Edge) -> None:
        del self._avoided[ends]
        self.changed(self.routes.graph.forgive(*ends))


def _same_routes(one: RouteChoice, other: RouteChoice) -> bool:
    return one.route == other.route and one.alternates == other.alternates


def _nodes(choice: RouteChoice | None) -> tuple[NodeId, ...]:
    return () if choice is None else choice.route.nodes
