"""Data plane: a node's packets, those that it starts, relays and receives.

program ─▶ route chosen ─▶ one or two copies ─┐
                                              ├─▶ neighbour
FORWARD ─▶ forwarder ─▶ relayed ──────────────┘
                  └──▶ for us: a packet, an echo, an error about one that we sent
"""

from collections.abc import Callable, Mapping
from typing import Final

from rookery.errors import UnreachableError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.membership.neighbour import Neighbour
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.standing_queue import StandingQueues
from rookery.mesh.routing.blackhole_relays import BlackholeRelays
from rookery.mesh.routing.echo import Echoes
from rookery.mesh.routing.forwarding import Forwarder, RouteNodes
from rookery.mesh.routing.path_errors import AVOID_S, PathErrors
from rookery.mesh.routing.route_selector import RouteSelector
from rookery.mesh.routing.route_table import RouteTable
from rookery.wire.link.lob import NO_HEAD
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.forward import HOP_LIMIT_MAX, DatagramClass, ForwardKind, PathError
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.octets import Octets, Parts

Deliver = Callable[[Arrival, Octets, float], None]  # with the packet, and now

_CARRYING: Final = (PathCondition.UP, PathCondition.SUSPECT)
_TAKEN: Final = (DatagramFate.SENT_UDP, DatagramFate.SENT_TCP)
_DESTINATIONS_MAX: Final = 1024


class DataPlane:
    """Forwarding, route selection, echoes and path errors of one node, connected."""

    def __init__(
        self,
        own: NodeId,
        neighbours: Mapping[NodeId, Neighbour],
        table: RouteTable,
        deliver: Deliver,
        *,
        is_relay: bool,
        random: RandomBytes,
        queues: StandingQueues,
    ) -> None:
        self.is_relay = is_relay
        self.forwarder = Forwarder(own, self)
        self.echoes = Echoes(self.forwarder.send, random)
        self.errors = PathErrors()
        self.blackhole_relays = BlackholeRelays()
        self._neighbours = neighbours
        self._table = table
        self._deliver = deliver
        self._origin = RouteSelector(self)
        self.now = 0.0  # of the packet at hand
        self.started: dict[NodeId, float] = {}  # by destination, when the last packet was
        self._queues = queues
        self._handshake_routes: dict[
            NodeId, RouteNodes
        ] = {}  # by destination, what its last handshake took
        # By destination, the best route over no relay that is passed over, and as of when.
        self._around: dict[NodeId, tuple[tuple[int, int], RouteNodes | None]] = {}

    # --- what the node starts ---

    def start(
        self,
        destination: NodeId,
        packet: Octets,
        now: float,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
    ) -> bool:
        """Start a packet on the best route; False when there is none."""
        self.now = now
        choice = self._table.to(destination, now)
        if choice is None:
            return False
        routes = self._origin.routes(choice)
        if packet[: len(NO_HEAD)] != NO_HEAD:
            self._note_handshake(destination, routes[0])
        else:
            self.started[destination] = now
        sent = [
            self.forwarder.send(nodes, packet, ForwardKind.PACKET, datagram_class)
            for nodes in routes
        ]
        return any(sent)

    def follow(self, route: RouteNodes, packet: Octets, now: float) -> bool:
        """Start a packet along this very route, over any kind of path."""
        self.now = self.started[route[-1]] = now
        return self.forwarder.send(route, packet, ForwardKind.PACKET, DatagramClass.RELIABLE_OK)

    def try_out(self, route: RouteNodes, packet: Octets, now: float) -> bool:
        """Send a probe along this route as any packet; it does not count as traffic."""
        self.now = now
        return self.forwarder.send(route, packet)

    def current_route(self, destination: NodeId, now: float) -> RouteNodes | None:
        """The route that packets take now; of two copies, the first."""
        choice = self._table.to(destination, now)
        return None if choice is None else self._origin.routes(choice)[0]

    def ask(
        self, destination: NodeId, now: float, *, hop_limit: int = HOP_LIMIT_MAX, size: int
    ) -> bytes:
        """Send an echo request along the current route; its token."""
        self.now = now
        choice = self._table.to(destination, now)
        if choice is None:
            raise UnreachableError("no route leads there")
        *_, nodes = self._origin.routes(choice)  # of two, the one that is not in doubt
        return self.echoes.ask(nodes, now, hop_limit=hop_limit, size=size)

    def doubt(self, destination: NodeId, now: float) -> None:
        """No handshake is answered: pass over the relays of the route that ours took."""
        route = self._handshake_routes.get(destination)
        if route is not None:
            self.blackhole_relays.unanswered(route, now)

    def _note_handshake(self, destination: NodeId, route: RouteNodes) -> None:
        """Remember a handshake's route: the best one may have changed when it proves silent."""
        self._handshake_routes.pop(destination, None)
        if len(self._handshake_routes) == _DESTINATIONS_MAX:
            del self._handshake_routes[next(iter(self._handshake_routes))]
        self._handshake_routes[destination] = route

    # --- what arrives ---

    def received(self, neighbour: NodeId, head: bytes, body: Octets, now: float) -> None:
        """A FORWARD frame of a neighbour; RemoteError when it is refused."""
        self.now = now
        self.forwarder.received(neighbour, head, body, now)

    def deliver(self, kind: ForwardKind, arrival: Arrival, payload: Octets, now: float) -> None:
        if kind is ForwardKind.PACKET:
            self._deliver(arrival, payload, now)
        elif kind is ForwardKind.ECHO_REQUEST:
            self.echoes.requested(arrival.route, bytes(payload), now)
        elif kind is ForwardKind.ECHO_REPLY:
            self.echoes.replied_to(arrival.route, bytes(payload), now)
        else:
            self._failed(arrival.route, PathError.parse(bytes(payload)), now)

    def _failed(self, route: RouteNodes, error: PathError, now: float) -> None:
        self.echoes.gave_up(route, error, now)
        if self.errors.received(route, error, self._table.used(), now):
            self._table.avoid(route[0], error.failed, now + AVOID_S)

    # --- what the forwarder and the origin ask ---

    def usable(self, neighbour: NodeId) -> bool:
        known = self._neighbours.get(neighbour)
        return known is not None and known.state in _CARRYING

    def sound(self, neighbour: NodeId) -> bool:
        known = self._neighbours.get(neighbour)
        return known is not None and known.state is PathCondition.UP

    def suspect(self, neighbour: NodeId) -> bool:
        known = self._neighbours.get(neighbour)
        return known is not None and known.state is PathCondition.SUSPECT

    def is_busy(self, neighbour: NodeId) -> bool:
        known = self._neighbours.get(neighbour)
        stream = None if known is None else known.stream
        return stream is not None and self._queues.is_long(stream, self.now)

    def avoids(self, nodes: RouteNodes) -> int:
        return self.errors.avoids(nodes) + self.blackhole_relays.avoids(nodes)

    def around(self, nodes: RouteNodes) -> RouteNodes | None:
        destination = nodes[-1]
        state = self._table.generation, self.blackhole_relays.version
        known = self._around.get(destination)
        if known is None or known[0] != state:
            doubted = frozenset(doubt.relay for doubt in self.blackhole_relays.towards(destination))
            detour = self._table.detour(destination, doubted) if doubted else None
            if len(self._around) == _DESTINATIONS_MAX:
                self._around.clear()
            known = self._around[destination] = (state, None if detour is None else detour.nodes)
        return known[1]

    def may_relay(self, previous: NodeId) -> bool:
        return self.is_relay

    def detour(self, destination: NodeId, avoid: frozenset[NodeId]) -> RouteNodes | None:
        route = self._table.detour(destination, avoid)
        return None if route is None else route.nodes

    def send(
        self, neighbour: NodeId, head: bytes, parts: Parts, datagram_class: DatagramClass
    ) -> bool:
        return self._neighbours[neighbour].send(head, parts, self.now, datagram_class) in _TAKEN

    # --- time ---

    @property
    def deadline(self) -> float | None:
        blackhole_relays = self.blackhole_relays.deadline
        times = (self.echoes.deadline, self.errors.deadline, blackhole_relays, self._table.deadline)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> None:
        self.echoes.tick(now)
        self.errors.tick(now)
        self.blackhole_relays.tick(now)
        self._table.tick(now)

    def forget(self, neighbour: NodeId) -> None:
        self.forwarder.forget(neighbour)
        self.echoes.forget(neighbour)
