"""Congestion of a path: how much may be under way on it, and how fast it may leave.

    startup ── the rate stopped growing ──▶ drain ── the queue is empty ──▶ steady
    steady ── the least round trip is old ──▶ ebb ── 0.2 s later ──▶ steady

Rate based, after the idea of BBR: bandwidth is the greatest delivery rate of the last rounds,
the round trip without queues is the least of the last seconds, and their product is what the path
holds. A steady path tries a quarter more in one round of eight, and lets that drain in the next;
while trying more brings more, it goes on trying.
"""

from enum import Enum
from typing import Final

from rookery.mesh.tunnel.paths.delivery_rate import DeliveryRate
from rookery.mesh.tunnel.paths.path import TunnelPathKind
from rookery.mesh.tunnel.paths.round_trip import MIN_WINDOW_S, PathRoundTrip

_STARTUP_GAIN: Final = 2.77
_DRAIN_GAIN: Final = 1 / _STARTUP_GAIN
_STEADY_GAINS: Final[tuple[float, ...]] = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
_MORE: Final = 1.1  # a rate that has grown so much since more was tried is not the end of it
_WINDOW_GAIN: Final = 2.0
_NO_CEILING: Final = float("inf")
_GROWTH: Final = 1.25  # less than this in three rounds: the path is full
_FULL_ROUNDS: Final = 3
_EBB_S: Final = 0.2
_WINDOW_START: Final = {TunnelPathKind.STREAM: 32768, TunnelPathKind.DATAGRAM: 16384}
_WINDOW_MIN_PACKETS: Final = 4
# Enough to keep a stream below busy, or all streams of a route at once,
_QUEUE_MAX: Final = {TunnelPathKind.STREAM: 524288, TunnelPathKind.DATAGRAM: 2097152}
_QUEUE_S: Final = 0.02  # and no more than this takes to pass
_PACKET_S: Final = 0.005
_PACKET_MIN: Final = 1100
_PACKET_UNKNOWN: Final = 8192
_MARK_FACTOR: Final = 0.85
_RELIEF: Final = 1.05  # in each round trip after a mark
_LOSS_WEIGHT: Final = 1 / 8
_LOSS_MAX: Final = 0.5
_QUEUED_RTT: Final = 1.25  # longer round trips than this many of the least show a queue
_QUEUED_S: Final = 0.003


class CongestionPhase(Enum):
    """The phase of the control loop."""

    STARTUP = "startup"
    DRAIN = "drain"
    STEADY = "steady"
    EBB = "ebb"


class CongestionControl:
    """Window and rate of one path."""

    __slots__ = (
        "_ceiling",
        "_cycle",
        "_cycle_at",
        "_delivered_mark",
        "_ebb_until",
        "_full_rate",
        "_full_rounds",
        "_kind",
        "_loss",
        "_lost_mark",
        "_packet_max",
        "_queue_max",
        "_tried",
        "delivery",
        "pacing_rate",  # bytes per second; 0: as fast as the window allows
        "packet_size",  # of head and body: so quickly gone that small ones need not wait long
        "phase",
        "rate",  # bytes per second, a guess at first
        "round_trip",
        "window",
    )

    def __init__(
        self,
        kind: TunnelPathKind,
        packet_max: int,
        round_trip: PathRoundTrip,
        delivery: DeliveryRate,
    ) -> None:
        self.phase = CongestionPhase.STARTUP
        self.round_trip = round_trip
        self.delivery = delivery
        self.window = _WINDOW_START[kind]
        self._kind = kind
        self._packet_max = packet_max
        self._queue_max = _QUEUE_MAX[kind]
        self._full_rate = 0.0
        self._full_rounds = 0
        self._ceiling = _NO_CEILING  # bytes per second, after a mark
        self._cycle = 2
        self._cycle_at = 0.0
        self._tried = 0.0  # bytes per second, when a quarter more was tried last
        self._ebb_until = 0.0
        self._loss = 0.0
        self._delivered_mark = 0
        self._lost_mark = 0
        self._renew()

    @property
    def _gain(self) -> float:
        if self.phase is CongestionPhase.STARTUP:
            return _STARTUP_GAIN
        if self.phase is CongestionPhase.DRAIN:
            return _DRAIN_GAIN
        return _STEADY_GAINS[self._cycle] if self.phase is CongestionPhase.STEADY else 1.0

    @property
    def _is_queued(self) -> bool:
        trip = self.round_trip
        return trip.smoothed_s > trip.min_s * _QUEUED_RTT + _QUEUED_S

    @property
    def _random_loss(self) -> float:
        """Losses without a queue are random: sending less would not help."""
        return 0.0 if self._is_queued else self._loss

    def acknowledged(self, in_flight: int, now: float, *, is_new_round: bool) -> None:
        """After each acknowledgement."""
        if is_new_round:
            self._ceiling *= _RELIEF
            self._count_losses()
            if self.phase is CongestionPhase.STARTUP:
                self._check_full(now)
        if self.phase is CongestionPhase.DRAIN and in_flight <= self._product:
            self._begin_steady(now)
        self._pass_cycle(in_flight, now)
        self._check_min(now)
        self._renew()

    def marked(self, now: float) -> None:
        """A relay's queue is long: send less, and let it drain."""
        self._ceiling = min(self._ceiling, self.delivery.rate) * _MARK_FACTOR
        if self.phase in (CongestionPhase.STARTUP, CongestionPhase.DRAIN):
            self.phase = CongestionPhase.STEADY
        self._cycle, self._cycle_at = 1, now
        self._renew()

    @property
    def _product(self) -> float:
        return self.rate * self.round_trip.min_s

    def _count_losses(self) -> None:
        delivered = self.delivery.delivered - self._delivered_mark
        lost = self.delivery.lost - self._lost_mark
        self._delivered_mark, self._lost_mark = self.delivery.delivered, self.delivery.lost
        share = lost / (lost + delivered) if lost + delivered else 0.0
        self._loss += (min(share, _LOSS_MAX) - self._loss) * _LOSS_WEIGHT

    def _check_full(self, now: float) -> None:
        # Who has little to send learns nothing of the path, unless a queue has built up even so.
        if self.delivery.was_limited and not self._is_queued:
            return
        if self.delivery.rate >= self._full_rate * _GROWTH:
            self._full_rate, self._full_rounds = self.delivery.rate, 0
            return
        self._full_rounds += 1
        if self._full_rounds == _FULL_ROUNDS:
            self.phase = CongestionPhase.DRAIN
            if self._kind is TunnelPathKind.STREAM:  # its window alone keeps the queue short
                self._begin_steady(now)

    def _begin_steady(self, now: float) -> None:
        self.phase = CongestionPhase.STEADY
        self._cycle, self._cycle_at = 2, now
        self._tried = self.delivery.rate

    def _pass_cycle(self, in_flight: int, now: float) -> None:
        if self.phase is not CongestionPhase.STEADY:
            return
        is_drained = self._cycle == 1 and in_flight <= self._product
        # What is tried shows only when it lasts as long as a packet takes, queues included.
        lasts_s = self.round_trip.smoothed_s if self._cycle == 0 else self.round_trip.min_s
        if now - self._cycle_at > lasts_s or is_drained:
            self._cycle = (self._cycle + 1) % len(_STEADY_GAINS)
            self._cycle_at = now
            if self._cycle == 0:
                self._tried = self.delivery.rate
        elif self._cycle > 1 and self.delivery.rate > self._tried * _MORE:
            self._cycle, self._cycle_at, self._tried = 0, now, self.delivery.rate

    def _check_min(self, now: float) -> None:
        """Drain the queue now and then, to measure the minimum round trip."""
        trip = self.round_trip
        if self.phase is CongestionPhase.EBB:
            if now >= self._ebb_until:
                trip.forget_min(now)
                self._begin_steady(now)
        elif self.phase is CongestionPhase.STEADY and now - trip.min_at > MIN_WINDOW_S:
            self.phase = CongestionPhase.EBB
            self._ebb_until = now + max(_EBB_S, trip.smoothed_s)

    def _renew(self) -> None:
        """Update the cached window, rate and packet size."""
        measured = self.delivery.rate
        self.rate = measured
        if self.phase is CongestionPhase.STARTUP:
            # What was measured on little traffic says little.
            self.rate = max(measured, _WINDOW_START[self._kind] / self.round_trip.smoothed_s)
        if self._ceiling > measured:
            self._ceiling = _NO_CEILING
        self.rate = min(self.rate, self._ceiling)
        size = measured * _PACKET_S if measured else _PACKET_UNKNOWN
        self.packet_size = int(min(self._packet_max, max(size, _PACKET_MIN)))
        self.pacing_rate = 0.0
        if self.round_trip.is_measured and self._kind is TunnelPathKind.DATAGRAM:
            self.pacing_rate = self.rate * self._gain / (1 - self._random_loss)
        if self.round_trip.is_measured:
            self._set_window()

    def _set_window(self) -> None:
        product = self._product
        least = _WINDOW_MIN_PACKETS * self.packet_size
        # What was measured: a guess on a short path could fill a slow line for half a second.
        measured = min(self.delivery.rate, self._ceiling)
        queue = max(min(measured * _QUEUE_S, self._queue_max), least)
        if self.phase is CongestionPhase.EBB:
            self.window = int(max(product / 2, least))
        elif self._kind is TunnelPathKind.STREAM:
            gain = _STARTUP_GAIN if self.phase is CongestionPhase.STARTUP else 1.0
            self.window = int(product * gain + queue)
        else:
            gain = _STARTUP_GAIN if self.phase is CongestionPhase.STARTUP else _WINDOW_GAIN
            self.window = int(max(product * gain / (1 - self._random_loss), product + queue))
            if self.phase is CongestionPhase.STARTUP:
                self.window = max(self.window, _WINDOW_START[self._kind])
