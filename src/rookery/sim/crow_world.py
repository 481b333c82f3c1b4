"""Towers in the deterministic world: virtual time, a seeded network, every packet as bytes.

    world = CrowWorld(seed=7)
    alice, bob = world.station("10.0.0.1"), world.station("10.0.0.2")
    ticket = alice.send(bob.hop, b"hello", qos=2)
    world.run_until(lambda: ticket in alice.outcomes)
    assert [each.packet.data for each in bob.arrived] == [b"hello"]

Towers meet by datagrams (gate 12, hop of 7 bytes) and by serial lines (any gate, hop of 1 byte).
Other participants, such as a peer with defects, listen at addresses with `listen`.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv4Address

from rookery.crow.events import CrowTransmit, Event, MessageUndelivered
from rookery.crow.limits import NodeLimits, TowerLimits
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.crow.tower.tower import Tower
from rookery.errors import DecodeError
from rookery.sim.network.network import Conditions, Network
from rookery.sim.world import World
from rookery.wire.crow.packet import CrowPacket
from rookery.wire.link.path import NetPath

UDP_GATE = 12
UDP_PORT = 10009
_PORT_SIZE = 2
_UDP_ARGUMENT_SIZE = 6

Listener = Callable[[NetPath, bytes], None]


@lru_cache(maxsize=4096)
def udp_hop(path: NetPath, gate: int = UDP_GATE) -> bytes:
    """The part of an address that leads to a datagram address."""
    port = path.port.to_bytes(_PORT_SIZE, "big")
    return bytes([gate]) + IPv4Address(path.ip).packed + port


@lru_cache(maxsize=4096)
def udp_path(argument: bytes) -> NetPath:
    """The datagram address that a hop's argument names."""
    ip = str(IPv4Address(argument[:-_PORT_SIZE]))
    return NetPath("udp4", ip, int.from_bytes(argument[-_PORT_SIZE:], "big"))


class SimulatedTower:
    """One tower in the world, with its nodes, its gates and its events."""

    def __init__(self, world: "CrowWorld", tower: Tower, limits: NodeLimits | None) -> None:
        self.tower = tower
        self.nodes = Nodes(tower, limits)
        self.arrived: list[PacketArrived] = []
        self.messages: list[NodeMessage] = []
        self.outcomes: dict[Ticket, str] = {}  # "" once delivered, else the reason
        self.notices: list[Event] = []  # everything but transmissions
        self.sent = 0
        self.path: NetPath | None = None
        self._world = world
        self._gate_senders: dict[int, Callable[[CrowPacket], None]] = {}
        self._tick_at: float | None = None

    @property
    def hop(self) -> bytes:
        """How a neighbour addresses this tower by datagram."""
        assert self.path is not None
        return udp_hop(self.path)

    @property
    def data(self) -> list[bytes]:
        """The data of all packets that arrived and are not for nodes."""
        return [each.packet.data for each in self.arrived]

    def send(
        self, address: bytes, data: bytes, *, kind: int = 0, qos: int = 0, ackquant_ms: int = 200
    ) -> Ticket:
        ticket = self.tower.send(
            address, data, self._world.now, type=kind, qos=qos, ackquant_ms=ackquant_ms
        )
        self.settle()
        return ticket

    def add_gate(self, gate: int, send: Callable[[CrowPacket], None]) -> None:
        self.tower.gates.add(gate)
        self._gate_senders[gate] = send

    def deliver(self, data: bytes, return_hop: bytes) -> None:
        """Bytes from the medium of a gate."""
        try:
            packet = CrowPacket.parse(data)
        except DecodeError:
            self.tower.dropped["no packet"] += 1
            return
        self.tower.received(packet, return_hop, self._world.now)
        self.settle()

    def settle(self) -> None:
        """Carry out what the tower has decided, and wake it in time for its timers."""
        for event in self.nodes.take(self._world.now):
            self._carry_out(event)
        deadline = self.nodes.deadline
        if deadline is not None and (self._tick_at is None or deadline < self._tick_at):
            self._tick_at = deadline
            self._world.clock.at(deadline, self._tick)

    def _carry_out(self, event: Event) -> None:
        match event:
            case CrowTransmit(gate, packet):
                self.sent += 1
                self._gate_senders[gate](packet)
                return
            case PacketArrived():
                self.arrived.append(event)
            case NodeMessage():
                self.messages.append(event)
            case MessageDelivered(ticket):
                self.outcomes[ticket] = ""
            case MessageUndelivered(ticket, reason):
                self.outcomes[ticket] = reason
            case _:
                pass
        self.notices.append(event)

    def _tick(self) -> None:
        self._tick_at = None
        self.nodes.tick(self._world.now)
        self.settle()


class CrowWorld:
    """Time, the network, and all towers."""

    def __init__(self, seed: int = 0, conditions: Conditions | None = None) -> None:
        self.clock = World(seed, conditions)
        self._listeners: dict[NetPath, Listener] = {}
        self._lines = 0

    @property
    def now(self) -> float:
        return self.clock.now

    @property
    def network(self) -> Network:
        return self.clock.network

    def station(
        self,
        ip: str | None = None,
        *,
        port: int = UDP_PORT,
        forwards: bool = False,
        limits: TowerLimits | None = None,
        node_limits: NodeLimits | None = None,
        random: Callable[[int], bytes] | None = None,
    ) -> SimulatedTower:
        """Put up a tower; a second one at an address replaces the first, as a restart."""
        draw = random or self.clock.random.randbytes
        station = SimulatedTower(
            self, Tower(random=draw, limits=limits, forwards=forwards), node_limits
        )
        if ip is not None:
            self._add_udp_gate(station, NetPath("udp4", ip, port))
        return station

    def line(self, one: SimulatedTower, other: SimulatedTower, gate: int = 42) -> None:
        """Connect two towers by a serial line, which has the same gate id at both ends."""
        self._lines += 1
        here, there = (NetPath("udp4", f"line {self._lines}", end) for end in (1, 2))
        self._add_line_end(one, gate, here, there)
        self._add_line_end(other, gate, there, here)

    def listen(self, path: NetPath, listener: Listener) -> None:
        """Have everything sent to this address passed on."""
        self._listeners[path] = listener

    def send(self, source: NetPath, target: NetPath, data: bytes) -> None:
        for arrival in self.network.arrivals(source, target, self.now):
            self.clock.at(arrival, lambda: self._deliver(source, target, data))

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        self.clock.run(seconds)

    def run_until(self, condition: Callable[[], bool], limit_s: float = 120.0) -> None:
        """Let time pass until the condition holds; UnreachableError when it never does."""
        self.clock.run_until(condition, limit_s)

    def _deliver(self, source: NetPath, target: NetPath, data: bytes) -> None:
        listener = self._listeners.get(target)
        if listener is not None:
            listener(source, data)

    def _add_udp_gate(self, station: SimulatedTower, path: NetPath) -> None:
        def send(packet: CrowPacket) -> None:
            argument = packet.address[packet.stage + 1 :][:_UDP_ARGUMENT_SIZE]
            if len(argument) < _UDP_ARGUMENT_SIZE:
                station.tower.dropped["short address"] += 1
                return
            self.send(path, udp_path(argument), packet.serialize())

        def receive(source: NetPath, data: bytes) -> None:
            station.deliver(data, udp_hop(source)[::-1])

        station.path = path
        station.add_gate(UDP_GATE, send)
        self.listen(path, receive)

    def _add_line_end(
        self, station: SimulatedTower, gate: int, here: NetPath, there: NetPath
    ) -> None:
        def send(packet: CrowPacket) -> None:
            self.send(here, there, packet.serialize())

        def receive(source: NetPath, data: bytes) -> None:
            station.deliver(data, bytes([gate]))

        station.add_gate(gate, send)
        self.listen(here, receive)
