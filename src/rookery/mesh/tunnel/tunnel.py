"""Tunnel: streams and datagrams between two members over all paths between them.

    opening ── packet received ──▶ open ── last path down ──▶ stalled ── 60 s ──▶ reset
                                    │ ◀────── path up ──────────┘
                                    ├── close ──▶ half closed ── all streams over ──▶ closed
                                    └── CLOSE received, or a protocol error ──▶ closed, reset

Packets and time go in, packets and events come out. The owner reports paths with `path_up` and
`path_down`, carries the packets that `flush` returns, calls `flush` after every other call, and
`tick` and `flush` at `deadline`.
"""

from enum import Enum
from typing import Final

import msgspec

from rookery.errors import ChannelError, ProtocolError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.mesh.tunnel.events import (
    CloseCode,
    Event,
    StreamWritable,
    TunnelClosed,
    TunnelResumed,
    TunnelStalled,
)
from rookery.mesh.tunnel.explanation import TunnelExplanation, TunnelPathRow
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.packets.control_frames import ControlFrameKind, ControlFrames
from rookery.mesh.tunnel.packets.datagram_queue import DatagramQueue
from rookery.mesh.tunnel.packets.packet_builder import BuiltPacket, PacketBuilder
from rookery.mesh.tunnel.packets.packet_receiver import PacketReceiver
from rookery.mesh.tunnel.packets.packet_sender import PacketSender
from rookery.mesh.tunnel.packets.reinjection import Reinjection
from rookery.mesh.tunnel.paths.path import TunnelPath
from rookery.mesh.tunnel.paths.path_set import TunnelPaths
from rookery.mesh.tunnel.paths.scheduler import Mode, Scheduler
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_input import StreamInput
from rookery.mesh.tunnel.streams.stream_output import StreamOutput
from rookery.mesh.tunnel.streams.stream_table import StreamTable
from rookery.wire.link.lob import JsonObject
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.stream_opening import (
    META_SIZE_MAX,
    PRIORITY_MAX,
    SERVICE_SIZE_MAX,
    StreamOpening,
)
from rookery.wire.mesh.tunnel_frames import TunnelClose
from rookery.wire.mesh.tunnel_packet import HEAD_SIZE, TunnelPacket
from rookery.wire.octets import Octets

PROBE_S: Final = 5.0  # a path that was not used for so long is measured, while there are streams

_PRIORITY: Final = 3
_LIMITS: Final = TunnelLimits()


class TunnelRole(Enum):
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
    """One end of a tunnel; `number` names it on both.

    Streams are named by their numbers. A stream that is over is no error, except to write to.
    """

    def __init__(
        self,
        role: TunnelRole,
        *,
        random: RandomBytes,
        now: float,
        number: int | None = None,
        limits: TunnelLimits = _LIMITS,
        mode: Mode = Mode.AUTO,
    ) -> None:
        self.role = role
        self.id = int.from_bytes(random(8), "big") if number is None else number
        self._limits = limits
        self._events: list[Event] = []
        self._streams = StreamTable(limits, is_opener=role is TunnelRole.OPENER)
        self._paths = TunnelPaths(limits.paths_max, random)
        self._output = StreamOutput(limits)
        self._datagrams = DatagramQueue(limits.datagrams_max)
        window = ReceiveWindow(limits.window_max, now)
        self._control_frames = ControlFrames(self._streams, window)
        self._input = StreamInput(
            self._streams, window, self._control_frames, self._output, limits, self._events
        )
        self._reinjection = Reinjection(self._control_frames, self._output)
        self._receiver = PacketReceiver(
            self._paths,
            self._input,
            self._control_frames,
            self._reinjection,
            self._events,
            limits.datagrams_max,
        )
        self._builder = PacketBuilder(
            self.id, self._paths, self._control_frames, self._output, self._input
        )
        self._sender = PacketSender(
            self._paths,
            self._control_frames,
            self._datagrams,
            self._output,
            self._builder,
            Scheduler(mode),
            self._reinjection,
        )
        self._now = now
        self._stalled_at: float | None = now
        self._is_stall_reported = False
        self._is_closing = False
        self._end: TunnelClosed | None = None
        self._farewell: bytes | None = None

    # --- programs ---

    @property
    def state(self) -> TunnelState:
        if self._end is not None:
            return TunnelState.RESET if self._end.code else TunnelState.CLOSED
        if self._is_closing:
            return TunnelState.HALF_CLOSED
        if self._stalled_at is not None and self._builder.has_received:
            return TunnelState.STALLED
        return TunnelState.OPEN if self._builder.has_received else TunnelState.OPENING

    @property
    def streams(self) -> int:
        """How many are not over."""
        return len(self._streams)

    @property
    def in_flight(self) -> int:
        """Bytes in flight: sent, neither acknowledged nor lost."""
        return sum(path.in_flight for path in self._paths.out)

    def open(self, service: str, meta: JsonObject | None = None, priority: int = _PRIORITY) -> int:
        """A new stream; CongestionError when the other side grants no more."""
        if self._end is not None or self._is_closing:
            raise ChannelError("the tunnel is closed")
        if len(service.encode()) > SERVICE_SIZE_MAX:
            raise UsageError(f"the name of a service has {SERVICE_SIZE_MAX} bytes at most")
        if not 0 <= priority <= PRIORITY_MAX:
            raise UsageError(f"priorities are 0 to {PRIORITY_MAX}")
        meta = meta or {}
        if len(msgspec.json.encode(meta)) > META_SIZE_MAX:
            raise UsageError(f"what is said of a stream has {META_SIZE_MAX} bytes at most")
        stream = self._streams.open(self._now)
        stream.priority = priority
        self._output.opened(stream, StreamOpening(service, meta, priority).serialize())
        return stream.id

    def write(self, number: int, data: Chunk, now: float) -> int:
        """Bytes that were taken; if not all were, `StreamWritable` tells when to go on."""
        if self._end is not None:
            raise ChannelError("the tunnel is closed")
        self._now = max(self._now, now)
        stream = self._streams.get(number)
        if stream is None:
            raise ChannelError("the stream is over")
        sending = stream.sending
        if sending.code is not None:
            raise ChannelError(f"the stream was given up with code {sending.code}")
        if sending.size is not None:
            raise UsageError("the stream is finished")
        # Only bytes are certain never to change.
        return self._output.write(stream, data if type(data) is bytes else bytes(data))

    def read(self, number: int, size: int) -> bytes:
        """At most `size` bytes; empty when none are there or no more will come, see `at_end`."""
        data = self.fetch(number, size)
        return data if isinstance(data, bytes) else bytes(data)

    def fetch(self, number: int, size: int) -> Chunk:
        """Like `read`, without a copy: the caller must neither change nor keep the bytes."""
        stream = self._streams.get(number)
        if stream is None or not stream.is_announced:
            return b""
        data = self._input.take(stream, size)
        self._input.forget_if_over(stream)
        return data

    @property
    def has_control_frames(self) -> bool:
        """Whether there is something to tell the other side, as may be after reading."""
        return len(self._control_frames) > 0

    def at_end(self, number: int) -> bool:
        """True if everything was read, or no more will come."""
        stream = self._streams.get(number)
        if stream is None or stream.receiving.is_over or stream.receiving.is_stopped:
            return True
        is_closed = self._end is not None
        return is_closed and stream.receiving.arrived == stream.receiving.read_to

    def finish(self, number: int) -> None:
        """End the sending half: no more will be written."""
        stream = self._streams.get(number)
        if stream is not None:
            stream.sending.finish()
            self._output.changed(stream)

    def reset(self, number: int, code: int) -> None:
        """Give up both halves."""
        stream = self._streams.get(number)
        if stream is None:
            return
        self._give_up(stream, code)
        stream.is_failed = True
        self.stop(number, code)

    def stop(self, number: int, code: int) -> None:
        """Read no more of it."""
        stream = self._streams.get(number)
        if stream is not None:
            self._input.stop(stream, code)
            self._input.forget_if_over(stream)

    def _give_up(self, stream: Stream, code: int) -> None:
        if stream.sending.code is None and not stream.sending.is_over:
            self._output.give_up(stream, code)
            self._control_frames.add(ControlFrameKind.RESET, stream.id)

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
            self._farewell = TunnelClose(code, reason).serialize()
            self._finish(TunnelClosed(code, reason, is_remote=False))

    def take(self) -> list[Event]:
        """What happened since the last time."""
        events = self._events.copy()
        self._events.clear()
        self._receiver.taken()
        return events

    @property
    def mode(self) -> Mode:
        """How what we send uses the paths; the other side decides for itself."""
        return self._sender.scheduler.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._sender.scheduler.mode = mode

    def explain(self) -> TunnelExplanation:
        scheduler = self._sender.scheduler
        return TunnelExplanation(
            state=self.state.value,
            mode=scheduler.mode.value,
            paths=tuple(TunnelPathRow.of(path) for path in self._paths.out),
            decisions=dict(scheduler.decisions),
            reinjected=self._reinjection.counts,
            counts=dict(self._receiver.counts + self._datagrams.fates),
        )

    # --- paths and packets ---

    def path_up(self, path: TunnelPath, now: float) -> None:
        self._now = now
        self.path_down(path.id, now)
        self._paths.up(path, now)
        self._stalled_at = None
        if self._is_stall_reported:
            self._is_stall_reported = False
            self._events.append(TunnelResumed())

    def path_down(self, path: int, now: float) -> None:
        """It died: all that was on it goes elsewhere, or waits."""
        self._now = now
        self._settle()
        outbound = self._paths.down(path)
        if outbound is None:
            return
        self._reinjection.of_dead(outbound)
        if not self._paths:
            self._stalled_at = now
            if self._end is None:
                self._is_stall_reported = True
                self._events.append(TunnelStalled())

    def received(
        self,
        path: int,
        head: bytes,
        body: Octets,
        now: float,
        *,
        is_marked: bool = False,
    ) -> None:
        """A packet came by this path of ours; DecodeError for what is none."""
        packet = TunnelPacket.parse(head, body)
        self.take_in(packet, HEAD_SIZE + len(body), path, now, is_marked=is_marked)

    def take_in(
        self, packet: TunnelPacket, size: int, path: int, now: float, *, is_marked: bool
    ) -> None:
        """The same for one that was read already, of so many bytes."""
        if packet.tunnel != self.id or self._end is not None:
            return
        self._now = now
        self._builder.has_received = True
        try:
            close = self._receiver.packet(packet, size, path, now, is_marked=is_marked)
        except ProtocolError as error:
            self.abort(CloseCode.PROTOCOL, str(error))
            return
        if close is not None:
            self._finish(TunnelClosed(close.code, close.reason, is_remote=True))

    def flush(self, now: float) -> list[BuiltPacket]:
        """Packets to carry, at most a batch; more when `deadline` has come already."""
        self._now = now
        self._settle()
        if self._end is None and self._is_closing and not self._streams:
            self.abort(CloseCode.DONE, "")
        if self._end is not None:
            farewell, self._farewell = self._farewell, None
            if farewell is None:
                return []
            return [self._builder.unnumbered(path, farewell) for path in self._paths.out]
        if not self._paths:
            return []
        batch = self._sender.flush(now)
        for stream in self._output.take_writable():
            self._events.append(StreamWritable(stream.id))
        return batch

    def tick(self, now: float) -> None:
        """What has to be done by now."""
        self._now = now
        self._settle()
        if self._end is not None:
            return
        if self._stalled_at is not None:
            if now >= self._stalled_at + self._limits.stall_s:
                self.abort(CloseCode.STALLED, "no way for too long")
            return
        paths = self._paths.out
        self._reinjection.look(paths, now)
        if self._streams:
            for path in paths:
                if now >= path.last_sent_at + PROBE_S:
                    path.is_probe_due = True

    @property
    def has_more(self) -> bool:
        """Whether the last flush left something, for want of room in its batch."""
        return self._end is None and self._sender.has_more

    @property
    def deadline(self) -> float | None:
        """When to call `tick` and `flush` at the latest; None: not before something happens."""
        if self._end is not None:
            return self._now if self._farewell is not None and self._paths else None
        if self._stalled_at is not None:
            return self._stalled_at + self._limits.stall_s
        if self._sender.has_more:
            return self._now
        times = [inbound.due_at for inbound in self._paths.inbound]
        for path in self._paths.out:
            times.append(path.deadline)
            if self._streams:
                times.append(path.last_sent_at + PROBE_S)
        times.append(self._sender.wake_at(self._now))
        return min((at for at in times if at is not None), default=None)

    def _settle(self) -> None:
        if self._end is None:
            try:
                self._receiver.settle()
            except ProtocolError as error:
                self.abort(CloseCode.PROTOCOL, str(error))

    def _finish(self, end: TunnelClosed) -> None:
        self._end = end
        self._events.append(end)
