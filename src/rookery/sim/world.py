"""A deterministic world: virtual time, a seeded network, and the very cores that ship.

    world = World(seed=7)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)

Every packet crosses the wire as bytes. `world.network` has the weather; nodes crash, restart,
freeze and have their clocks stepped; `world.journal.digest` is the same for the same seed.
"""

from collections.abc import Callable, Iterable
from random import Random

from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.endpoint import Endpoint
from rookery.sim.endpoint import EPOCH_UNIX_S, SimulatedEndpoint
from rookery.sim.network.connections import SimulatedConnections
from rookery.sim.network.nat import Nat, NatKind
from rookery.sim.network.network import Conditions, Network, Pipe
from rookery.sim.timeline import Timeline
from rookery.wire.link.path import NetPath

__all__ = ["EPOCH_UNIX_S", "SimulatedEndpoint", "World"]

PORT = 42424

Listener = Callable[[NetPath, NetPath, bytes], object]


class SimulatedSocket:
    """An address and the node that listens there."""

    __slots__ = ("node",)

    def __init__(self) -> None:
        self.node: SimulatedEndpoint | None = None


class DatagramFlow:
    """The datagrams from one node to one address."""

    __slots__ = ("home", "is_translated", "number", "pipe", "socket", "source", "target")

    def __init__(
        self, source: NetPath, target: NetPath, home: SimulatedSocket, socket: SimulatedSocket
    ) -> None:
        self.source = source
        self.target = target
        self.home = home
        self.socket = socket
        self.is_translated = False  # it passes a NAT
        self.number = 0
        self.pipe: Pipe

    def __str__(self) -> str:
        return f"{self.source} > {self.target}"


class World(Timeline):
    """Time, the network, and the nodes in it."""

    def __init__(self, seed: int = 0, conditions: Conditions | None = None) -> None:
        super().__init__()
        self.random = Random(seed)  # noqa: S311 - replayable on purpose
        self.network = Network(self.random, conditions or Conditions())
        self.connections = SimulatedConnections(self)
        self.hosts: set[str] = set()  # machines that are up, whether a node runs on them or not
        self.deliveries = 0
        self.is_overheard = False
        self._sockets: dict[NetPath, SimulatedSocket] = {}
        self._behind: dict[str, Nat] = {}
        self._nats: dict[str, Nat] = {}
        self._listeners: list[Listener] = []
        self._flows = 0

    # --- nodes ---

    def node(
        self,
        ip: str,
        *,
        csids: Iterable[int] = (0x40,),
        kinds: Iterable[str] = ("udp4",),
        clock_error_s: float = 0.0,
        limits: AdmissionLimits | None = None,
        identity: Identity | None = None,
    ) -> SimulatedEndpoint:
        """Put an endpoint at an address; a second one there replaces the first, as a restart."""
        endpoint = Endpoint(
            identity or Identity.generate(csids, self.random.randbytes),
            random=self.random.randbytes,
            unix_s=EPOCH_UNIX_S + self.now + clock_error_s,
            now=self.now,
            limits=limits or AdmissionLimits(),
        )
        node = SimulatedEndpoint(self, endpoint, tuple(NetPath(kind, ip, PORT) for kind in kinds))
        node.clock_error_s = clock_error_s
        self.place(node)
        return node

    def place(self, node: SimulatedEndpoint) -> None:
        """Have a node listen at its addresses; a previous node there crashes."""
        for path in node.paths:
            socket = self._socket(path)
            if socket.node is not None and socket.node is not node:
                self.crash(socket.node)
            socket.node = node
            self.hosts.add(path.ip)
        node.flows.clear()
        self.network.touch()

    def remove(self, node: SimulatedEndpoint) -> None:
        """Remove the node and its machine without closing any connection."""
        self._vacate(node)
        self.hosts.difference_update(path.ip for path in node.paths)
        self.network.touch()

    def move(self, node: SimulatedEndpoint, ip: str) -> None:
        """The node speaks from another address from now on, as behind a NAT that forgot it."""
        self.remove(node)
        node.paths = tuple(NetPath(path.kind, ip, path.port) for path in node.paths)
        self.place(node)

    def crash(self, node: SimulatedEndpoint) -> None:
        """The process dies; its machine resets the connections it had."""
        self.journal.note(self.now, f"{node} crashes")
        node.is_running = False
        self.connections.close(node)
        self._vacate(node)

    def restart(self, node: SimulatedEndpoint) -> SimulatedEndpoint:
        """The same identity at the same addresses, and nothing remembered."""
        self.crash(node)
        return self.node(
            node.paths[0].ip,
            kinds=[path.kind for path in node.paths],
            clock_error_s=node.clock_error_s,
            identity=node.endpoint.identity,
        )

    def step_clock(self, node: SimulatedEndpoint, seconds: float) -> None:
        """Step the node's wall clock; its monotonic clock is not affected."""
        node.clock_error_s += seconds

    def nat(self, kind: NatKind, ip: str, inside: Iterable[str]) -> Nat:
        """Put a NAT in front of some addresses, which are reached only through it from now on."""
        nat = self._nats[ip] = Nat(kind, ip, self.random)
        self._behind.update(dict.fromkeys(inside, nat))
        for socket in self._sockets.values():
            if socket.node is not None:
                socket.node.flows.clear()
        return nat

    # --- traffic ---

    def cut(self, kind: str) -> None:
        """From now on nothing passes under this transport."""
        self.network.block(kind=kind)

    def separate(self, one: str, other: str) -> None:
        """Nothing passes between these two addresses any more."""
        self.network.block(one, other)
        self.network.block(other, one)

    def reunite(self) -> None:
        """Remove every block between addresses."""
        self.network.heal()

    def overhear(self, listener: Listener) -> None:
        """Have every packet that is sent shown to `listener(source, target, data)`."""
        self._listeners.append(listener)
        self.is_overheard = True

    def overheard(self, source: NetPath, target: NetPath, data: bytes) -> None:
        for listener in self._listeners:
            listener(source, target, data)

    def send(self, sender: SimulatedEndpoint, target: NetPath, data: bytes) -> None:
        """Pass on what a node sends: a datagram, or a part of a connection."""
        if not target.is_datagram:
            self.connections.send(sender, target, data)
            return
        flow = sender.flows.get(target) or self._flow(sender, target)
        if flow is None or flow.home.node is not sender:
            return
        source, pipe, network = flow.source, flow.pipe, self.network
        if flow.is_translated:
            translated = self._translated(flow)
            if translated is None:
                return
            source, pipe = translated
        if self.is_overheard:
            self.overheard(source, target, data)
        if pipe.version != network.version:
            network.current(pipe, source.ip, target.ip)
        if pipe.stopped and pipe.stops(target.kind):
            return
        for arrival in pipe.datagram(len(data), self.now):
            self.at(arrival, self._datagram_arrived, flow, source, data)

    def arrived(
        self, node: SimulatedEndpoint, source: NetPath, data: bytes, where: object, number: int
    ) -> None:
        """A packet has reached the machine of its node."""
        self.deliveries += 1
        self.journal.packet(self.now, where, number, data)
        node.receive(source, data)

    # --- for the connections ---

    def is_at(self, path: NetPath, node: SimulatedEndpoint) -> bool:
        socket = self._sockets.get(path)
        return socket is not None and socket.node is node

    def node_at(self, path: NetPath) -> SimulatedEndpoint | None:
        socket = self._sockets.get(path)
        return socket.node if socket is not None else None

    def nat_of(self, source: str, target: str) -> Nat | None:
        """The NAT that a packet from one address to another has to leave through."""
        nat = self._behind.get(source)
        return None if self._behind.get(target) is nat else nat

    def destination(self, source: NetPath, target: NetPath) -> NetPath | None:
        """Where packets from `source` to `target` arrive behind a NAT, if they arrive."""
        nat = self._nats.get(target.ip)
        if nat is not None:
            inner = nat.inbound(source, target, self.now)
            return inner if inner is not None and inner.ip in self.hosts else None
        is_near = self._behind.get(source.ip) is self._behind.get(target.ip)
        return target if is_near and target.ip in self.hosts else None

    # --- inside ---

    def _socket(self, path: NetPath) -> SimulatedSocket:
        return self._sockets.setdefault(path, SimulatedSocket())

    def _vacate(self, node: SimulatedEndpoint) -> None:
        for path in node.paths:
            if self.is_at(path, node):
                self._sockets[path].node = None

    def _flow(self, sender: SimulatedEndpoint, target: NetPath) -> DatagramFlow | None:
        source = sender.address(target.kind)
        if source is None:
            return None
        flow = DatagramFlow(source, target, self._socket(source), self._socket(target))
        behind, there = self._behind.get(source.ip), self._behind.get(target.ip)
        flow.is_translated = behind is not there or target.ip in self._nats
        flow.pipe = self.network.pipe(source.ip, target.ip)
        self._flows += 1
        flow.number = self._flows
        sender.flows[target] = flow
        return flow

    def _translated(self, flow: DatagramFlow) -> tuple[NetPath, Pipe] | None:
        """Where the packet seems to come from once it has left the NAT, if it does."""
        nat = self.nat_of(flow.source.ip, flow.target.ip)
        if nat is None:
            return flow.source, flow.pipe
        mapping = nat.outbound(flow.source, flow.target, self.now)
        if mapping is None:
            return None
        return mapping.outer, self.network.pipe(mapping.outer.ip, flow.target.ip)

    def _datagram_arrived(self, flow: DatagramFlow, source: NetPath, data: bytes) -> None:
        node = flow.socket.node
        if flow.is_translated:
            destination = self.destination(source, flow.target)
            node = self.node_at(destination) if destination is not None else None
        if node is not None:
            self.arrived(node, source, data, flow, flow.number)
