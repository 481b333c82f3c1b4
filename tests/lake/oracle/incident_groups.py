"""What failed together, by comparing all members with each other."""

from collections.abc import Sequence
from datetime import timedelta

import networkx as nx  # type: ignore[import-untyped]

from rookery.lake.insights.incident_groups import IncidentMember

SLACK = timedelta(minutes=5)


def groups(members: Sequence[IncidentMember]) -> set[frozenset[IncidentMember]]:
    """Members that belong together, directly or by a chain of others.

    Overlap is that of islands, not of pairs: within a scope, somebody who lasts long bridges two
    who do not meet.
    """
    graph = nx.Graph()
    graph.add_nodes_from(members)
    for number, one in enumerate(members):
        for other in members[:number]:
            shares = set(one.nodes) & set(other.nodes) or one.entity == other.entity
            shares = shares or (one.site is not None and one.site == other.site)
            apart = max(one.from_at, other.from_at) - min(one.to_at, other.to_at)
            if shares and apart <= SLACK:
                graph.add_edge(one, other)
    return {frozenset(each) for each in nx.connected_components(graph)}
