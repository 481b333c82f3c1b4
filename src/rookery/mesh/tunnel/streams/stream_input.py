"""Stream input: the other side's stream frames, checked against the credit that it was granted."""

from rookery.errors import DecodeError, ProtocolError, RemoteError
from rookery.mesh.tunnel.events import (
    Event,
    StreamFinished,
    StreamOpened,
    StreamReadable,
    StreamReset,
    StreamStopped,
)
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.packets.control_frames import ALL_STREAMS, ControlFrameKind, ControlFrames
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.mesh.tunnel.streams.stream import Stream
from rookery.mesh.tunnel.streams.stream_output import StreamOutput
from rookery.mesh.tunnel.streams.stream_table import StreamTable
from rookery.wire.mesh.stream_opening import HEADER_SIZE, StreamOpening
from rookery.wire.mesh.tunnel_data import TunnelData
from rookery.wire.mesh.tunnel_frames import TunnelCredit, TunnelOpens, TunnelReset, TunnelStop

StreamFrame = TunnelCredit | TunnelOpens | TunnelReset | TunnelStop


class OverloadError(RemoteError):
    """No room for a packet: it stays unacknowledged, so that it is sent again later."""


class StreamInput:
    """Applies the peer's frames to streams."""

    __slots__ = (
        "_control_frames",
        "_events",
        "_limits",
        "_output",
        "_pieces",
        "_received",
        "_streams",
        "window",
    )

    def __init__(
        self,
        streams: StreamTable,
        window: ReceiveWindow,
        control_frames: ControlFrames,
        output: StreamOutput,
        limits: TunnelLimits,
        events: list[Event],
    ) -> None:
        self.window = window
        self._streams = streams
        self._control_frames = control_frames
        self._output = output
        self._limits = limits
        self._events = events
        self._pieces = 0  # out of order, of all streams
        self._received = 0  # bytes of all streams, the gaps in them included

    @property
    def held(self) -> int:
        """Bytes that wait for readers."""
        return self._received - self.window.consumed

    def handle(self, frame: StreamFrame, now: float) -> None:
        """Take in a frame other than data."""
        if isinstance(frame, TunnelOpens):
            self._streams.opens_max = max(self._streams.opens_max, frame.maximum)
        elif isinstance(frame, TunnelCredit) and frame.stream == ALL_STREAMS:
            self._output.granted(frame.maximum)
        else:
            stream = self._streams.named(frame.stream, now)
            if stream is not None:
                self._about(stream, frame)

    def take(self, stream: Stream, size: int) -> Chunk:
        data = stream.receiving.take(size)
        if data:
            self.consumed(stream)
        return data

    def stop(self, stream: Stream, code: int) -> None:
        """The program reads no more of the stream."""
        receiving = stream.receiving
        if receiving.is_stopped or receiving.is_over:
            return
        receiving.stop()
        stream.stop_code = code
        self._control_frames.add(ControlFrameKind.STOP, stream.id)
        self.consumed(stream)

    def consumed(self, stream: Stream) -> None:
        """Bytes were read or discarded: grant credit for others."""
        window = stream.window
        self.window.consumed += stream.receiving.read_to - window.consumed
        window.consumed = stream.receiving.read_to
        if window.is_due():
            self._control_frames.add(ControlFrameKind.CREDIT, stream.id)
        if self.window.is_due(self.held):
            self._control_frames.add(ControlFrameKind.CREDIT)

    def forget_if_over(self, stream: Stream) -> None:
        if (
            stream.is_over
            and self._streams.get(stream.id) is stream
            and self._streams.forget(stream)
        ):
            self._control_frames.add(ControlFrameKind.OPENS)

    def _about(self, stream: Stream, frame: TunnelCredit | TunnelReset | TunnelStop) -> None:
        match frame:
            case TunnelCredit():
                stream.sending.credit = max(stream.sending.credit, frame.maximum)
                self._output.changed(stream)
            case TunnelReset():
                self._reset(stream, frame)
            case TunnelStop():
                self._stopped(stream, frame.code)
        self.forget_if_over(stream)

    def data(self, frame: TunnelData, now: float) -> None:
        stream = self._streams.named(frame.stream, now)
        if stream is None:
            return
        receiving = stream.receiving
        offset, end = frame.offset, frame.offset + len(frame.data)
        if receiving.needs_piece(offset) and self._pieces >= self._limits.pieces_max:
            raise OverloadError("too many pieces out of order")
        self._count(stream, end)
        arrived, was_complete = receiving.arrived, receiving.is_complete
        pieces = receiving.pieces
        receiving.accept(offset, frame.data, fin=frame.fin)
        self._pieces += receiving.pieces - pieces
        if receiving.is_stopped:
            self.consumed(stream)
        elif stream.is_announced:
            self._tell_arrival(stream, arrived, was_complete=was_complete)
        else:
            self._read_opening(stream)
        self.forget_if_over(stream)

    def _tell_arrival(self, stream: Stream, arrived: int, *, was_complete: bool) -> None:
        receiving = stream.receiving
        if arrived == receiving.read_to < receiving.arrived:
            self._events.append(StreamReadable(stream.id))
        if receiving.is_complete and not was_complete:
            self._events.append(StreamFinished(stream.id))

    def _count(self, stream: Stream, end: int) -> None:
        """Check data against the granted credit before it is kept."""
        grown = end - stream.receiving.highest
        if grown <= 0:
            return
        if end > stream.window.maximum:
            raise ProtocolError("more of a stream than was granted")
        if self._received + grown > self.window.maximum:
            raise ProtocolError("more of all streams than was granted")
        self._received += grown
        if self.window.is_due(self.held):
            self._control_frames.add(ControlFrameKind.CREDIT)

    def _read_opening(self, stream: Stream) -> None:
        """Parse the opening; the program learns of the stream once it is complete."""
        receiving = stream.receiving
        stream.opening += receiving.read(max(HEADER_SIZE - len(stream.opening), 0))
        size = HEADER_SIZE
        if len(stream.opening) >= HEADER_SIZE:
            size = _opening_size(stream.opening[:HEADER_SIZE])
            stream.opening += receiving.read(size - len(stream.opening))
        self.consumed(stream)
        if len(stream.opening) < size:
            if receiving.is_complete:
                raise ProtocolError("a stream without an opening")
            return
        opening = _opening(stream.opening)
        stream.is_announced, stream.opening, stream.priority = True, b"", opening.priority
        self._events.append(
            StreamOpened(stream.id, opening.service, opening.meta, opening.priority)
        )
        self._tell_arrival(stream, receiving.read_to, was_complete=False)

    def _reset(self, stream: Stream, frame: TunnelReset) -> None:
        receiving = stream.receiving
        if receiving.code is not None:
            return
        is_complete = receiving.is_complete
        self._count(stream, frame.size)
        receiving.check_size(frame.size, fin=True)
        if is_complete:  # all had come before it was given up
            return
        self._pieces -= receiving.pieces
        receiving.reset(frame.code, frame.size)
        self.consumed(stream)
        self._fail(stream, frame.code)

    def _stopped(self, stream: Stream, code: int) -> None:
        sending = stream.sending
        if sending.code is None and not sending.is_over:
            self._output.give_up(stream, code)
            self._control_frames.add(ControlFrameKind.RESET, stream.id)
            if stream.is_announced:
                self._events.append(StreamStopped(stream.id, code))

    def _fail(self, stream: Stream, code: int) -> None:
        if stream.is_announced and not stream.is_failed:
            stream.is_failed = True
            self._events.append(StreamReset(stream.id, code))


def _opening_size(header: bytes) -> int:
    try:
        return StreamOpening.size(header)
    except DecodeError as error:
        raise ProtocolError(str(error)) from None


def _opening(data: bytes) -> StreamOpening:
    try:
        return StreamOpening.parse(data)
    except DecodeError as error:
        raise ProtocolError(str(error)) from None
