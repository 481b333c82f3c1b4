"""What networkx says about the routes of a whole mesh."""

from itertools import pairwise

import networkx  # type: ignore[import-untyped]

from rookery.mesh.route import Policy
from rookery.sim.mesh_world import MeshWorld
from rookery.wire.node_id import NodeId

STRETCH_MAX = 1.05


def advertised(world: MeshWorld) -> networkx.Graph:
    """The links that can be there, at the worse of what both ends say in their newest records."""
    claims = {
        number: {link.peer: link.cost_us for link in node.core.database.records[node.id].links}
        for number, node in world.members.items()
    }
    graph = networkx.Graph()
    graph.add_nodes_from(node.id for node in world.members.values())
    for one, other in world.links():
        here, there = world.members[one].id, world.members[other].id
        graph.add_edge(here, there, weight=max(claims[one][there], claims[other][here]))
    return graph


def stretches(world: MeshWorld, sources: int) -> list[float]:
    """What each route costs against the best there is, from so many members to all others.

    A direct link counts 0.8 of its cost (R6), so the best is the least that counts.
    """
    graph, policy = advertised(world), Policy()
    found = []
    for node in sorted(world.members.values(), key=lambda node: node.id)[:sources]:
        best = networkx.single_source_dijkstra_path_length(graph, node.id)
        for other, least_us in best.items():
            if other == node.id:
                continue
            choice = node.core.table.to(other, world.now)
            assert choice is not None, "no route to a member that can be reached"
            ours_us = _counted(graph, choice.route.nodes, policy)
            if graph.has_edge(node.id, other):
                least_us = min(least_us, graph[node.id][other]["weight"] * policy.detour_factor)
            found.append(ours_us / least_us)
    return found


def _counted(graph: networkx.Graph, nodes: tuple[NodeId, ...], policy: Policy) -> float:
    cost_us = sum(graph[one][other]["weight"] for one, other in pairwise(nodes))
    return float(cost_us * policy.detour_factor if len(nodes) == 2 else cost_us)
