"""Tunnel: streams and datagrams between two members, for as long as there is any way, or soon is.

    opening ── a packet came ──▶ open ── last way down ──▶ stalled ── 60 s ──▶ reset
                                  │ ◀────── a way up ────────┘
                                  ├── close ──▶ half closed ── all streams over ──▶ closed
                                  └── CLOSE came, or a rule was broken ──▶ closed, reset

Packets and time go in, packets and events come out. The owner carries packets by the ways that it
told of, calls `flush` after whatever it did, and `tick` and `flush` at `deadline`.
"""

from enum import Enum

import msgspec

from rookery.errors import ChannelError, ProtocolError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.close_code import CloseCode
from rookery.mesh.tunnel.credit import Window
from rookery.mesh.tunnel.datagram_queue import DatagramQueue
from rookery.mesh.tunnel.dispatch import Dispatch
from rookery.mesh.tunnel.events import Closed, Event, Resumed, Stalled, Writable
from rookery.mesh.tunnel.explanation import Explanation, WayRow
from rookery.mesh.tunnel.inflow import Inflow
from rookery.mesh.tunnel.intake import Intake
from rookery.mesh.tunnel.limits import Limits
from rookery.mesh.tunnel.notes import NoteKind, Notes
from rookery.mesh.tunnel.outflow import Outflow
from rookery.mesh.tunnel.packer import Packer, Parcel
from rookery.mesh.tunnel.reinjection import Reinjection
from rookery.mesh.tunnel.scheduler import Mode, Scheduler
from rookery.mesh.tunnel.stream import Stream
from rookery.mesh.tunnel.streams import Streams
from rookery.mesh.tunnel.way import Way
from rookery.mesh.tunnel.ways import Ways
from rookery.wire.datagram_class import DatagramClass
from rookery.wire.lob import JsonObject
from rookery.wire.opening import META_SIZE_MAX, PRIORITY_MAX, SERVICE_SIZE_MAX, Opening
from rookery.wire.tunnel import HEAD_SIZE, TunnelPacket
from rookery.wire.tunnel_frames import Close

PROBE_S = 5.0  # a way that was not used for so long is measured, while there are streams

_PRIORITY = 3
_LIMITS = Limits()


class Role(Enum):
    """Who began."""

    OPENER = "opener"
    ACCEPTOR = "acceptor"


class TunnelState(Enum):
    """As far as programs are concerned."""

    OPENING = "opening"
    OPEN = "open"
    STALLED = "stalled"
    HALF_CLOSED = "half closed"
    CLOSED = "closed"
    RESET = "reset"


class Tunnel:
    """One end of a tunnel; `number` names it on both."""

    def __init__(
        self,
        role: Role,
        *,
        random: RandomBytes,
        now: float,
        number: int | None = None,
        limits: Limits = _LIMITS,
        mode: Mode = Mode.AUTO,
    ) -> None:
        self.role = role
        self.id = int.from_bytes(random(8), "big") if number is None else number
        self._limits = limits
        self._events: list[Event] = []
        self._streams = Streams(limits, is_opener=role is Role.OPENER)
        window = Window(limits.window_max, now)
        self._notes = Notes(self._streams, window)
        self._outflow = Outflow(limits)
        self._inflow = Inflow(
            self._streams, window, self._notes, self._outflow, limits, self._events
        )
        self._ways = Ways(limits.ways_max, random)
        self._datagrams = DatagramQueue(limits.datagrams_max)
        self._scheduler = Scheduler(mode)
        self._reinjection = Reinjection(self._notes, self._outflow)
        self._packer = Packer(self.id, self._ways, self._notes, self._outflow, self._inflow)
        self._dispatch = Dispatch(
            self._ways,
            self._notes,
            self._datagrams,
            self._outflow,
            self._packer,
            self._scheduler,
            self._reinjection,
        )
        self._intake = Intake(
            self._ways,
            self._inflow,
            self._outflow,
            self._notes,
            self._reinjection,
            self._events,
            limits.datagrams_max,
        )
        self._now = now
        self._stalled_at: float | None = now
        self._is_told_stalled = False
        self._is_closing = False
        self._end: Closed | None = None
        self._farewell: bytes | None = None

    # --- programs ---

    @property
    def state(self) -> TunnelState:
        if self._end is not None:
            return TunnelState.RESET if self._end.code else TunnelState.CLOSED
        if self._is_closing:
            return TunnelState.HALF_CLOSED
        if self._stalled_at is not None and self._packer.is_heard:
            return TunnelState.STALLED
        return TunnelState.OPEN if self._packer.is_heard else TunnelState.OPENING

    @property
    def streams(self) -> int:
        """How many are not over."""
        return len(self._streams)

    def open(self, service: str, meta: JsonObject | None = None, priority: int = _PRIORITY) -> int:
        """A new stream; CongestionError when the other side grants no more."""
        if self._end is not None or self._is_closing:
            raise ChannelError("the tunnel is closed")
        if len(service.encode()) > SERVICE_SIZE_MAX or not 0 <= priority <= PRIORITY_MAX:
            raise UsageError("a stream cannot be opened like this")
        if meta and len(msgspec.json.encode(meta)) > META_SIZE_MAX:
            raise UsageError(f"meta has {META_SIZE_MAX} bytes at most")
        stream = self._streams.open(self._now)
        stream.priority = priority
        stream.sending.write(Opening(service, meta or {}, priority).serialize(), 1 << 62)
        self._outflow.opened(stream)
        return stream.id

    def write(self, stream: int, data: bytes, now: float) -> int:
        """How much was taken; after less than all of it, `Writable` tells when to go on."""
        self._now = max(self._now, now)
        found = self._sendable(stream)
        return self._outflow.write(found, data if type(data) is bytes else bytes(data))

    def read(self, stream: int, size: int) -> bytes:
        """At most so many bytes; none when none are there, or no more will come: see `at_end`."""
        found = self._streams.get(stream)
        if found is None or not found.is_announced:
            return b""
        data = self._inflow.read(found, size)
        self._inflow.forget_if_over(found)
        return data

    def at_end(self, stream: int) -> bool:
        """Whether all has been read, or will never come."""
        found = self._streams.get(stream)
        if found is None or self._end is not None:
            return True
        return found.receiving.is_over or found.receiving.is_stopped

    def finish(self, stream: int) -> None:
        """No more will be written."""
        found = self._streams.get(stream)
        if found is not None:
            found.sending.finish()
            self._outflow.changed(found)

    def reset(self, stream: int, code: int) -> None:
        """Give up both halves."""
        found = self._streams.get(stream)
        if found is None:
            return
        if found.sending.code is None and not found.sending.is_over:
            unsent = found.sending.unsent
            found.sending.reset(code)
            self._outflow.gave_up(found, unsent)
            self._notes.add(NoteKind.RESET, stream)
        found.is_failed = True
        self.stop(stream, code)

    def stop(self, stream: int, code: int) -> None:
        """Read no more of it."""
        found = self._streams.get(stream)
        if found is not None:
            self._inflow.stop(found, code)
            self._inflow.forget_if_over(found)

    def send_datagram(
        self,
        data: bytes,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
        deadline_s: float = 1.0,
    ) -> None:
        """Once, soon, or not at all; UsageError for what fits no packet."""
        self._datagrams.add(data, datagram_class, self._now + deadline_s)

    def close(self) -> None:
        """Open no more; the tunnel ends with its last stream."""
        self._is_closing = True

    def abort(self, code: CloseCode, reason: str) -> None:
        """The end, now."""
        if self._end is None:
            self._farewell = Close(code, reason).serialize()
            self._finish(Closed(code, reason, is_remote=False))

    def take(self) -> list[Event]:
        """What happened since the last time."""
        events = self._events.copy()
        self._events.clear()
        self._intake.taken()
        return events

    def explain(self) -> Explanation:
        ways = tuple(WayRow.of(way) for way in self._ways.out)
        return Explanation(
            state=self.state.value,
            mode=self._scheduler.mode.value,
            ways=ways,
            decisions=dict(self._scheduler.decisions),
            reinjected=self._reinjection.counts,
            counts=dict(self._intake.counts + self._datagrams.fates),
        )

    # --- ways and packets ---

    def way_up(self, way: Way, now: float) -> None:
        self._now = now
        self.way_down(way.id, now)
        self._ways.up(way, now)
        self._stalled_at = None
        if self._is_told_stalled:
            self._is_told_stalled = False
            self._events.append(Resumed())

    def way_down(self, way: int, now: float) -> None:
        """It died: all that was on it goes elsewhere, or waits."""
        self._now = now
        outbound = self._ways.down(way)
        if outbound is None:
            return
        self._reinjection.of_dead(outbound)
        if not self._ways:
            self._stalled_at = now
            if self._end is None:
                self._is_told_stalled = True
                self._events.append(Stalled())

    def received(
        self, way: int, head: bytes, body: bytes, now: float, *, is_marked: bool = False
    ) -> None:
        """A packet came by this way of ours; DecodeError for what is none."""
        packet = TunnelPacket.parse(head, body)
        if packet.tunnel != self.id or self._end is not None:
            return
        self._now = now
        self._packer.is_heard = True
        try:
            size = HEAD_SIZE + len(body)
            close = self._intake.packet(packet, size, way, now, is_marked=is_marked)
        except ProtocolError as error:
            self.abort(CloseCode.PROTOCOL, str(error))
            return
        if close is not None:
            self._finish(Closed(close.code, close.reason, is_remote=True))

    def flush(self, now: float) -> list[Parcel]:
        """Packets to carry, at most a batch; more when `deadline` has come already."""
        self._now = now
        if self._end is None and self._is_closing and not self._streams:
            self.abort(CloseCode.DONE, "")
        if self._end is not None:
            farewell, self._farewell = self._farewell, None
            if farewell is None:
                return []
            return [self._packer.unnumbered(way, farewell) for way in self._ways.out]
        if not self._ways:
            return []
        batch = self._dispatch.flush(now)
        for stream in self._outflow.take_writable():
            self._events.append(Writable(stream.id))
        return batch

    def tick(self, now: float) -> None:
        """What has to be done by now."""
        self._now = now
        if self._end is not None:
            return
        if self._stalled_at is not None:
            if now >= self._stalled_at + self._limits.stall_s:
                self.abort(CloseCode.STALLED, "no way for too long")
            return
        ways = self._ways.out
        self._reinjection.look(ways, now)
        if self._streams:
            for way in ways:
                if now >= way.last_sent_at + PROBE_S:
                    way.is_probe_due = True

    @property
    def deadline(self) -> float | None:
        """When to call `tick` and `flush` at the latest; None: not before something happens."""
        if self._end is not None:
            return self._now if self._farewell is not None and self._ways else None
        if self._stalled_at is not None:
            return self._stalled_at + self._limits.stall_s
        if self._dispatch.has_more:
            return self._now
        times = [inbound.due_at for inbound in self._ways.inbound]
        for way in self._ways.out:
            times.append(way.deadline)
            if self._streams:
                times.append(way.last_sent_at + PROBE_S)
        times.append(self._dispatch.wake_at(self._now))
        return min((at for at in times if at is not None), default=None)

    def _sendable(self, stream: int) -> Stream:
        found = self._streams.get(stream)
        if found is None or self._end is not None:
            raise ChannelError("the stream is over")
        if found.sending.code is not None:
            raise ChannelError(f"the stream was given up with code {found.sending.code}")
        if found.sending.size is not None:
            raise UsageError("the stream is finished")
        return found

    def _finish(self, end: Closed) -> None:
        self._end = end
        self._events.append(end)
