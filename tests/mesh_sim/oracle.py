"""What networkx says about the routes of a whole mesh."""

from collections.abc import Mapping
from itertools import pairwise

import networkx  # type: ignore[import-untyped]

from rookery.mesh.routing.route import RoutePolicy
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.node_id import NodeId

STRETCH_MAX = 1.05

Claims = Mapping[NodeId, Mapping[NodeId, int]]


def stretches(world: MeshWorld, sources: int) -> list[float]:
    """What each route costs against the best there is, from so many members to all others."""
    claims = {node.id: _told(node) for node in world.members.values()}
    found: list[float] = []
    for node in sorted(world.members.values(), key=lambda node: node.id)[:sources]:
        found += _stretches(world, node, claims)
    return found


def _stretches(world: MeshWorld, node: SimulatedMember, claims: Claims) -> list[float]:
    """A direct link counts 0.8 of its cost (R6), so the best is the least that counts."""
    # Of its own links a node knows what it has not told yet.
    graph, policy = _graph(world, {**claims, node.id: node.core.publisher.costs}), RoutePolicy()
    best = networkx.single_source_dijkstra_path_length(graph, node.id)
    found = []
    for other, least_us in best.items():
        if other == node.id:
            continue
        choice = node.core.table.to(other, world.now)
        assert choice is not None, "no route to a member that can be reached"
        if graph.has_edge(node.id, other):
            least_us = min(least_us, graph[node.id][other]["weight"] * policy.detour_factor)
        found.append(_counted(graph, choice.route.nodes, policy) / least_us)
    return found


def _graph(world: MeshWorld, claims: Claims) -> networkx.Graph:
    """The links that can be there, each at the worse of what its ends say."""
    graph = networkx.Graph()
    graph.add_nodes_from(claims)
    for one, other in world.links():
        here, there = world.members[one].id, world.members[other].id
        graph.add_edge(here, there, weight=max(claims[here][there], claims[there][here]))
    return graph


def _told(node: SimulatedMember) -> dict[NodeId, int]:
    return {link.peer: link.cost_us for link in node.core.database.records[node.id].links}


def _counted(graph: networkx.Graph, nodes: tuple[NodeId, ...], policy: RoutePolicy) -> float:
    cost_us = sum(graph[one][other]["weight"] for one, other in pairwise(nodes))
    return float(cost_us * policy.detour_factor if len(nodes) == 2 else cost_us)
