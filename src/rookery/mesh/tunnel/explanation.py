"""Explanation: how a tunnel uses its ways, and why."""

from collections.abc import Mapping

import msgspec

from rookery.mesh.tunnel.paths.outbound_path import OutboundPath


class TunnelPathRow(msgspec.Struct, frozen=True, kw_only=True):
    """One way, in numbers."""

    id: int
    label: str
    kind: str
    phase: str
    is_silent: bool
    rtt_s: float
    rtt_min_s: float
    rate: float  # bytes per second
    window: int
    in_flight: int
    sent_packets: int
    sent_size: int
    lost_packets: int
    marks: int  # packets that met a long queue

    @classmethod
    def of(cls, way: OutboundPath) -> "TunnelPathRow":
        return cls(
            id=way.way.id,
            label=way.way.label,
            kind=way.way.kind.value,
            phase=way.congestion.phase.value,
            is_silent=way.is_silent,
            rtt_s=way.round_trip.smoothed_s,
            rtt_min_s=way.round_trip.min_s,
            rate=way.delivery.rate,
            window=way.congestion.window,
            in_flight=way.in_flight,
            sent_packets=way.sent_packets,
            sent_size=way.sent_size,
            lost_packets=way.lost_packets,
            marks=way.marks,
        )


class TunnelExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """`decisions` and `reinjected` count since the tunnel began."""

    state: str
    mode: str
    ways: tuple[TunnelPathRow, ...]
    decisions: Mapping[str, int]
    reinjected: Mapping[str, int]
    counts: Mapping[str, int]

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{self.state}, scheduler {self.mode}"]
        for way in self.ways:
            name = way.label or f"way {way.id}"
            silence = ", silent" if way.is_silent else ""
            lines.append(
                f"  {name} ({way.kind}, {way.phase}{silence}): {way.rtt_s * 1e3:.1f} ms, "
                f"{way.rate / 1e6:.2f} MB/s, {way.in_flight} of {way.window} bytes under way, "
                f"{way.sent_packets} packets sent, {way.lost_packets} lost, "
                f"{way.marks} marked"
            )
        for reason, count in sorted(self.decisions.items(), key=lambda item: -item[1]):
            lines.append(f"  {count} × {reason}")
        for reason, count in self.reinjected.items():
            lines.append(f"  {count} packets repeated: {reason}")
        for reason, count in self.counts.items():
            lines.append(f"  {count} {reason}")
        return lines
