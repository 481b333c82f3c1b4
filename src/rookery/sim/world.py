"""A deterministic world: virtual time, a seeded network, and the very cores that ship.

    world = World(seed=7)
    alice, bob = world.node("10.0.0.1"), world.node("10.0.0.2")
    link = alice.link(bob)
    world.run_until(lambda: link.state is LinkState.UP)

Nothing sleeps: time jumps from one event to the next. Every packet crosses the wire as bytes.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from random import Random

from rookery.errors import UnreachableError
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.link.channel import Channel
from rookery.link.endpoint import Endpoint
from rookery.link.events import (
    ChannelChanged,
    ChannelOpened,
    Discovered,
    Event,
    LinkDown,
    LinkForgotten,
    LinkUp,
    PathLost,
    Transmit,
)
from rookery.link.link import Link
from rookery.sim.network import Conditions, Network
from rookery.wire.lob import Packet
from rookery.wire.path import NetPath, Path

EPOCH_UNIX_S = 1_800_000_000.0
EVENTS_MAX = 5_000_000  # no scenario needs more; a livelock should end

Handler = Callable[[Link, Channel], None]
Listener = Callable[[NetPath, NetPath, bytes], object]


class Node:
    """One endpoint in the world, with its addresses and what it was told."""

    def __init__(self, world: "World", endpoint: Endpoint, paths: tuple[NetPath, ...]) -> None:
        self.endpoint = endpoint
        self.paths = paths
        self.accepts_strangers = False
        self.notices: list[Event] = []  # everything but transmissions, for tests to look at
        self.sent = 0
        self._world = world
        self._handlers: dict[str, Handler] = {}
        self._watchers: dict[Channel, Callable[[], None]] = {}
        self._tick_at: float | None = None
        endpoint.own_paths = paths

    @property
    def hashname(self) -> str:
        return self.endpoint.hashname

    def link(self, other: "Node", paths: Iterable[Path] | None = None) -> Link:
        """Ask for a link to another node, by default over all its addresses."""
        keys = other.endpoint.identity.keys
        known = other.paths if paths is None else paths
        link = self.endpoint.link(other.hashname, keys, known, self._world.now)
        self.settle()
        return link

    def serve(self, channel_type: str, handler: Handler) -> None:
        """Have `handler(link, channel)` called for every channel of this type."""
        self.endpoint.types.add(channel_type)
        self._handlers[channel_type] = handler

    def open(
        self, link: Link, channel_type: str, body: bytes = b"", *, reliable: bool = True
    ) -> Channel:
        channel = link.open(channel_type, {}, body, reliable=reliable, now=self._world.now)
        self.endpoint.touch(link)
        self.settle()
        return channel

    def watch(self, channel: Channel, callback: Callable[[], None]) -> None:
        """Call back whenever the channel has news."""
        self._watchers[channel] = callback

    def used(self, link: Link, channel: Channel) -> None:
        """Say after sending or receiving on a channel: something may be due."""
        link.touch(channel)
        self.endpoint.touch(link)
        self._world.soon(self.settle)

    def deliver(self, source: NetPath, data: bytes) -> None:
        self.endpoint.received(source, Packet.parse(data), self._world.now)
        self.settle()

    def settle(self) -> None:
        """Carry out what the endpoint has decided, and wake it in time for its timers."""
        now = self._world.now
        self.endpoint.flush(now)
        while events := self.endpoint.take():
            for event in events:
                self._carry_out(event, now)
            self.endpoint.flush(now)
        self._rearm()

    def _carry_out(self, event: Event, now: float) -> None:
        match event:
            case Transmit(path, data):
                assert isinstance(path, NetPath)
                self.sent += 1
                self._world.send(self, path, data)
                return
            case Discovered(stranger) if self.accepts_strangers:
                self.endpoint.accept(stranger, now)
            case ChannelOpened(link, channel):
                self._handlers[channel.type](link, channel)
                self.used(link, channel)
            case ChannelChanged(channel):
                if (callback := self._watchers.get(channel)) is not None:
                    callback()
            case Discovered() | LinkUp() | LinkDown() | PathLost() | LinkForgotten():
                pass
        self.notices.append(event)

    def _rearm(self) -> None:
        deadline = self.endpoint.deadline
        if deadline is not None and (self._tick_at is None or deadline < self._tick_at):
            self._tick_at = deadline
            self._world.at(deadline, self._tick)

    def _tick(self) -> None:
        self._tick_at = None
        self.endpoint.tick(self._world.now)
        self.settle()


class World:
    """Time, the network, and everybody in it."""

    def __init__(self, seed: int = 0, conditions: Conditions | None = None) -> None:
        self.now = 0.0
        self.random = Random(seed)  # noqa: S311 - replayable on purpose
        self.network = Network(self.random, conditions or Conditions())
        self.deliveries = 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._at: dict[NetPath, Node] = {}
        self._cut: set[str] = set()
        self._listeners: list[Listener] = []

    def node(
        self,
        ip: str,
        *,
        csids: Iterable[int] = (0x40,),
        kinds: Iterable[str] = ("udp4",),
        clock_error_s: float = 0.0,
        limits: AdmissionLimits | None = None,
        identity: Identity | None = None,
    ) -> Node:
        """Put an endpoint at an address; a second one there replaces the first, as a restart."""
        endpoint = Endpoint(
            identity or Identity.generate(csids, self.random.randbytes),
            random=self.random.randbytes,
            unix_s=EPOCH_UNIX_S + self.now + clock_error_s,
            now=self.now,
            limits=limits or AdmissionLimits(),
        )
        node = Node(self, endpoint, tuple(NetPath(kind, ip, 42424) for kind in kinds))
        for path in node.paths:
            self._at[path] = node
        return node

    def move(self, node: Node, ip: str) -> None:
        """The node speaks from another address from now on, as behind a NAT that forgot it."""
        self.remove(node)
        node.paths = tuple(NetPath(path.kind, ip, path.port) for path in node.paths)
        for path in node.paths:
            self._at[path] = node

    def cut(self, kind: str) -> None:
        """From now on nothing passes under this transport."""
        self._cut.add(kind)

    def separate(self, one: str, other: str) -> None:
        """Nothing passes between these two addresses any more."""
        for source, target in ((one, other), (other, one)):
            self.network.change(Conditions(blocked=True), source, target)

    def reunite(self) -> None:
        """Everybody reaches everybody again."""
        self.network.change(Conditions())

    def overhear(self, listener: Listener) -> None:
        """Have every packet that is sent shown to `listener(source, target, data)`."""
        self._listeners.append(listener)

    def remove(self, node: Node) -> None:
        """The node is gone without a word."""
        for path in node.paths:
            if self._at.get(path) is node:
                del self._at[path]

    def send(self, sender: Node, target: NetPath, data: bytes) -> None:
        source = next((path for path in sender.paths if path.kind == target.kind), None)
        if source is None or self._at.get(source) is not sender:
            return
        for listener in self._listeners:
            listener(source, target, data)
        if target.kind in self._cut:
            return
        for arrival in self.network.arrivals(source, target, self.now):
            self.at(arrival, lambda: self._deliver(source, target, data))

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._queue, (max(time, self.now), self._count, action))

    def soon(self, action: Callable[[], None]) -> None:
        self.at(self.now, action)

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        until = self.now + seconds
        for _ in range(EVENTS_MAX):
            if not self._queue or self._queue[0][0] > until:
                break
            self._step()
        self.now = until

    def run_until(self, condition: Callable[[], bool], limit_s: float = 120.0) -> None:
        """Let time pass until the condition holds; UnreachableError when it never does."""
        until = self.now + limit_s
        for _ in range(EVENTS_MAX):
            if condition():
                return
            if not self._queue or self._queue[0][0] > until:
                break
            self._step()
        raise UnreachableError(f"not within {limit_s} virtual seconds")

    def _step(self) -> None:
        self.now, _, action = heappop(self._queue)
        action()

    def _deliver(self, source: NetPath, target: NetPath, data: bytes) -> None:
        node = self._at.get(target)
        if node is not None:
            self.deliveries += 1
            node.deliver(source, data)
