"""Rows of a bench: what is told while it runs, and the report at its end."""

from enum import Enum

import msgspec

from rookery.runtime.node.members import NodeName


class BenchPhase(Enum):
    """What is being measured."""

    IDLE = "idle"  # small messages alone
    UP = "up"  # bytes from here to there, and small messages beside them
    DOWN = "down"  # bytes from there to here, likewise


class BenchLatency(msgspec.Struct, frozen=True, kw_only=True):
    """Small messages, there and back; None where none came back."""

    count: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


class BenchPath(msgspec.Struct, frozen=True, kw_only=True):
    """One path of the tunnel, as measured by the sending end."""

    path: str = msgspec.field(name="way")  # "direct", or the relays
    sent_bytes: int  # in this phase, everything that was repeated included
    lost_packets: int
    rtt_ms: float | None = None
    rate_bytes_s: float | None = None


class BenchFlow(msgspec.Struct, frozen=True, kw_only=True):
    """One direction."""

    size_bytes: int  # that arrived
    took_s: float
    latency: BenchLatency
    paths: tuple[BenchPath, ...] = msgspec.field(name="ways", default=())

    @property
    def rate_bytes_s(self) -> float:
        return self.size_bytes / self.took_s if self.took_s else 0.0


class BenchProgress(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="bench-progress"
):
    """How far it got."""

    phase: BenchPhase
    size_bytes: int
    took_s: float


class BenchReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", tag="bench"):
    """All of it."""

    to: NodeName
    idle: BenchLatency
    up: BenchFlow
    down: BenchFlow
