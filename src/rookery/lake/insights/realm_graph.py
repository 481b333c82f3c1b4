"""Realm graph: connectivity of a realm in one hour, and its critical nodes and links.

Ties are broken by name: of equal nodes or parts the one with the first name comes first, so that
every implementation gets the same result.
"""

from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import NamedTuple

import rustworkx as rx

CENTRALITY_NODES_MAX = 1_000  # betweenness takes nodes × edges steps
LISTED_MAX = 20

Edge = tuple[str, str]


class RealmHealth(NamedTuple):
    nodes: int
    edges: int
    components: int
    articulation_points: int
    bridges: int
    mean_degree: float | None  # None: there is no node
    central_node: str | None
    centrality: float | None


class CriticalElement(NamedTuple):
    """A node (without `b`) or link, and which nodes lose the rest of the realm without it."""

    a: str
    b: str
    cut_off: int
    nodes: list[str]  # the first of them


class RealmGraph:
    """Nodes and edges of one hour; an edge's ends are nodes, and never the same one."""

    def __init__(self, nodes: Iterable[str], edges: Iterable[Edge]) -> None:
        self._names = sorted(set(nodes))
        numbers = {name: number for number, name in enumerate(self._names)}
        self._edges = sorted({tuple(sorted((numbers[a], numbers[b]))) for a, b in edges})
        self._neighbours: list[list[int]] = [[] for _ in self._names]
        for one, other in self._edges:
            self._neighbours[one].append(other)
            self._neighbours[other].append(one)

    def health(self) -> RealmHealth:
        graph: rx.PyGraph[int, None] = rx.PyGraph(multigraph=False)
        graph.add_nodes_from(range(len(self._names)))
        graph.add_edges_from_no_data([(one, other) for one, other in self._edges])
        node, centrality = self._central(graph)
        degree = 2 * len(self._edges) / len(self._names) if self._names else None
        return RealmHealth(
            len(self._names),
            len(self._edges),
            rx.number_connected_components(graph),
            len(rx.articulation_points(graph)),
            len(rx.bridges(graph)),
            degree,
            node,
            centrality,
        )

    def critical(self) -> list[CriticalElement]:
        """Articulation points, then bridges, each by name."""
        nodes: list[CriticalElement] = []
        links: list[CriticalElement] = []
        reached = [False] * len(self._names)
        for root in range(len(self._names)):
            if not reached[root] and self._neighbours[root]:
                walk = _Walk(root, self._neighbours, reached)
                nodes.extend(self._cut(node, None, parts) for node, parts in walk.points())
                links.extend(self._cut(one, other, parts) for one, other, parts in walk.bridges())
        return sorted(nodes) + sorted(links)

    def _cut(self, one: int, other: int | None, parts: Sequence[Sequence[int]]) -> CriticalElement:
        kept = min(parts, key=lambda part: (-len(part), min(part)))
        lost = [node for part in parts if part is not kept for node in part]
        listed = [self._names[node] for node in nsmallest(LISTED_MAX, lost)]
        ends = sorted((one,) if other is None else (one, other))
        names = [self._names[end] for end in ends]
        return CriticalElement(names[0], names[1] if other is not None else "", len(lost), listed)

    def _central(self, graph: "rx.PyGraph[int, None]") -> tuple[str | None, float | None]:
        if not 0 < len(self._names) <= CENTRALITY_NODES_MAX:
            return None, None
        # In one thread, because sums of doubles in another order are others; rounded for the same.
        found = rx.graph_betweenness_centrality(graph, parallel_threshold=1 << 31)
        best = min(range(len(self._names)), key=lambda node: (-round(found[node], 9), node))
        return self._names[best], round(found[best], 9)


class _Walk:
    """A depth-first search through one component: parents, and the lowest place reachable.

    Nodes below one are a slice of `order`. They are cut off by it, or by the link to it, when none
    of them has a route that avoids it.
    """

    def __init__(self, root: int, neighbours: Sequence[Sequence[int]], reached: list[bool]) -> None:
        self.order: list[int] = []
        self.place: dict[int, int] = {}
        self.lowest: dict[int, int] = {}  # place of the uppermost that can be reached from below
        self.end: dict[int, int] = {}  # place behind the last node below
        self.children: dict[int, list[int]] = {}
        self._enter(root, reached)
        stack = [(root, root, iter(neighbours[root]))]
        while stack:
            node, parent, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                self.end[node] = len(self.order)
                self.lowest[parent] = min(self.lowest[parent], self.lowest[node])
            elif following not in self.place:
                self._enter(following, reached)
                self.children[node].append(following)
                stack.append((following, node, iter(neighbours[following])))
            elif following != parent:
                self.lowest[node] = min(self.lowest[node], self.place[following])

    def _enter(self, node: int, reached: list[bool]) -> None:
        reached[node] = True
        self.place[node] = self.lowest[node] = len(self.order)
        self.order.append(node)
        self.children[node] = []

    def points(self) -> Iterable[tuple[int, list[list[int]]]]:
        for node in self.order:
            place = self.place[node]
            cut = [child for child in self.children[node] if self.lowest[child] >= place]
            parts = [self._below(child) for child in cut]
            inside = {each for part in parts for each in part}
            rest = (
                [each for each in self.order if each != node and each not in inside] if cut else []
            )
            if cut and len(parts) + bool(rest) > 1:
                yield node, [*parts, rest] if rest else parts

    def bridges(self) -> Iterable[tuple[int, int, list[list[int]]]]:
        for node in self.order:
            for child in self.children[node]:
                if self.lowest[child] > self.place[node]:
                    start, end = self.place[child], self.end[child]
                    yield node, child, [self._below(child), self.order[:start] + self.order[end:]]

    def _below(self, child: int) -> list[int]:
        return self.order[self.place[child] : self.end[child]]
