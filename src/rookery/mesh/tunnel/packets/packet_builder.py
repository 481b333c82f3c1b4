"""Packet builder: fills a packet for one path with everything that is due and fits."""

from typing import Final

from rookery.mesh.tunnel.packets.control_frames import ControlFrames
from rookery.mesh.tunnel.packets.sent_packet import ControlFrameKey, Segment, SentPacket
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path_set import TunnelPaths
from rookery.mesh.tunnel.streams.stream_input import StreamInput
from rookery.mesh.tunnel.streams.stream_output import Parts, StreamOutput
from rookery.wire.mesh.tunnel_data import DATA_HEADER_SIZE, data_header
from rookery.wire.mesh.tunnel_frames import TunnelProbe, datagram_header
from rookery.wire.mesh.tunnel_packet import HEAD_SIZE, PREFIX_SIZE, prefix

BuiltPacket = tuple[int, bytes, Parts, int]  # path, head, body in parts, and its size

_PROBE: Final = TunnelProbe().serialize()


class PacketBuilder:
    """Acknowledgements, control frames, a datagram, copies and stream data, in this order.

    The parts are joined where the packet is sealed, so that no byte is copied twice.
    """

    __slots__ = ("_control_frames", "_input", "_output", "_paths", "has_received", "id")

    def __init__(
        self,
        number: int,
        paths: TunnelPaths,
        control_frames: ControlFrames,
        output: StreamOutput,
        stream_input: StreamInput,
    ) -> None:
        self.id = number
        self.has_received = False  # anything came from the other side
        self._paths = paths
        self._control_frames = control_frames
        self._output = output
        self._input = stream_input

    def streams(self, path: OutboundPath, now: float) -> tuple[BuiltPacket | None, list[Segment]]:
        """A packet with stream data, if there is any, and the new segments in it."""
        parts, control_frames, free = self._begin(path, now)
        fresh: list[Segment] = []
        if not path.copies:
            self._output.fill(free, parts, fresh)
            return self._numbered(path, parts, control_frames, fresh, now), fresh
        segments: list[Segment] = []
        free -= _copy(path, free, parts, segments)
        if not path.copies:
            self._output.fill(free, parts, fresh)
        return self._numbered(path, parts, control_frames, segments + fresh, now), fresh

    def control_frames(self, path: OutboundPath, now: float) -> BuiltPacket | None:
        """A packet that must not wait for room."""
        parts, control_frames, _ = self._begin(path, now)
        return self._numbered(path, parts, control_frames, [], now)

    def datagram(self, path: OutboundPath, data: bytes, now: float) -> BuiltPacket | None:
        parts: Parts = [b"", datagram_header(len(data)), data]
        return self._numbered(path, parts, [], [], now)

    def acknowledgements(self, path: OutboundPath, now: float) -> BuiltPacket | None:
        """A packet without a number, with nothing else."""
        parts: Parts = [prefix(self.id, 0)]
        self._acknowledge(path, parts, path.packet_size - HEAD_SIZE - PREFIX_SIZE, now)
        return None if len(parts) == 1 else self._packet(path, parts)

    def unnumbered(self, path: OutboundPath, frame: bytes) -> BuiltPacket:
        return self._packet(path, [prefix(self.id, 0), frame])

    def _begin(self, path: OutboundPath, now: float) -> tuple[Parts, list[ControlFrameKey], int]:
        """Begin a packet: its parts, the control frames in them, and the room that is left."""
        parts: Parts = [b""]
        free = path.congestion.packet_size - HEAD_SIZE - PREFIX_SIZE
        free -= self._acknowledge(path, parts, free, now)
        control_frames: list[ControlFrameKey] = []
        if self._control_frames:
            rtt_s, held = self._paths.rtt_max_s, self._input.held
            for key, frame in self._control_frames.take(free, rtt_s, held, now):
                control_frames.append(key)
                parts.append(frame)
                free -= len(frame)
        if path.is_probe_due:
            path.is_probe_due = False
            parts.append(_PROBE)
            free -= len(_PROBE)
        return parts, control_frames, free

    def _acknowledge(self, path: OutboundPath, parts: Parts, room: int, now: float) -> int:
        size = 0
        for inbound in self._paths.inbound:
            if inbound.due_at is None:
                continue
            reply = self._paths.reply_to(inbound)
            if reply is not path and reply is not None:
                continue
            ack = inbound.ack(now, room - size)
            if ack is not None:
                parts.append(ack)
                size += len(ack)
        return size

    def _numbered(
        self,
        path: OutboundPath,
        parts: Parts,
        control_frames: list[ControlFrameKey],
        segments: list[Segment],
        now: float,
    ) -> BuiltPacket | None:
        if len(parts) == 1:
            return None
        number = path.number()
        parts[0] = prefix(self.id, number)
        packet = self._packet(path, parts)
        path.left(SentPacket(number, packet[3] + HEAD_SIZE, now, segments, control_frames))
        return packet

    def _packet(self, path: OutboundPath, parts: Parts) -> BuiltPacket:
        head = path.head if self.has_received else path.first_head
        size = 0
        for part in parts:
            size += len(part)
        return path.spec.id, head, parts, size


def _copy(path: OutboundPath, room: int, parts: Parts, segments: list[Segment]) -> int:
    """Add copies of unacknowledged data of other paths; the bytes of the room that they take."""
    free = room
    while path.copies and free > DATA_HEADER_SIZE:
        stream, start, end, fin = path.copies.popleft()
        gaps = stream.sending.missing(start, end)
        if not gaps:
            if not fin or stream.sending.is_fin_known or stream.sending.code is not None:
                continue
            gaps = [(end, end)]
        for index, (first, last) in enumerate(gaps):
            stop = min(last, first + free - DATA_HEADER_SIZE)
            if stop < last or free <= DATA_HEADER_SIZE:
                path.copies.appendleft((stream, max(stop, first), end, fin))
                stop = max(stop, first)
            is_end = fin and stop == end and index == len(gaps) - 1
            if stop > first or is_end:
                parts.append(data_header(stream.id, first, stop - first, fin=is_end))
                stream.sending.views(first, stop, parts)
                segments.append((stream, first, stop, is_end))
                free -= stop - first + DATA_HEADER_SIZE
            if stop < last:
                return room - free
    return room - free
