"""A small world of forwarders joined by a graph whose edges can be cut between two hops.

A node knows its own links as they are, and the rest of the graph as it was at the beginning: news
of a cut travels more slowly than the packets that run into it.
"""

from collections import deque
from typing import NamedTuple

import networkx as nx  # type: ignore[import-untyped]

from rookery.mesh.routing.forwarding import Forwarder, RouteNodes
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.forward import DatagramClass, Forward, ForwardKind
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId
from rookery.wire.octets import Octets, Parts


def node_id(number: int) -> NodeId:
    return number.to_bytes(NODE_ID_SIZE, "big")


class Hop(NamedTuple):
    """A frame on the wire."""

    sender: NodeId
    receiver: NodeId
    head: bytes
    body: bytes

    @property
    def frame(self) -> Forward:
        return Forward.parse(self.head, self.body)


class Delivered(NamedTuple):
    """A packet that was delivered to a node."""

    node: NodeId
    kind: ForwardKind
    route: RouteNodes
    payload: bytes
    is_marked: bool = False


class World:
    """Everything in it happens one hop at a time."""

    def __init__(self, edges: list[tuple[int, int]]) -> None:
        self.known = nx.Graph()
        self.known.add_edges_from((node_id(one), node_id(other)) for one, other in edges)
        self.real = self.known.copy()
        self.sites = {node: Site(node, self) for node in sorted(self.known)}
        self.under_way: deque[Hop] = deque()
        self.hops: list[Hop] = []
        self.arrivals: list[Delivered] = []
        self.now = 0.0

    def forwarder(self, number: int) -> Forwarder:
        return self.sites[node_id(number)].forwarder

    def cut(self, one: int, other: int) -> None:
        self.cut_link(node_id(one), node_id(other))

    def cut_link(self, one: NodeId, other: NodeId) -> None:
        """A link that is down already stays so."""
        self.real.remove_edges_from([(one, other)])

    def knowledge(self, node: NodeId) -> "nx.Graph[NodeId]":
        """The graph as this node sees it."""
        seen = self.known.copy()
        seen.remove_edges_from(list(self.known.edges(node)))
        seen.add_edges_from(self.real.edges(node))
        return seen

    def step(self) -> Hop:
        hop = self.under_way.popleft()
        self.sites[hop.receiver].forwarder.received(hop.sender, hop.head, hop.body, self.now)
        return hop

    def settle(self) -> None:
        while self.under_way:
            self.step()

    def arrived(self, kind: ForwardKind) -> list[Delivered]:
        return [arrival for arrival in self.arrivals if arrival.kind is kind]


class Site:
    """One node of the world, as its forwarder sees it."""

    def __init__(self, node: NodeId, world: World) -> None:
        self.node = node
        self.relays = True
        self.takes = True
        self.doubted: set[NodeId] = set()  # links with pings missing
        self.busy: set[NodeId] = set()  # neighbours that much waits for
        self.strange_detour: RouteNodes | None = None
        self._world = world
        self.forwarder = Forwarder(node, self)

    def usable(self, neighbour: NodeId) -> bool:
        return bool(self._world.real.has_edge(self.node, neighbour))

    def sound(self, neighbour: NodeId) -> bool:
        return self.usable(neighbour) and neighbour not in self.doubted

    def send(
        self, neighbour: NodeId, head: bytes, parts: Parts, datagram_class: DatagramClass
    ) -> bool:
        if not self.takes:
            return False
        hop = Hop(self.node, neighbour, head, b"".join(parts))
        assert hop.frame.datagram_class is datagram_class
        self._world.under_way.append(hop)
        self._world.hops.append(hop)
        return True

    def detour(self, destination: NodeId, avoid: frozenset[NodeId]) -> RouteNodes | None:
        if self.strange_detour:
            return self.strange_detour
        seen = self._world.knowledge(self.node)
        seen.remove_nodes_from(avoid - {destination})
        if destination in avoid:
            seen.remove_edges_from([(self.node, destination)])
        try:
            return tuple(nx.shortest_path(seen, self.node, destination))
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return None

    def deliver(self, kind: ForwardKind, arrival: Arrival, payload: Octets, now: float) -> None:
        delivered = Delivered(self.node, kind, arrival.route, bytes(payload), arrival.is_marked)
        self._world.arrivals.append(delivered)

    def is_busy(self, neighbour: NodeId) -> bool:
        return neighbour in self.busy

    def may_relay(self, previous: NodeId) -> bool:
        return self.relays
