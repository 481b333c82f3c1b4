"""Realms as graphs, by networkx: one copy of the graph for each element that is taken away."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import networkx as nx  # type: ignore[import-untyped]

HOUR = timedelta(hours=1)


def graphs(edges: Iterable[dict[str, object]]) -> dict[tuple[str, datetime], nx.Graph]:
    """By realm and hour, from rows of facts/topology_edges."""
    held: dict[tuple[str, datetime], dict[tuple[str, str], timedelta]] = {}
    for row in edges:
        realm, a, b, from_at, to_at = (
            row[each] for each in ("realm", "a", "b", "from_at", "to_at")
        )
        assert isinstance(realm, str)
        assert isinstance(a, str)
        assert isinstance(b, str)
        assert isinstance(from_at, datetime)
        assert isinstance(to_at, datetime)
        hour = from_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        while hour < to_at:
            lasted = min(to_at, hour + HOUR) - max(from_at, hour)
            pairs = held.setdefault((realm, hour), {})
            pairs[a, b] = pairs.get((a, b), timedelta()) + lasted
            hour += HOUR
    found = {}
    for key, pairs in held.items():
        graph: nx.Graph = nx.Graph()
        graph.add_nodes_from(node for pair in pairs for node in pair)
        graph.add_edges_from(pair for pair, lasted in pairs.items() if lasted >= HOUR / 2)
        found[key] = graph
    return found


def health(graph: nx.Graph) -> tuple[object, ...]:
    """As in insights/topology_health, from `nodes` to `centrality`."""
    between = nx.betweenness_centrality(graph)
    central = min(graph, key=lambda node: (-round(between[node], 9), node))
    return (
        len(graph),
        graph.number_of_edges(),
        nx.number_connected_components(graph),
        len(set(nx.articulation_points(graph))),
        len(set(nx.bridges(graph))),
        2 * graph.number_of_edges() / len(graph),
        central,
        round(between[central], 9),
    )


def critical(graph: nx.Graph) -> list[tuple[object, ...]]:
    """As in insights/critical_elements, from `kind` to `nodes`."""
    found: list[tuple[object, ...]] = []
    for node in nx.articulation_points(graph):
        rest = graph.copy()
        rest.remove_node(node)
        found.append(("node", node, "", *_lost(graph, rest, node)))
    for edge in nx.bridges(graph):
        rest = graph.copy()
        rest.remove_edge(*edge)
        found.append(("link", *sorted(edge), *_lost(graph, rest, edge[0])))
    return found


def _lost(graph: nx.Graph, rest: nx.Graph, where: str) -> tuple[int, list[str]]:
    before = nx.node_connected_component(graph, where)
    parts = [part for part in nx.connected_components(rest) if part <= before]
    parts.sort(key=lambda part: (-len(part), min(part)))
    lost = sorted(node for part in parts[1:] for node in part)
    return len(lost), lost[:20]
