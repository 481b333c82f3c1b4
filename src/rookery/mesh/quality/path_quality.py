"""Path quality: continuous measurements of one path, and the cost that follows from them.

    round trip   (t4 - t1) - (t3 - t2): two differences, each of one clock, so clocks need not agree
                 t3 - t2 is the peer's word, so it explains delay and makes no path shorter: no
                 round trip is less than the least t4 - t1 of the last minute, nor than the
                 least that the system saw on a stream to the peer
    srtt         the usual 1/8 of each new sample, rttvar 1/4, jitter 1/16 of the step between two
    loss         of the last 32 pings, each way: ours by the peer's reports, the peer's by the gaps
    rate         the most that arrived per second while the sender had more to send

    cost = advice × (srtt/2 + rttvar + (ETX - 1)(srtt + 4 rttvar) + 16 KB/rate + 500 µs) + offset
    ETX  = 1 / ((1 - loss out)(1 - loss in))

The advice of an analysis is held between 1 and 2, so it can tilt a choice and make nothing
unreachable. A clock that steps at the far end spoils one sample, which is dropped and counted.
"""

from collections import deque

import msgspec

from rookery.errors import ProtocolError
from rookery.wire.mesh.ping import HISTORY_SIZE, PingReport

_MASK = (1 << HISTORY_SIZE) - 1


class PingHistory:
    """The last 64 pings of a peer."""

    __slots__ = ("_span", "bits", "highest")

    def __init__(self) -> None:
        self.highest = 0  # 0: none came yet
        self.bits = 0
        self._span = 0  # how many of the bits count

    def add(self, sequence: int) -> None:
        """Note a ping, perhaps a late or repeated one."""
        ahead = sequence - self.highest
        if self.highest == 0 or ahead <= -HISTORY_SIZE:
            # So far back is not late: the peer counts anew.
            self.highest, self.bits, self._span = sequence, 1, 1
        elif ahead > 0:
            self.highest = sequence
            self._span = min(self._span + ahead, HISTORY_SIZE)
            self.bits = (self.bits << min(ahead, HISTORY_SIZE) | 1) & _MASK
        elif sequence > 0 and -ahead < self._span:
            self.bits |= 1 << -ahead

    def loss(self, pings: int, overdue: int = 0) -> float:
        """The share of the last `pings` that did not come, with so many overdue ones behind."""
        overdue = min(overdue, pings) if self.highest else 0
        counted = min(self._span + overdue, pings)
        if counted == 0:
            return 0.0
        came = (self.bits << overdue) & ((1 << counted) - 1)
        return 1 - came.bit_count() / counted


COST_MAX = 2**32 - 2
HOP_US = 500  # what passing through one more node costs
ADVICE_MAX = 2.0
LOSS_PINGS = 32
WINDOW_S = 60.0  # of the minimum round trip and of the maximum rate

_BURST_SIZE = 16 << 10
_LOSS_MAX = 0.95  # a path that loses more costs no more: it is about to be down
_SRTT_WEIGHT = 1 / 8
_RTTVAR_WEIGHT = 1 / 4
_JITTER_WEIGHT = 1 / 16
_RTT_MIN_S = 1e-6
_HOLDING_MAX_S = 0.02  # who holds a ping for longer is slow, or wants to look near
_CLAIM_WEIGHT = 1 / 8
_RTT_MAX_S = 60.0  # longer is no round trip but a clock gone wrong
_PATIENCE_S = (0.5, 4.0)
_PATIENCE_UNKNOWN_S = 1.0
_RATE_INTERVAL_S = (0.2, 30.0)
_RETRANSMIT_WEIGHT = 1 / 4
_SENT_MAX = 64


class StreamMeasure(msgspec.Struct, frozen=True):
    """What the system measures of a stream (`TCP_INFO`)."""

    rtt_s: float
    rttvar_s: float
    segments: int  # sent since the beginning, the repeated ones included
    retransmits: int
    rate: float | None  # bytes per second delivered of late
    is_app_limited: bool  # the rate says how little there was to send
    unsent: int = 0  # bytes that wait for their first departure
    rtt_min_s: float | None = None  # the least of the last minutes


class Minima:
    """The least of the last minute, or the last one."""

    __slots__ = ("_rising",)

    def __init__(self) -> None:
        self._rising: deque[tuple[float, float]] = deque()  # so the first is the least

    def add(self, value: float, now: float) -> None:
        while self._rising and self._rising[-1][1] >= value:
            self._rising.pop()
        self._rising.append((now, value))

    def least(self, now: float) -> float | None:
        while len(self._rising) > 1 and self._rising[0][0] < now - WINDOW_S:
            self._rising.popleft()
        return self._rising[0][1] if self._rising else None


class PathQuality:
    """The measurements of one path."""

    __slots__ = (
        "_baseline",
        "_elapsed",
        "_history",
        "_last_rtt_s",
        "_minima",
        "_next_s",
        "_ping_received_at",
        "_pings_lost",
        "_rates",
        "_reported_size",
        "_reported_us",
        "_sent",
        "_unanswered",
        "_was_limited",
        "disbelieved_s",
        "discarded",
        "floor_s",
        "jitter_s",
        "received_size",
        "rttvar_s",
        "srtt_s",
        "stream",
        "stream_loss",
    )

    def __init__(self) -> None:
        self.srtt_s: float | None = None
        self.rttvar_s = 0.0
        self.jitter_s = 0.0
        self.discarded = 0  # samples that no sane clocks can have given
        self.received_size = 0  # bytes that came over this path
        self.stream: StreamMeasure | None = None
        self.stream_loss = 0.0
        self._was_limited = False
        self.floor_s = 0.0  # the least round trip of a stream to the peer, as the system has it
        self.disbelieved_s = (
            0.0  # holding time that the peer claims and nothing bears out, smoothed
        )
        self._last_rtt_s: float | None = None
        self._minima = Minima()  # of round trips,
        self._elapsed = Minima()  # and of the whole time that pings were away
        self._sent: deque[tuple[int, float]] = deque(maxlen=_SENT_MAX)
        self._unanswered: dict[int, float] = {}
        self._baseline: int | None = None  # the first of our pings that the peer heard
        self._pings_lost = 0.0
        self._history = PingHistory()
        self._ping_received_at = 0.0
        self._next_s = 0
        self._reported_us: int | None = None
        self._reported_size = 0
        self._rates: deque[tuple[float, float]] = deque()  # falling, so the first is the most

    # --- our pings ---

    def sent(self, sequence: int, now: float) -> None:
        """Note a ping that we sent."""
        if len(self._sent) == _SENT_MAX:
            self._unanswered.pop(self._sent[0][0], None)
        self._sent.append((sequence, now))
        self._unanswered[sequence] = now

    def answered(
        self, sequence: int, received_us: int, replied_us: int, now: float
    ) -> float | None:
        """The round trip of an answered ping; None when its times are impossible."""
        sent_s = self._unanswered.pop(sequence, None)
        if sent_s is None:
            return None
        holding_s = (replied_us - received_us) / 1e6
        elapsed_s = now - sent_s
        # A microsecond is what rounding may add to the holding time.
        if not 0 <= holding_s <= elapsed_s + 1e-6 or elapsed_s - holding_s > _RTT_MAX_S:
            self.discarded += 1
            return None
        self._elapsed.add(elapsed_s, now)
        rtt_s = max(elapsed_s - min(holding_s, _HOLDING_MAX_S), self._floor_s(now), _RTT_MIN_S)
        disbelieved_s = max(0.0, rtt_s - (elapsed_s - holding_s))
        self.disbelieved_s += _CLAIM_WEIGHT * (disbelieved_s - self.disbelieved_s)
        self._sample(rtt_s, now)
        return rtt_s

    def report_received(
        self, report: PingReport, at_us: int, now: float, *, is_limited: bool
    ) -> None:
        """Take in the peer's report; `is_limited` if we had more to send than the path took."""
        if report.heard > (self._sent[-1][0] if self._sent else 0):
            raise ProtocolError("the peer heard a beat that was never sent")
        self._count_losses(report, now)
        self._measure_rate(report.received_size, at_us, now, is_limited=is_limited)

    # --- the peer's pings ---

    def ping_received(self, sequence: int, next_s: int, now: float) -> None:
        """Note a ping of the peer, and when the next one is due at the latest."""
        self._history.add(sequence)
        self._ping_received_at, self._next_s = now, next_s

    @property
    def report(self) -> PingReport:
        """The report for the peer."""
        return PingReport(self._history.highest, self._history.bits, self.received_size)

    # --- what the system tells ---

    def stream_measured(self, measure: StreamMeasure, now: float) -> None:
        """Estimate the stream's loss by its retransmissions, which pings do not show."""
        previous, self.stream = self.stream, measure
        self.floor_s = measure.rtt_min_s or 0.0
        if measure.rate is not None:
            self._rate(measure.rate, now, is_limited=not measure.is_app_limited)
        if previous is None or measure.segments <= previous.segments:
            return
        repeated = max(measure.retransmits - previous.retransmits, 0)
        share = min(repeated / (measure.segments - previous.segments), 1.0)
        self.stream_loss += _RETRANSMIT_WEIGHT * (share - self.stream_loss)

    # --- the numbers ---

    def rtt_min_s(self, now: float) -> float | None:
        """The least round trip of the last minute, or the last one."""
        return self._minima.least(now)

    @property
    def patience_s(self) -> float:
        """How long an answer may take before the ping counts as missed."""
        if self.srtt_s is None:
            return _PATIENCE_UNKNOWN_S
        low, high = _PATIENCE_S
        return min(max(self.srtt_s + 4 * self.rttvar_s, low), high)

    @property
    def loss_out(self) -> float:
        return max(self._pings_lost, self.stream_loss)

    def loss_in(self, now: float) -> float:
        """Gaps in the peer's pings, and those that are overdue."""
        overdue = 0
        if self._next_s:
            overdue = max(int((now - self._ping_received_at) / self._next_s - 0.5), 0)
        return self._history.loss(LOSS_PINGS, overdue)

    def rate(self, now: float) -> float | None:
        """Bytes per second; None while the path was never filled."""
        while len(self._rates) > 1 and self._rates[0][0] < now - WINDOW_S:
            self._rates.popleft()
        return self._rates[0][1] if self._rates else None

    def cost_us(self, now: float, offset_us: int = 0, advice: float = 1.0) -> int | None:
        """The cost of the path; None before the first round trip."""
        if self.srtt_s is None:
            return None
        arrive_out = 1 - min(self.loss_out, _LOSS_MAX)
        arrive_in = 1 - min(self.loss_in(now), _LOSS_MAX)
        cost_s = self.srtt_s / 2 + self.rttvar_s
        cost_s += (1 / (arrive_out * arrive_in) - 1) * (self.srtt_s + 4 * self.rttvar_s)
        rate = self.rate(now)
        if rate is not None:
            cost_s += _BURST_SIZE / rate
        measured = min(cost_s * 1e6 + HOP_US, COST_MAX)
        advised = measured * min(ADVICE_MAX, max(1.0, advice))  # in this order 1 for no number
        return int(min(max(advised + offset_us, 1), COST_MAX))

    # --- inside ---

    def _floor_s(self, now: float) -> float:
        """The minimum round trip, without relying on the peer's claims."""
        return max(self._elapsed.least(now) or 0.0, self.floor_s)

    def _sample(self, rtt_s: float, now: float) -> None:
        if self.srtt_s is None:
            self.srtt_s, self.rttvar_s = rtt_s, rtt_s / 2
        else:
            self.rttvar_s += _RTTVAR_WEIGHT * (abs(rtt_s - self.srtt_s) - self.rttvar_s)
            self.srtt_s += _SRTT_WEIGHT * (rtt_s - self.srtt_s)
        if self._last_rtt_s is not None:
            step_s = abs(rtt_s - self._last_rtt_s)
            self.jitter_s += _JITTER_WEIGHT * (step_s - self.jitter_s)
        self._last_rtt_s = rtt_s
        self._minima.add(rtt_s, now)

    def _count_losses(self, report: PingReport, now: float) -> None:
        """Count which of our last pings the peer received."""
        if self._baseline is None and report.heard:
            # Before that the peer may not have been there to hear.
            self._baseline = report.heard - report.history.bit_length() + 1
        due_s = now - self.patience_s
        fates = []
        for sequence, sent_s in self._sent:
            if sequence < (self._baseline or 0):
                continue
            if sequence <= report.heard:
                fates.append(report.history >> (report.heard - sequence) & 1)
            elif sent_s <= due_s:
                fates.append(0)
        recent = fates[-LOSS_PINGS:]
        self._pings_lost = 1 - sum(recent) / len(recent) if recent else 0.0

    def _measure_rate(self, size: int, at_us: int, now: float, *, is_limited: bool) -> None:
        """Measure the rate between two reports, by the peer's clock."""
        if self._reported_us is not None:
            elapsed_s = (at_us - self._reported_us) / 1e6
            shortest_s, longest_s = _RATE_INTERVAL_S
            if 0 <= elapsed_s < shortest_s:
                return
            if size >= self._reported_size and shortest_s <= elapsed_s <= longest_s:
                rate = (size - self._reported_size) / elapsed_s
                # Limited at both ends of the interval: then probably within it, too.
                self._rate(rate, now, is_limited=is_limited and self._was_limited)
        self._reported_us, self._reported_size, self._was_limited = at_us, size, is_limited

    def _rate(self, rate: float, now: float, *, is_limited: bool) -> None:
        # While there was little to send, a rate is only news when it pings what we thought.
        known = self.rate(now)
        if rate <= 0 or (not is_limited and (known is None or rate <= known)):
            return
        while self._rates and self._rates[-1][1] <= rate:
            self._rates.pop()
        self._rates.append((now, rate))
