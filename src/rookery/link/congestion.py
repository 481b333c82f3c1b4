"""Congestion control: round-trip time, and how many packets may be in flight.

Growth is TCP's: one packet more for each that arrives until the first loss, then one per round
trip. A loss while a queue stands on the path means congestion and costs three tenths, once per
round trip. A loss without a queue is what radio links do all day: it costs half a packet, so a
path that loses one in ten still carries about twenty at a time. Silence costs everything.
"""

PACKETS_START = 32
PACKETS_MIN = 4

_BACK_OFF = 0.7
_NOISE_COST = 0.5  # packets, for one lost without a queue
_TIMEOUT_START_S = 1.0  # also what the JavaScript peer needs before an opening is repeated
_TIMEOUT_MIN_S = 0.2
_TIMEOUT_MAX_S = 5.0
_BACKED_OFF_MAX = 5
_REPEAT_MIN_S = 0.005
_PATIENCE_MIN = 2  # variations of the round trip that a packet may be late
_PATIENCE_MAX = 8
_QUEUE_FACTOR = 1.25  # the quickest packet of a round trip is this much slower than usual,
_QUEUE_MIN_S = 0.005  # and by this much, when a queue stands
_FLOOR_DRIFT = 1.002  # per round trip, so that a longer path becomes the new base


class RoundTrip:
    """Smoothed round trip, the timeouts that follow from it, and whether a queue stands."""

    __slots__ = (
        "_floor",
        "_patience",
        "_quickest",
        "_recent",
        "_round_until",
        "backed_off",
        "smoothed",
        "variation",
    )

    def __init__(self, estimate: float | None) -> None:
        self.smoothed = estimate
        self.variation = 0.0 if estimate is None else estimate / 2
        self.backed_off = 0  # timeouts in a row
        self._floor = float("inf")  # the path without a queue
        self._patience = _PATIENCE_MIN
        self._recent = 0.0  # quickest of the last whole round trip
        self._quickest = float("inf")  # and of the current one
        self._round_until = 0.0

    def sample(self, rtt: float, now: float) -> None:
        if self.smoothed is None:
            self.smoothed, self.variation = rtt, rtt / 2
        else:
            self.variation += (abs(self.smoothed - rtt) - self.variation) / 4
            self.smoothed += (rtt - self.smoothed) / 8
        self._quickest = min(self._quickest, rtt)
        self._floor = min(self._floor, rtt)
        if now >= self._round_until:
            self._round_until = now + self.smoothed
            self._recent, self._quickest = self._quickest, float("inf")
            self._floor *= _FLOOR_DRIFT

    def back_off(self) -> None:
        self.backed_off = min(self.backed_off + 1, _BACKED_OFF_MAX)

    @property
    def timeout(self) -> float:
        plain = _TIMEOUT_START_S if self.smoothed is None else self.smoothed + 4 * self.variation
        return min(max(plain, _TIMEOUT_MIN_S) * (1 << self.backed_off), _TIMEOUT_MAX_S)

    @property
    def repeat_after(self) -> float:
        """The age from which a packet that the peer reports missing is lost and not late."""
        if self.smoothed is None:
            return _TIMEOUT_START_S
        return self.smoothed + max(
            self._patience * self.variation, self.smoothed / 8, _REPEAT_MIN_S
        )

    def is_too_quick(self, rtt: float) -> bool:
        """Whether an answer must be to an earlier copy, so that waiting was the right thing."""
        if rtt >= self._floor:
            return False
        self._patience = min(self._patience + 1, _PATIENCE_MAX)
        return True

    @property
    def has_queue(self) -> bool:
        usual = max(self._floor * _QUEUE_FACTOR, self._floor + _QUEUE_MIN_S)
        return self._recent > usual


class ChannelCongestion:
    """How many packets may be in flight."""

    __slots__ = ("_packets_max", "_recovery_until", "_slow_start_until", "packets")

    def __init__(self, packets_max: int) -> None:
        self._packets_max = float(packets_max)
        self.packets = float(PACKETS_START)
        self._slow_start_until = self._packets_max
        self._recovery_until = 0

    def arrived(self, count: int) -> None:
        if self.packets < self._slow_start_until:
            self.packets += count
        else:
            self.packets += count / self.packets
        self.packets = min(self.packets, self._packets_max)

    def lost(self, count: int, *, acked: int, sent: int, has_queue: bool) -> None:
        """`count` packets were lost while everything up to `sent` was in flight."""
        packets = self.packets - count * _NOISE_COST
        if acked >= self._recovery_until:
            self._recovery_until = sent
            if has_queue or self.packets < self._slow_start_until:
                packets = self.packets * _BACK_OFF
        self._slow_down(packets)

    def was_hasty(self) -> None:
        """A packet taken for lost was only late."""
        self.packets += _NOISE_COST

    def silent(self) -> None:
        """Nothing came back for a whole timeout: start over with slow start."""
        if self.packets > PACKETS_MIN:  # else it goes on, and says nothing more
            self._slow_down(self.packets * _BACK_OFF)
        self.packets = float(PACKETS_MIN)

    def _slow_down(self, packets: float) -> None:
        self.packets = self._slow_start_until = max(packets, float(PACKETS_MIN))
