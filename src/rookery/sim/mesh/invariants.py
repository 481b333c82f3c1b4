"""Invariants that must hold in every mesh at any time and under any network faults.

Travels       no packet comes to a node twice, and its hop limit falls with every hop
TwoWayEdges   a node's graph has an edge only where the records of both its ends have it,
              and the routes in use name distinct nodes along such edges
Bounds        nothing a node holds or sends grows beyond what it should
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from rookery.mesh.membership.peering import UNPROVEN_MAX
from rookery.mesh.rejected_frames import REFUSED_MAX
from rookery.mesh.routing.echo import OUTSTANDING_MAX
from rookery.sim.mesh.member import SimulatedMember
from rookery.sim.timeline import InvariantError, Timeline
from rookery.wire.mesh.forward import HEAD_SIZE, ROUTE_MAX, ForwardKind
from rookery.wire.mesh.node_id import NODE_ID_SIZE, NodeId
from rookery.wire.mesh.record import Record

if TYPE_CHECKING:
    from rookery.sim.mesh.world import MeshWorld

_PACKETS_MAX = 20_000  # that are remembered
_KIND_SHIFT, _KIND_MASK = 2, 7
_STATEMENT_SLACK = 64 << 10  # one frame more than the budget had left, for each neighbour
_PENDING_PER_MEMBER = 2000  # events of the world; a storm has more


class _PacketTrace:
    """One packet: its origin, how many copies it sent, and which nodes they passed."""

    __slots__ = ("copies", "last", "origin", "passes")

    def __init__(self, origin: NodeId) -> None:
        self.origin = origin
        self.last = origin  # where it was last seen
        self.copies = 0  # sent by the origin itself
        self.passes: dict[NodeId, int] = {}


class PacketTraces:
    """Sees every packet at every node it comes to, without trusting its head."""

    def __init__(self, timeline: Timeline) -> None:
        self.hops = 0
        self.hostile: set[NodeId] = set()  # members whose packets prove nothing
        self._timeline = timeline
        self.arrived: dict[bytes, float] = {}  # payloads of packets, and when they came to the end
        self._traces: dict[bytes, _PacketTrace] = {}

    def seen(self, node: SimulatedMember, neighbour: NodeId, head: bytes, body: bytes) -> None:
        """A packet has come to a node."""
        self.hops += 1
        if self.hostile and any(id_ == neighbour or id_ in body for id_ in self.hostile):
            return
        if len(head) != HEAD_SIZE:
            raise InvariantError("a packet without a whole head")
        _, flags, hop_limit, cursor, count, _ = head
        route = [body[at : at + NODE_ID_SIZE] for at in range(0, count * NODE_ID_SIZE, 8)]
        payload = body[count * NODE_ID_SIZE :]
        if hop_limit + cursor > ROUTE_MAX:
            raise InvariantError(f"hop limit {hop_limit} after {cursor} hops")
        if len(set(route)) < count:
            raise InvariantError(f"a route with a node twice: {_names(route)}")
        kind = flags >> _KIND_SHIFT & _KIND_MASK
        if kind != ForwardKind.PATH_ERROR:  # errors about packets with a common beginning are alike
            self._count(node, neighbour, bytes((kind,)) + payload)
        if cursor + 1 == count and kind == ForwardKind.PACKET:
            self.arrived.setdefault(payload, self._timeline.now)

    def last_seen(self, payload: bytes) -> NodeId | None:
        """The node that a packet came to last; None if it never came to any."""
        trace = self._traces.get(bytes((ForwardKind.PACKET,)) + payload)
        return None if trace is None else trace.last

    def _count(self, node: SimulatedMember, neighbour: NodeId, packet: bytes) -> None:
        trace = self._traces.get(packet)
        if trace is None:
            if len(self._traces) >= _PACKETS_MAX:
                del self._traces[next(iter(self._traces))]
            trace = self._traces[packet] = _PacketTrace(neighbour)
        trace.copies += neighbour == trace.origin
        trace.last = node.id
        passes = trace.passes[node.id] = trace.passes.get(node.id, 0) + 1
        if node.id == trace.origin or passes > trace.copies:
            raise InvariantError(f"a packet comes to {node.id.hex()} again")


class TwoWayEdges:
    """Looks at one member after the other, over and over."""

    def __init__(self, world: "MeshWorld") -> None:
        self._world = world
        self._turn: Iterator[SimulatedMember] = iter(())
        self._peers: dict[int, tuple[Record, frozenset[NodeId]]] = {}

    def check(self) -> None:
        node = next(self._turn, None)
        if node is None:
            self._turn = iter(list(self._world.members.values()))
            self._peers.clear()
        elif node.is_running and not node.is_due:
            self.look_at(node)

    def look_at(self, node: SimulatedMember) -> None:
        core, own = node.core, node.id
        records = core.database.records
        for one, weights in core.graph.weights.items():
            if one == own:
                continue
            claimed = self._claimed(records.get(one))
            for other in weights:
                if other != own and not (
                    other in claimed and one in self._claimed(records.get(other))
                ):
                    raise InvariantError(
                        f"{own.hex()} counts {one.hex()} to {other.hex()}, said by one side only"
                    )
        for destination in list(core.table.in_use):
            self._check_route(node, destination)

    def _check_route(self, node: SimulatedMember, destination: NodeId) -> None:
        choice = node.core.table.to(destination, self._world.now)
        for route in () if choice is None else (choice.route, *choice.alternates):
            if len(set(route.nodes)) < len(route.nodes):
                raise InvariantError(f"a route in a loop: {_names(route.nodes)}")
            for one, other in pairwise(route.nodes):
                if node.core.graph.cost(one, other) is None:
                    raise InvariantError(f"a route over no edge: {_names(route.nodes)}")

    def _claimed(self, record: Record | None) -> frozenset[NodeId]:
        if record is None:
            return frozenset()
        known = self._peers.get(id(record))
        if known is None:
            known = self._peers[id(record)] = (record, frozenset(x.peer for x in record.links))
        return known[1]


class ResourceBounds:
    """Memory and the rate of floods, of every member."""

    def __init__(self, world: "MeshWorld") -> None:
        self._world = world

    def check(self) -> None:
        world = self._world
        size = world.topology.size + world.names_more
        if world.pending > _PENDING_PER_MEMBER * size:
            raise InvariantError(f"{world.pending} events are to come")
        for node in world.members.values():
            core = node.core
            held = {
                "records": (len(core.database.records), size),
                "members": (len(core.membership.members), size),
                "neighbours": (len(core.neighbours), size),
                "links": (len(node.endpoint.links), 2 * size + UNPROVEN_MAX),
                "connections": (len(node.connections), 4 * len(world.hosts)),
                "reasons": (len(core.rejected_frames), REFUSED_MAX),
                "wishes": (len(core.peering.dialling), size),
                "outcomes": (len(node.outcomes), OUTSTANDING_MAX * 100),
                "flooded bytes": (core.flooding.bytes_sent, self._flood_max(node)),
            }
            for what, (count, count_max) in held.items():
                if count > count_max:
                    raise InvariantError(f"{node} has {count} {what}, more than {count_max}")

    def _flood_max(self, node: SimulatedMember) -> float:
        limits = node.core.settings.flood
        lifetime_s = self._world.now - node.began_s
        neighbours = len(node.core.neighbours) + 1
        return (
            limits.send_burst_bytes
            + limits.send_bytes_per_s * lifetime_s
            + _STATEMENT_SLACK * neighbours
        )


def _names(nodes: list[NodeId] | tuple[NodeId, ...]) -> str:
    return " ".join(node.hex() for node in nodes)
