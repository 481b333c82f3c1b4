"""Path row: what is known of one path of a neighbour, for people to read."""

from typing import Self

import msgspec

from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_monitor import PathMonitor
from rookery.mesh.quality.udp_companion import UdpCompanionState
from rookery.wire.link.path import Path


class PathRow(msgspec.Struct, frozen=True):
    """One path's figures at one moment."""

    path: Path
    condition: PathCondition
    companion: UdpCompanionState | None  # of a datagram path beside a stream
    rtt_s: float | None
    rtt_min_s: float | None
    rttvar_s: float
    jitter_s: float
    loss_out: float
    loss_in: float
    rate: float | None
    cost_us: int | None
    missed: int
    discarded: int
    proven_s: float | None  # when data-size packets last went both ways

    @classmethod
    def of(
        cls,
        monitor: PathMonitor,
        now: float,
        companion: UdpCompanionState | None,
        cost_us: int | None,
    ) -> Self:
        quality = monitor.quality
        return cls(
            path=monitor.path,
            condition=monitor.condition,
            companion=companion,
            rtt_s=quality.srtt_s,
            rtt_min_s=quality.rtt_min_s(now),
            rttvar_s=quality.rttvar_s,
            jitter_s=quality.jitter_s,
            loss_out=quality.loss_out,
            loss_in=quality.loss_in(now),
            rate=quality.rate(now),
            cost_us=cost_us,
            missed=monitor.liveness.missed,
            discarded=quality.discarded,
            proven_s=monitor.liveness.proven_s,
        )
