"""Connections of the deterministic world: dialled, accepted, in order, reset or half open.

    dialler ── one round trip ──▶ open ── packets in order ──▶ lost: reset by the peer's crash,
       │                           │                            or by data for an unknown connection
       ├─ refused: no listener     └─ blocked: everything waits, and goes on when it can;
       └─ unanswered for 10 s         lost only when that takes too long

The dialler knows the connection by the address it dialled, the acceptor by the dialler's address
and a port of its own. A crash tells the peers only if packets can pass; else they find out late.
"""

from typing import TYPE_CHECKING

from rookery.sim.network.nat import NatMapping
from rookery.sim.network.network import Pipe
from rookery.wire.link.path import NetPath

if TYPE_CHECKING:
    from rookery.sim.world import SimulatedEndpoint, World

DIAL_S = 10.0
DIAL_AGAIN_S = 1.0  # and twice as long each time
RETRY_S = 0.2  # and twice as long each time, as TCP waits
RETRY_S_MAX = 60.0
STALLED_S_MAX = 900.0
DIAL_QUEUE_SIZE_MAX = 1 << 18
WRITE_QUEUE_SIZE_MAX = 4 << 20
_SEGMENT_SIZE = 60  # without any data
_PORT_FIRST = 32768


class ConnectionEnd:
    """One end of a connection."""

    __slots__ = (
        "clear_at",
        "ips",
        "is_closed",
        "mapping",
        "node",
        "number",
        "other",
        "path",
        "pipe",
        "source",
        "stalled_s",
        "version",
        "waiting",
        "waiting_size",
    )

    def __init__(
        self,
        node: "SimulatedEndpoint",
        path: NetPath,
        source: NetPath,
        ips: tuple[str, str],
        pipe: Pipe,
    ) -> None:
        self.node = node
        self.path = path  # the other end, as this node knows it
        self.source = source  # this end, as the other node knows it
        self.ips = ips  # of the two machines, this one first
        self.pipe = pipe
        self.number = 0
        self.other: ConnectionEnd | None = None  # until it is there
        self.mapping: NatMapping | None = None  # of a NAT in front of the dialler
        self.is_closed = False
        self.clear_at = 0.0  # when everything sent so far has arrived
        self.stalled_s: float | None = None  # since when nothing is confirmed
        self.version = 0  # of the network for which packets are known to pass in both directions
        self.waiting: list[bytes] = []
        self.waiting_size = 0

    def __str__(self) -> str:
        return f"{self.path} > {self.source}"


class SimulatedConnections:
    """Every connection of a world."""

    def __init__(self, world: "World") -> None:
        self.dropped = 0  # packets that found a full queue
        self.stalled_s_max = STALLED_S_MAX
        self._world = world
        self._ports: dict[str, int] = {}
        self._count = 0

    def send(self, node: "SimulatedEndpoint", path: NetPath, data: bytes) -> None:
        """Send over the connection to `path`, dialling if there is none."""
        end = node.connections.get(path) or self._dial(node, path)
        if end is None:
            return
        if self._world.is_overheard:
            self._world.overheard(end.source, path, data)
        if end.other is None or end.waiting:
            self._wait(end, data)
        elif end.version == self._world.network.version or self._passes(end):
            self._carry(end, data)
        else:
            self._wait(end, data)
            self._stall(end)

    def queued(self, node: "SimulatedEndpoint", path: NetPath) -> int:
        """Bytes that were sent and have not left yet."""
        end = node.connections.get(path)
        return 0 if end is None else end.waiting_size + end.pipe.queued(self._world.now)

    def close(self, node: "SimulatedEndpoint") -> None:
        """The node's process is gone, and its machine resets its connections."""
        for end in list(node.connections.values()):
            self.hang_up(end)

    def hang_up(self, end: ConnectionEnd) -> None:
        """One end closes; the other is notified if packets can pass."""
        end.is_closed = True
        end.node.connections.pop(end.path, None)
        if end.other is not None and self._passes(end):
            self._reset(end.other)

    def _dial(self, node: "SimulatedEndpoint", path: NetPath) -> ConnectionEnd | None:
        world = self._world
        own = node.address(path.kind)
        if own is None or not world.is_at(own, node):
            return None
        port = self._ports[own.ip] = self._ports.get(own.ip, _PORT_FIRST - 1) + 1
        source, mapping = NetPath(path.kind, own.ip, port), None
        if (nat := world.nat_of(own.ip, path.ip)) is not None:
            mapping = nat.outbound(source, path, world.now)
            source = source if mapping is None else mapping.outer
        pipe = world.network.pipe(source.ip, path.ip)
        end = node.connections[path] = ConnectionEnd(node, path, source, (own.ip, path.ip), pipe)
        end.mapping = mapping
        self._count += 1
        end.number = self._count
        world.at(world.now + DIAL_S, self._dial_ends, end)
        self._try(end, DIAL_AGAIN_S)
        return end

    def _try(self, end: ConnectionEnd, again_s: float) -> None:
        """Try to connect; a machine that is up accepts or refuses."""
        world, now = self._world, self._world.now
        if end.is_closed or end.other is not None:
            return
        back = world.network.pipe(end.path.ip, end.source.ip)
        world.network.current(end.pipe, end.source.ip, end.path.ip)
        destination = world.destination(end.source, end.path)
        is_open = not end.pipe.stops(end.path.kind) and not back.stops(end.path.kind)
        if destination is None or not is_open or end.ips[0] not in world.hosts:
            world.at(now + again_s, self._try, end, 2 * again_s)
            return
        answer_at = back.segment(_SEGMENT_SIZE, end.pipe.segment(_SEGMENT_SIZE, now))
        world.at(answer_at, self._answered, end, destination, back)

    def _answered(self, end: ConnectionEnd, destination: NetPath, back: Pipe) -> None:
        acceptor = self._world.node_at(destination)
        if end.is_closed or end.other is not None:
            return
        if acceptor is None:
            self._lose(end, "refused")
            return
        other = ConnectionEnd(acceptor, end.source, end.path, (destination.ip, end.ips[0]), back)
        other.number, other.other, other.mapping = end.number, end, end.mapping
        end.ips = (end.ips[0], destination.ip)
        end.other = acceptor.connections[end.source] = other
        self._release(end)

    def _dial_ends(self, end: ConnectionEnd) -> None:
        if end.other is None and not end.is_closed:
            self._lose(end, "no answer")

    def _passes(self, end: ConnectionEnd) -> bool:
        """Whether what is sent now arrives."""
        world, mapping = self._world, end.mapping
        if mapping is not None:
            if not mapping.is_alive(world.now):
                return False
            mapping.used_s = world.now
        there = end.path if end.other is None else end.other.source
        pipe = world.network.current(end.pipe, end.source.ip, there.ip)
        return not pipe.stops(end.path.kind) and world.hosts.issuperset(end.ips)

    def _carry(self, end: ConnectionEnd, data: bytes) -> None:
        world, other = self._world, end.other
        assert other is not None
        arrival = end.pipe.segment(len(data), world.now)
        if arrival < end.clear_at:
            arrival = end.clear_at
        end.clear_at = arrival
        world.at(arrival, self._arrived, other, data)
        if end.version != world.network.version:
            if not self._passes(other):
                self._stall(end)  # it arrives, but no confirmation comes back
            elif end.mapping is None:
                end.version = world.network.version

    def _arrived(self, end: ConnectionEnd, data: bytes) -> None:
        world = self._world
        if end.ips[0] not in world.hosts:
            return
        if end.is_closed:
            if end.other is not None and self._passes(end):
                self._reset(end.other)
            return
        world.arrived(end.node, end.path, data, end, end.number)

    def _reset(self, end: ConnectionEnd) -> None:
        """Tell an end that its other end is gone, after all that was sent before."""
        assert end.other is not None
        arrival = end.other.pipe.segment(_SEGMENT_SIZE, self._world.now)
        self._world.at(max(arrival, end.other.clear_at), self._lose, end, "reset")

    def _lose(self, end: ConnectionEnd, reason: str) -> None:
        if end.is_closed:
            return
        end.is_closed = True
        if end.node.connections.get(end.path) is end:
            del end.node.connections[end.path]
        self._world.journal.note(self._world.now, f"{end} {reason}")
        end.node.lost(end.path)

    def _wait(self, end: ConnectionEnd, data: bytes) -> None:
        size_max = DIAL_QUEUE_SIZE_MAX if end.other is None else WRITE_QUEUE_SIZE_MAX
        if end.waiting_size + len(data) > size_max:
            self.dropped += 1
            return
        end.waiting.append(data)
        end.waiting_size += len(data)

    def _stall(self, end: ConnectionEnd) -> None:
        if end.stalled_s is None:
            end.stalled_s = self._world.now
            self._world.at(self._world.now + RETRY_S, self._retry, end, 2 * RETRY_S)

    def _retry(self, end: ConnectionEnd, again_s: float) -> None:
        world = self._world
        if end.is_closed or end.stalled_s is None or end.other is None:
            return
        if self._passes(end) and self._passes(end.other):
            end.stalled_s = None
            self._release(end)
        elif world.now - end.stalled_s >= self.stalled_s_max:
            self._lose(end, "timed out")
        else:
            world.at(world.now + again_s, self._retry, end, min(2 * again_s, RETRY_S_MAX))

    def _release(self, end: ConnectionEnd) -> None:
        waiting, end.waiting, end.waiting_size = end.waiting, [], 0
        for data in waiting:
            if self._passes(end):
                self._carry(end, data)
            else:
                self._wait(end, data)
                self._stall(end)
