"""Reinjection: sends what one path has not delivered over another, before it counts as lost.

There are three occasions: the path is down, the path is silent, or the path is merely slow and
another path is idle.
"""

from collections.abc import Sequence
from typing import Final

from rookery.mesh.tunnel.packets.control_frames import ControlFrames
from rookery.mesh.tunnel.packets.sent_packet import SentPacket
from rookery.mesh.tunnel.paths.outbound_path import OutboundPath
from rookery.mesh.tunnel.streams.stream_output import StreamOutput

_LAG_PACKETS: Final = 32  # of a slow path, looked at each time
_GAIN: Final = 0.25  # of the quicker path's round trip: what a copy must win


class Reinjection:
    """Gives packets back to the streams, and counts why."""

    __slots__ = ("_control_frames", "_output", "from_dead", "from_lagging", "from_silent", "lost")

    def __init__(self, control_frames: ControlFrames, output: StreamOutput) -> None:
        self._control_frames = control_frames
        self._output = output
        self.lost = self.from_dead = self.from_silent = self.from_lagging = 0  # packets

    def look(self, paths: Sequence[OutboundPath], now: float) -> None:
        """Check all paths for losses and silence."""
        for path in paths:
            self.of_lost(path.take_lost(now))
            if path.is_overdue(now):
                if any(not other.is_silent for other in paths):
                    self.of_silent(path)
                else:
                    self.of_oldest(path)

    @property
    def counts(self) -> dict[str, int]:
        return {
            "overtaken": self.lost,
            "their path died": self.from_dead,
            "their path fell silent": self.from_silent,
            "their path lagged": self.from_lagging,
        }

    def of_lost(self, packets: Sequence[SentPacket]) -> None:
        """Give back packets that count as lost."""
        self.lost += len(packets)
        self._give_back(packets)

    def of_dead(self, path: OutboundPath) -> None:
        """R9: give back everything that is in flight on a path that is down."""
        packets = path.take_all()
        self.from_dead += len(packets)
        self._give_back(packets)

    def of_silent(self, path: OutboundPath) -> None:
        """Send the data of a silent path over others as well; it may still arrive."""
        packets = [packet for packet in path.sent.values() if not packet.is_moved]
        self.from_silent += len(packets)
        self._give_back(packets)
        for packet in packets:
            packet.is_moved = True

    def of_oldest(self, path: OutboundPath) -> None:
        """The same when there is no other path: only the oldest packet."""
        oldest = next((packet for packet in path.sent.values() if not packet.is_moved), None)
        if oldest is not None:
            self._give_back([oldest])
            oldest.is_moved = True

    def of_lagging(self, idle: OutboundPath, paths: Sequence[OutboundPath], now: float) -> bool:
        """R10: copy to an idle path what it would deliver sooner; True if there is anything."""
        there_s = now + idle.round_trip.smoothed_s * (1 + _GAIN)
        for path in paths:
            if path is idle:
                continue
            expected_s = path.round_trip.smoothed_s
            for place, packet in enumerate(path.sent.values()):
                if place == _LAG_PACKETS:
                    break
                if packet.is_copied or packet.is_moved or not packet.segments:
                    continue
                due_at = packet.sent_at + expected_s
                if due_at > there_s or now > packet.sent_at + path.round_trip.loss_s:
                    packet.is_copied = True
                    self.from_lagging += 1
                    idle.copies.extend(packet.segments)
        return len(idle.copies) > 0

    def _give_back(self, packets: Sequence[SentPacket]) -> None:
        for packet in packets:
            if packet.is_moved:
                continue
            for stream, start, end, fin in packet.segments:
                stream.sending.lost(start, end, fin=fin)
                self._output.changed(stream)
            for key in packet.control_frames:
                self._control_frames.add(*key)
