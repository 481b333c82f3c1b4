"""Two ends of a tunnel in virtual time, joined by roads that lose, delay and hold up packets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from rookery.mesh.tunnel.events import (
    Event,
    StreamFinished,
    StreamOpened,
    StreamReadable,
    StreamReset,
    StreamStopped,
    StreamWritable,
    TunnelClosed,
    TunnelDatagramArrived,
)
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.paths.path import DATAGRAM_MTU, TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.mesh.tunnel.tunnel import Tunnel, TunnelRole


@dataclass
class Lane:
    """One direction of a road."""

    delay_s: float = 0.01
    jitter_s: float = 0.0
    loss: float = 0.0
    duplication: float = 0.0
    rate: float | None = None  # bytes per second
    queue_s: float = 0.1  # what waits longer is dropped
    mark_s: float | None = None  # what waits longer is marked
    is_blocked: bool = False
    busy_until: float = 0.0
    last_at: float = 0.0

    def arrivals(self, size: int, now: float, random: Random, kind: TunnelPathKind) -> list[float]:
        is_stream = kind is TunnelPathKind.STREAM
        if self.is_blocked or (not is_stream and random.random() < self.loss):
            return []
        start = now
        if self.rate is not None:
            start = max(now, self.busy_until)
            if not is_stream and start - now > self.queue_s:
                return []
            self.busy_until = start + size / self.rate
            start = self.busy_until
        at = start + self.delay_s + random.random() * self.jitter_s
        if is_stream:
            self.last_at = at = max(at, self.last_at)
        again = [at + 0.001] if random.random() < self.duplication else []
        return [at, *again]


@dataclass
class Road:
    """A path between the two ends, the same number on both."""

    id: int
    there: Lane = field(default_factory=Lane)
    back: Lane | None = None
    kind: TunnelPathKind = TunnelPathKind.DATAGRAM
    mtu: int = DATAGRAM_MTU
    weight: float = 1.0
    is_up: bool = False

    def lane(self, *, is_near: bool) -> Lane:
        if self.back is None:
            self.back = Lane(self.there.delay_s, self.there.jitter_s, self.there.loss)
        return self.there if is_near else self.back

    def path(self) -> TunnelPath:
        rtt_s = 2 * self.there.delay_s
        return TunnelPath(id=self.id, kind=self.kind, mtu=self.mtu, rtt_s=rtt_s, weight=self.weight)


class End:
    """A tunnel and simple programs on it: they write what they have and read what comes."""

    def __init__(self, tunnel: Tunnel, *, is_near: bool) -> None:
        self.tunnel = tunnel
        self.is_near = is_near
        self.events: list[Event] = []
        self.opened: dict[int, StreamOpened] = {}
        self.read: dict[int, bytearray] = {}
        self.finished: set[int] = set()
        self.resets: dict[int, int] = {}
        self.stopped: dict[int, int] = {}
        self.datagrams: list[bytes] = []
        self.closed: TunnelClosed | None = None
        self.sent_packets = 0
        self.sent_size = 0
        self.reads = True
        self.on_data: Callable[[int, bytes, float], None] | None = None
        self.pending: dict[int, tuple[memoryview, bool]] = {}
        self.armed: float | None = None

    def send(
        self, data: bytes, service: str = "test", *, finish: bool = True, priority: int = 3
    ) -> int:
        stream = self.tunnel.open(service, {}, priority)
        self.pending[stream] = (memoryview(data), finish)
        return stream

    def write_on(self, stream: int, data: bytes, *, finish: bool = False) -> None:
        self.pending[stream] = (memoryview(data), finish)

    def pump(self, now: float) -> None:
        for event in self.tunnel.take():
            self.events.append(event)
            self._handle(event)
        if self.reads:
            for stream in list(self.read):
                while data := self.tunnel.read(stream, 1 << 20):
                    self.read[stream] += data
                    if self.on_data is not None:
                        self.on_data(stream, data, now)
        for stream, (data_left, finish) in list(self.pending.items()):
            if stream in self.resets or self.closed is not None:
                del self.pending[stream]
                continue
            left = data_left
            while left:
                taken = self.tunnel.write(stream, bytes(left[:65536]), now)
                left = left[taken:]
                if taken < 65536:
                    break
            self.pending[stream] = (left, finish)
            if not left:
                del self.pending[stream]
                if finish:
                    self.tunnel.finish(stream)

    def _handle(self, event: Event) -> None:
        match event:
            case StreamOpened():
                self.opened[event.stream] = event
                self.read[event.stream] = bytearray()
            case StreamReadable():
                self.read.setdefault(event.stream, bytearray())
            case StreamFinished():
                self.finished.add(event.stream)
            case StreamReset():
                self.resets[event.stream] = event.code
            case StreamStopped():
                self.stopped[event.stream] = event.code
                self.pending.pop(event.stream, None)
            case TunnelDatagramArrived():
                self.datagrams.append(event.data)
            case TunnelClosed():
                self.closed = event
            case StreamWritable() | _:
                pass


class TunnelWorld:
    """`near` opened the tunnel to `far`."""

    def __init__(
        self,
        roads: list[Road],
        seed: int = 1,
        mode: Mode = Mode.AUTO,
        limits: TunnelLimits | None = None,
    ) -> None:
        self.now = 0.0
        self.random = Random(seed)
        limits = limits or TunnelLimits()
        random = Random(seed + 1).randbytes
        near = Tunnel(TunnelRole.OPENER, random=random, now=0.0, limits=limits, mode=mode)
        far = Tunnel(
            TunnelRole.ACCEPTOR, random=random, now=0.0, number=near.id, limits=limits, mode=mode
        )
        self.near, self.far = End(near, is_near=True), End(far, is_near=False)
        self.roads: dict[int, Road] = {}
        self.packets = 0
        self._heap: list[tuple[float, int, End, tuple[int, bytes, bytes, bool] | None]] = []
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        for road in roads:
            self.up(road)

    def up(self, road: Road) -> None:
        self.roads[road.id] = road
        road.is_up = True
        for end in (self.near, self.far):
            end.tunnel.path_up(road.path(), self.now)

    def down(self, number: int) -> None:
        """Both ends notice at once."""
        self.roads[number].is_up = False
        for end in (self.near, self.far):
            end.tunnel.path_down(number, self.now)

    def block(self, number: int) -> None:
        """Nobody notices."""
        road = self.roads[number]
        road.lane(is_near=True).is_blocked = road.lane(is_near=False).is_blocked = True

    def unblock(self, number: int) -> None:
        road = self.roads[number]
        road.lane(is_near=True).is_blocked = road.lane(is_near=False).is_blocked = False

    def at(self, when: float, call: Callable[[], None]) -> None:
        self._sequence += 1
        heappush(self._calls, (when, self._sequence, call))

    def other(self, end: End) -> End:
        return self.far if end is self.near else self.near

    def settle(self, end: End) -> None:
        """Programs and packets, until nothing moves at this instant."""
        for _ in range(1000):
            end.pump(self.now)
            batch = end.tunnel.flush(self.now)
            for path, head, parts, _ in batch:
                self._carry(end, path, head, b"".join(parts))
            if not batch:
                break
        else:
            raise AssertionError("it never settles")
        end.pump(self.now)
        deadline = end.tunnel.deadline
        if deadline is not None:
            deadline = max(deadline, self.now)
            if deadline != end.armed:
                end.armed = deadline
                self._push(deadline, end, None)

    def run(self, until: Callable[[], bool] | None = None, limit_s: float = 60.0) -> float:
        """Until the condition holds; how long it took."""
        began = self.now
        for end in (self.near, self.far):
            self.settle(end)
        while until is None or not until():
            call_at = self._calls[0][0] if self._calls else float("inf")
            next_at = self._heap[0][0] if self._heap else float("inf")
            at = min(call_at, next_at)
            if at > began + limit_s:
                if until is not None:
                    raise AssertionError(f"not within {limit_s} s: {self.explain()}")
                self.now = began + limit_s
                return limit_s
            self.now = max(self.now, at)
            if call_at <= next_at:
                heappop(self._calls)[2]()
                self.settle(self.near)
                self.settle(self.far)
                continue
            self._step()
        return self.now - began

    def explain(self) -> str:
        lines = [*self.near.tunnel.explain().lines(), *self.far.tunnel.explain().lines()]
        return "\n".join(lines)

    def _step(self) -> None:
        at, _, end, packet = heappop(self._heap)
        if packet is None:
            if at != end.armed:
                return  # it was put off since
            end.armed = None
            end.tunnel.tick(self.now)
        else:
            path, head, body, is_marked = packet
            end.tunnel.received(path, head, body, self.now, is_marked=is_marked)
        self.settle(end)

    def _carry(self, end: End, path: int, head: bytes, body: bytes) -> None:
        road = self.roads[path]
        size = len(head) + len(body)
        assert size <= road.mtu, "a packet larger than the path takes"
        self.packets += 1
        end.sent_packets += 1
        end.sent_size += size
        if not road.is_up:
            return
        lane = road.lane(is_near=end.is_near)
        is_marked = lane.mark_s is not None and lane.busy_until - self.now > lane.mark_s
        for at in lane.arrivals(size, self.now, self.random, road.kind):
            self._push(at, self.other(end), (path, head, body, is_marked))

    def _push(self, at: float, end: End, packet: tuple[int, bytes, bytes, bool] | None) -> None:
        self._sequence += 1
        heappush(self._heap, (at, self._sequence, end, packet))


def pattern(size: int, seed: int = 0) -> bytes:
    return Random(seed).randbytes(size)
