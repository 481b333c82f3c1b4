"""One endpoint in the deterministic world, with its addresses, its timers and its events."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rookery.errors import DecodeError
from rookery.link.channel import Channel
from rookery.link.endpoint import Endpoint
from rookery.link.events import (
    ChannelChanged,
    ChannelOpened,
    Discovered,
    Event,
    HangUp,
    Transmit,
)
from rookery.link.link import Link
from rookery.sim.network.connections import ConnectionEnd
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, Path
from rookery.wire.octets import Octets

if TYPE_CHECKING:
    from rookery.sim.world import DatagramFlow, World

EPOCH_UNIX_S = 1_800_000_000.0
HELD_DATAGRAMS_MAX = 256  # while it is frozen; the system's buffers are no larger

ChannelHandler = Callable[[Link, Channel], None]


class SimulatedEndpoint:
    """One process in the world."""

    def __init__(self, world: "World", endpoint: Endpoint, paths: tuple[NetPath, ...]) -> None:
        self.endpoint = endpoint
        self.paths = paths
        self.accepts_strangers = False
        self.is_running = True
        self.is_frozen = False
        self.clock_error_s = 0.0
        self.notices: list[Event] = []  # everything but transmissions, for tests to look at
        self.sent = 0
        self.flows: dict[NetPath, DatagramFlow] = {}
        self.connections: dict[NetPath, ConnectionEnd] = {}
        self._world = world
        self._handlers: dict[str, ChannelHandler] = {}
        self._watchers: dict[Channel, Callable[[], None]] = {}
        self._tick_at: float | None = None
        self.is_due = False
        self._held: list[tuple[NetPath, bytes | None]] = []  # None is the loss of the path
        endpoint.own_paths = paths

    def __str__(self) -> str:
        return self.paths[0].ip

    @property
    def hashname(self) -> str:
        return self.endpoint.hashname

    @property
    def unix_s(self) -> float:
        """The node's wall-clock time."""
        return EPOCH_UNIX_S + self._world.now + self.clock_error_s

    def address(self, kind: str) -> NetPath | None:
        """Where it listens under one transport."""
        return next((path for path in self.paths if path.kind == kind), None)

    def link(self, other: "SimulatedEndpoint", paths: Iterable[Path] | None = None) -> Link:
        """Request a link to another node, by default over all its addresses."""
        keys = other.endpoint.identity.keys
        known = other.paths if paths is None else paths
        link = self.endpoint.link(other.hashname, keys, known, self._world.now)
        self.settle()
        return link

    def serve(self, channel_type: str, handler: ChannelHandler) -> None:
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
        self.due()

    # --- what happens to it ---

    def deliver(self, source: NetPath, data: bytes) -> None:
        """A packet, answered at once."""
        self.receive(source, data)
        self.settle()

    def receive(self, source: NetPath, data: bytes) -> None:
        """A packet; it is answered together with all others of this moment."""
        if self.is_frozen:
            if not source.is_datagram or len(self._held) < HELD_DATAGRAMS_MAX:
                self._held.append((source, data))
            return
        try:
            packet = Packet.parse(data)
        except DecodeError:
            self.endpoint.dropped["DecodeError"] += 1
            return
        self.endpoint.received(source, packet, self._world.now)
        if not self.is_due:
            self.due()

    def lost(self, path: NetPath) -> None:
        """A connection is gone."""
        if self.is_frozen:
            self._held.append((path, None))
            return
        self.endpoint.lost(path, self._world.now)
        self.due()

    def freeze(self) -> None:
        """The process stands still; its machine goes on receiving."""
        self.is_frozen = True

    def thaw(self) -> None:
        """It goes on, with all that has come meanwhile, and its timers late.

        What came from one address keeps its order; whose is read first, and answered, is chance.
        """
        self.is_frozen = False
        held: dict[NetPath, list[bytes | None]] = {}
        for source, data in self._held:
            held.setdefault(source, []).append(data)
        self._held = []
        sources = list(held)
        self._world.random.shuffle(sources)
        for source in sources:
            for data in held[source]:
                if data is None:
                    self.lost(source)
                else:
                    self.receive(source, data)
            self.settle()
        self._tick_at = self._world.now
        self._tick()

    def hang_up(self, path: Path) -> None:
        """End a connection of its own; the peer hears of it if it can."""
        end = self.connections.get(path) if isinstance(path, NetPath) else None
        if end is not None:
            self._world.connections.hang_up(end)
            self.lost(end.path)

    # --- what it does ---

    def due(self) -> None:
        """Let it act once everything of this moment has reached it."""
        if not self.is_due:
            self.is_due = True
            self._world.last(self.settle)

    def settle(self) -> None:
        """Carry out what the endpoint has decided, and wake it in time for its timers."""
        self.is_due = False
        if self.is_frozen or not self.is_running:
            return
        now, endpoint = self._world.now, self.endpoint
        endpoint.flush(now)
        while events := endpoint.take():
            for event in events:
                if type(event) is Transmit:
                    self.transmit(event.path, event.data)
                else:
                    self._carry_out(event, now)
            endpoint.flush(now)
        self.wake_at(endpoint.deadline)

    def transmit(self, path: Path, data: Octets) -> None:
        assert isinstance(path, NetPath)
        self.sent += 1
        self._world.send(self, path, bytes(data))

    def wake_at(self, deadline: float | None) -> None:
        """Have `tick` run no later than this."""
        if deadline is None or (self._tick_at is not None and deadline >= self._tick_at):
            return
        self._tick_at = deadline = max(deadline, self._world.now)
        self._world.at(deadline, self._tick)

    def tick(self, now: float) -> None:
        self.endpoint.tick(now)

    def _carry_out(self, event: Event, now: float) -> None:
        match event:
            case HangUp(path):
                self.hang_up(path)
            case Discovered(stranger) if self.accepts_strangers:
                self.endpoint.accept(stranger, now)
            case ChannelOpened(link, channel):
                self._handlers[channel.type](link, channel)
                self.used(link, channel)
            case ChannelChanged(channel):
                if (callback := self._watchers.get(channel)) is not None:
                    callback()
            case _:
                pass
        self.notices.append(event)

    def _tick(self) -> None:
        if self._tick_at != self._world.now or self.is_frozen or not self.is_running:
            return  # moved to an earlier time, or the node is gone
        self._tick_at = None
        self.tick(self._world.now)
        self.settle()
