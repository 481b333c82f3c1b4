"""Packet sender: turns waiting frames into packets and chooses a path for each."""

from typing import Final

from rookery.mesh.tunnel.packets.control_frames import ControlFrames
from rookery.mesh.tunnel.packets.datagram_queue import DatagramQueue
from rookery.mesh.tunnel.packets.packet_builder import BuiltPacket, PacketBuilder
from rookery.mesh.tunnel.packets.reinjection import Reinjection
from rookery.mesh.tunnel.packets.sent_packet import Segment
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.paths.path_set import TunnelPaths
from rookery.mesh.tunnel.paths.scheduler import Mode, Scheduler
from rookery.mesh.tunnel.streams.stream_output import StreamOutput

BATCH_PACKETS: Final = 64  # then others get a turn,
BATCH_SIZE: Final = 524288  # and what was written is still in the processor's cache
TAIL_SIZE: Final = 32768  # of a stream that ends: sent by two paths

_BURST_S: Final = 0.002


class PacketBatch:
    """Packets of one flush, as long as it is not full."""

    __slots__ = ("packets", "size")

    def __init__(self) -> None:
        self.packets: list[BuiltPacket] = []
        self.size = 0

    @property
    def is_full(self) -> bool:
        return self.size >= BATCH_SIZE or len(self.packets) >= BATCH_PACKETS

    def add(self, packet: BuiltPacket | None) -> None:
        if packet is not None:
            self.packets.append(packet)
            self.size += packet[3]


class PacketSender:
    """Fills batches of packets, one per flush."""

    __slots__ = (
        "_builder",
        "_control_frames",
        "_datagrams",
        "_output",
        "_paths",
        "_reinjection",
        "has_more",
        "scheduler",
    )

    def __init__(
        self,
        paths: TunnelPaths,
        control_frames: ControlFrames,
        datagrams: DatagramQueue,
        output: StreamOutput,
        builder: PacketBuilder,
        scheduler: Scheduler,
        reinjection: Reinjection,
    ) -> None:
        self.has_more = False  # the batch was full
        self._paths = paths
        self._control_frames = control_frames
        self._datagrams = datagrams
        self._output = output
        self._builder = builder
        self.scheduler = scheduler
        self._reinjection = reinjection

    def flush(self, now: float) -> list[BuiltPacket]:
        """The next packets to send, at most one batch."""
        batch = PacketBatch()
        usable = self._paths.usable
        while self._datagrams.waiting and not batch.is_full:
            pair = self._datagrams.next_for(usable, now)
            if pair is None:
                break
            batch.add(self._builder.datagram(*pair, now))
        self._send_streams(usable, batch, now)
        while self._control_frames and not batch.is_full:
            path = self.scheduler.nearest(usable)
            if path is None:
                break
            batch.add(self._builder.control_frames(path, now))
        self.has_more = batch.is_full
        self._send_rest(usable, batch, now)
        return batch.packets

    def wake_at(self, now: float) -> float | None:
        """When pacing allows the next packet."""
        usable = self._paths.usable
        if not (
            self._output.is_ready or self._datagrams.waiting or any(path.copies for path in usable)
        ):
            return None
        later = [path.paced_at for path in usable if path.has_window]
        return min((at for at in later if at > now), default=None)

    def _send_streams(self, usable: list[OutboundPath], batch: PacketBatch, now: float) -> None:
        output = self._output
        if len(usable) == 1:
            self._send_all(usable[0], batch, now)
            return
        while not batch.is_full:
            path = self._with_copies(usable, now)
            if path is None:
                if not output.is_ready:
                    break
                path = self.scheduler.choose(usable, output.backlog, output.credit_left, now)
                if path is None:
                    return
            self._send_burst(path, usable, batch, now)
        for path in usable:
            if path.has_room(now) and not batch.is_full:
                self._send_lagging(path, batch, now)
            if path.has_room(now):
                path.delivery.limited(path.in_flight)

    def _send_burst(
        self, path: OutboundPath, usable: list[OutboundPath], batch: PacketBatch, now: float
    ) -> None:
        """Send up to 1 ms worth of packets over the chosen path."""
        end = batch.size
        if self.scheduler.mode is Mode.AUTO:
            end += int(path.rate * _BURST_S)
        while not batch.is_full:
            packet, fresh = self._builder.streams(path, now)
            batch.add(packet)
            self._double(path, usable, fresh)
            if batch.size >= end or not self._output.is_ready or not path.has_room(now):
                break

    def _send_all(self, path: OutboundPath, batch: PacketBatch, now: float) -> None:
        """Send over the only path."""
        while path.has_room(now) and not batch.is_full:
            if not path.copies and not self._output.is_ready:
                path.delivery.limited(path.in_flight)
                return
            batch.add(self._builder.streams(path, now)[0])

    def _send_lagging(self, idle: OutboundPath, batch: PacketBatch, now: float) -> None:
        if self.scheduler.mode is not Mode.AUTO:
            return
        if self._reinjection.of_lagging(idle, self._paths.out, now):
            while idle.copies and idle.has_room(now) and not batch.is_full:
                batch.add(self._builder.streams(idle, now)[0])

    def _with_copies(self, usable: list[OutboundPath], now: float) -> OutboundPath | None:
        for path in usable:
            if path.copies and path.has_room(now):
                return path
        return None

    def _double(self, path: OutboundPath, usable: list[OutboundPath], fresh: list[Segment]) -> None:
        """Copy to other paths: everything in redundant mode, else the end of a stream."""
        if not fresh:
            return
        if self.scheduler.mode is Mode.REDUNDANT:
            for other in usable:
                if other is not path:
                    other.copies.extend(fresh)
        elif self.scheduler.mode is Mode.AUTO:
            tail = [segment for segment in fresh if _is_tail(segment)]
            if tail:
                others = [other for other in usable if other is not path]
                nearest = self.scheduler.nearest(others)
                if nearest is not None:
                    nearest.copies.extend(tail)
                    self.scheduler.decisions["the end of a stream by two paths"] += 1

    def _send_rest(self, usable: list[OutboundPath], batch: PacketBatch, now: float) -> None:
        """Send probes and acknowledgements that went with no other packet; they never wait."""
        for path in self._paths.out:
            if path.is_probe_due:
                batch.add(self._builder.control_frames(path, now))
        for inbound in self._paths.inbound:
            if inbound.due_at is not None and inbound.due_at <= now:
                reply = self._paths.reply_to(inbound) or self.scheduler.nearest(usable)
                if reply is not None:
                    batch.add(self._builder.acknowledgements(reply, now))


def _is_tail(segment: Segment) -> bool:
    stream, _, end, _ = segment
    size = stream.sending.size
    return size is not None and end > size - TAIL_SIZE
