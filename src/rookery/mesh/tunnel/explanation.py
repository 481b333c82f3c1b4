"""Tunnel explanation: how a tunnel uses its paths, and why."""

from collections.abc import Mapping

import msgspec

from rookery.mesh.tunnel.paths.outbound_path import OutboundPath


class TunnelPathRow(msgspec.Struct, frozen=True, kw_only=True):
    """One path, in numbers."""

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
    def of(cls, path: OutboundPath) -> "TunnelPathRow":
        return cls(
            id=path.spec.id,
            label=path.spec.label,
            kind=path.spec.kind.value,
            phase=path.congestion.phase.value,
            is_silent=path.is_silent,
            rtt_s=path.round_trip.smoothed_s,
            rtt_min_s=path.round_trip.min_s,
            rate=path.delivery.rate,
            window=path.congestion.window,
            in_flight=path.in_flight,
            sent_packets=path.sent_packets,
            sent_size=path.sent_size,
            lost_packets=path.lost_packets,
            marks=path.marks,
        )


class TunnelExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """`decisions` and `reinjected` count since the tunnel began."""

    state: str
    mode: str
    paths: tuple[TunnelPathRow, ...]
    decisions: Mapping[str, int]
    reinjected: Mapping[str, int]
    counts: Mapping[str, int]

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"{self.state}, scheduler {self.mode}"]
        for path in self.paths:
            name = path.label or f"path {path.id}"
            silence = ", silent" if path.is_silent else ""
            lines.append(
                f"  {name} ({path.kind}, {path.phase}{silence}): {path.rtt_s * 1e3:.1f} ms, "
                f"{path.rate / 1e6:.2f} MB/s, {path.in_flight} of {path.window} bytes under way, "
                f"{path.sent_packets} packets sent, {path.lost_packets} lost, "
                f"{path.marks} marked"
            )
        for reason, count in sorted(self.decisions.items(), key=lambda item: -item[1]):
            lines.append(f"  {count} × {reason}")
        for reason, count in self.reinjected.items():
            lines.append(f"  {count} packets repeated: {reason}")
        for reason, count in self.counts.items():
            lines.append(f"  {count} {reason}")
        return lines
