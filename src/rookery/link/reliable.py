"""Order and certainty over a lossy path: the numbers behind `seq`, `ack` and `miss`.

Each side numbers its packets from 1. `ack` names the last one in order that is safe with the
receiver; `miss` lists gaps as deltas from it, and its last entry is not a gap but the highest
number the receiver has room for:

    ack 78231, missing 78235 78236 78238 78245, room up to 78251   ->   miss [4, 1, 2, 7, 6]

The sender repeats what is listed, once per round trip, and everything unacknowledged on its own
timer (the public JavaScript peer never lists its first gap). How much may be under way follows
additive increase, multiplicative decrease.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rookery.errors import ProtocolError
from rookery.wire.lob import JsonObject

WINDOW_DEFAULT = 50  # what the JavaScript peer buffers, and never says
WINDOW_PACKETS = 2048  # the JavaScript peer sends a megabyte at once
WINDOW_BYTES = 4 << 20
GAPS_LISTED_MAX = 256  # keeps an acknowledgement within one datagram
SEND_BUFFER_BYTES = 1 << 20
UNACKNOWLEDGED_S_MAX = 30.0

_FLIGHT_START = 32
_FLIGHT_MIN = 4
_BACK_OFF = 0.7
_RTO_START_S = 1.0
_RTO_MIN_S = 0.2
_RTO_MAX_S = 5.0
_REPEAT_FACTOR = 1.1  # a listed packet is lost once this many round trips have passed,
_REPEAT_MIN_S = 0.005  # and never sooner than this
_BODY_SIZE_MIN = 256  # what the smallest packet is assumed to cost a buffer


class Message(NamedTuple):
    """The head and body of one channel packet."""

    head: JsonObject
    body: bytes


class Numbered:
    """A packet under way."""

    __slots__ = ("message", "sent_s", "seq", "times")

    def __init__(self, seq: int, message: Message) -> None:
        self.seq = seq
        self.message = message
        self.sent_s = 0.0
        self.times = 0


class RoundTrip:
    """Smoothed round trip and the retransmission timeout that follows from it."""

    __slots__ = ("backed_off", "smoothed", "variation")

    def __init__(self) -> None:
        self.smoothed: float | None = None
        self.variation = 0.0
        self.backed_off = 0

    def sample(self, rtt: float) -> None:
        if self.smoothed is None:
            self.smoothed, self.variation = rtt, rtt / 2
        else:
            self.variation += (abs(self.smoothed - rtt) - self.variation) / 4
            self.smoothed += (rtt - self.smoothed) / 8
        self.backed_off = 0

    @property
    def timeout(self) -> float:
        plain = _RTO_START_S if self.smoothed is None else self.smoothed + 4 * self.variation
        return min(max(plain, _RTO_MIN_S) * (1 << self.backed_off), _RTO_MAX_S)

    @property
    def repeat_after(self) -> float:
        return max((self.smoothed or _RTO_START_S) * _REPEAT_FACTOR, _REPEAT_MIN_S)


class Sender:
    """Our packets, from the application's hand to the peer's acknowledgement."""

    __slots__ = (
        "_acked",
        "_flight",
        "_flight_bytes",
        "_flight_max",
        "_heard_s",
        "_lost",
        "_next",
        "_probes",
        "_queue",
        "_recovery_until",
        "_slow_start_until",
        "_window",
        "buffered",
        "round_trip",
    )

    def __init__(self, *, probes: bool) -> None:
        self._probes = probes  # the peer acknowledges nothing but news, so send it some
        self._next = 1
        self._acked = 0
        self._queue: deque[Numbered] = deque()
        self._flight: dict[int, Numbered] = {}  # in order of `seq`
        self._flight_bytes = 0
        self._lost: deque[int] = deque()
        self._window = WINDOW_DEFAULT
        self._flight_max = float(_FLIGHT_START)
        self._slow_start_until = float(WINDOW_PACKETS)
        self._recovery_until = 0
        self._heard_s = 0.0
        self.round_trip = RoundTrip()
        self.buffered = 0

    @property
    def has_room(self) -> bool:
        return self.buffered < SEND_BUFFER_BYTES

    @property
    def is_idle(self) -> bool:
        return not self._queue and not self._flight

    @property
    def only_end_is_open(self) -> bool:
        """Whether nothing but our `end` is unacknowledged; some peers forget to."""
        return not self._queue and all(n.message.head.get("end") for n in self._flight.values())

    def push(self, message: Message) -> None:
        self._queue.append(Numbered(self._next, message))
        self._next += 1
        self.buffered += len(message.body) + _BODY_SIZE_MIN

    def due(self, now: float) -> Iterator[Numbered]:
        """What to put on the wire now: the lost first, then the new as far as it may."""
        while self._lost:
            numbered = self._flight.get(self._lost.popleft())
            if numbered is not None:
                yield self._stamped(numbered, now)
        while self._queue and self._may_send(self._queue[0]):
            numbered = self._queue.popleft()
            if not self._flight:
                self._heard_s = now
            self._flight[numbered.seq] = numbered
            self._flight_bytes += len(numbered.message.body)
            yield self._stamped(numbered, now)

    def acknowledged(self, ack: int, miss: Sequence[int] | None, now: float) -> None:
        """Take an `ack` and its list of gaps; raises ProtocolError for what we never sent."""
        if ack >= self._next - len(self._queue):
            raise ProtocolError("acknowledgement of a packet that was never sent")
        if ack < self._acked:
            return  # overtaken by a newer one
        self._heard_s = now
        self._release(ack, now)
        if miss is not None:
            self._missed(miss, now)

    @property
    def deadline(self) -> float | None:
        """When `expire` has something to do."""
        oldest = next(iter(self._flight.values()), None)
        if oldest is None:
            return None
        return oldest.sent_s + self.round_trip.timeout

    def expire(self, now: float) -> bool:
        """Repeat what has waited too long; False once the peer has been silent for good."""
        if self._flight and now - self._heard_s >= UNACKNOWLEDGED_S_MAX:
            return False
        deadline = self.deadline
        if deadline is not None and now >= deadline:
            late = now - self.round_trip.timeout
            waiting = [n.seq for n in self._flight.values() if n.sent_s <= late]
            self.round_trip.backed_off = min(self.round_trip.backed_off + 1, 5)
            self._slow_down(_FLIGHT_MIN)
            # The rest follows when the first answers, at the pace the path then allows.
            self._lost = deque(waiting[: int(self._flight_max)])
            if self._probes and self.round_trip.backed_off == 2:
                self._probe()
        return True

    def _probe(self) -> None:
        """An empty packet: the JavaScript peer answers a new number, never a repeated one."""
        last = next(reversed(self._flight.values()))
        if not self._queue and not last.message.head.get("end"):
            self.push(Message({}, b""))

    def _may_send(self, numbered: Numbered) -> bool:
        if not self._flight:
            return True  # one packet also probes a closed window
        return (
            len(self._flight) < self._flight_max
            and numbered.seq <= self._acked + self._window
            and self._flight_bytes < WINDOW_BYTES
        )

    @staticmethod
    def _stamped(numbered: Numbered, now: float) -> Numbered:
        numbered.sent_s = now
        numbered.times += 1
        return numbered

    def _release(self, ack: int, now: float) -> None:
        for seq in range(self._acked + 1, ack + 1):
            numbered = self._flight.pop(seq)
            size = len(numbered.message.body)
            self._flight_bytes -= size
            self.buffered -= size + _BODY_SIZE_MIN
            if seq == ack and numbered.times == 1:
                self.round_trip.sample(now - numbered.sent_s)
        self._speed_up(ack - self._acked)
        if ack > self._acked:
            self.round_trip.backed_off = 0
        self._acked = ack

    def _missed(self, miss: Sequence[int], now: float) -> None:
        was_closed = self._window == 0
        self._window = sum(miss)
        late = now - self.round_trip.repeat_after
        lost = []
        seq = self._acked
        for delta in miss[:-1]:
            seq += delta
            numbered = self._flight.get(seq)
            if numbered is not None and numbered.sent_s <= late:
                lost.append(seq)
        if was_closed and self._window:
            lost = list(self._flight)  # the probe fell before a closed door
        if lost:
            self._lost = deque(lost[: int(self._flight_max) + 1])
            self._slow_down(int(self._flight_max * _BACK_OFF))

    def _speed_up(self, count: int) -> None:
        if self._flight_max < self._slow_start_until:
            self._flight_max += count
        else:
            self._flight_max += count / self._flight_max
        self._flight_max = min(self._flight_max, WINDOW_PACKETS)

    def _slow_down(self, flight_max: int) -> None:
        """Once for all that was under way when the first loss showed."""
        if self._acked < self._recovery_until:
            return
        self._recovery_until = self._next - len(self._queue) - 1
        self._slow_start_until = max(self._flight_max * _BACK_OFF, _FLIGHT_MIN)
        self._flight_max = float(max(flight_max, _FLIGHT_MIN))


class Receiver:
    """The peer's packets, from the wire to the application's hand, in order and once."""

    __slots__ = ("_ahead", "_buffered", "_edge", "_largest", "_next", "_ready", "ended")

    def __init__(self) -> None:
        self._next = 1
        self._ahead: dict[int, Message] = {}
        self._ready: deque[Message] = deque()
        self._buffered = 0
        self._largest = _BODY_SIZE_MIN
        self._edge = WINDOW_PACKETS
        self.ended = False  # the peer's last packet is in order

    @property
    def ack(self) -> int:
        return self._next - 1

    @property
    def has_gaps(self) -> bool:
        return bool(self._ahead)

    @property
    def is_pressed(self) -> bool:
        """Whether the application lags so far behind that the sender should know."""
        return self._edge - self.ack < WINDOW_PACKETS // 2

    def __len__(self) -> int:
        return len(self._ready)

    def accept(self, seq: int, message: Message) -> bool:
        """Take a packet; False when it is a repetition or outside the window."""
        if seq < self._next or seq > self._edge or seq in self._ahead or self.ended:
            return False
        size = len(message.body)
        if self._buffered + size > WINDOW_BYTES * (1 + (seq == self._next)):
            return False  # what closes a gap may use the reserve
        self._buffered += size
        self._largest = max(self._largest, size)
        if seq != self._next:
            self._ahead[seq] = message
            return True
        self._append(message)
        while self._ahead and (following := self._ahead.pop(self._next, None)) is not None:
            self._append(following)
        self._move_edge()
        return True

    def take(self) -> Message | None:
        """The next message for the application."""
        if not self._ready:
            return None
        message = self._ready.popleft()
        self._buffered -= len(message.body)
        self._move_edge()
        return message

    def miss(self) -> list[int]:
        """Deltas to the gaps and to the edge of the window."""
        deltas, last = [], self.ack
        if self._ahead:
            for seq in range(self._next, max(self._ahead)):
                if seq not in self._ahead:
                    deltas.append(seq - last)
                    last = seq
                    if len(deltas) == GAPS_LISTED_MAX:
                        break
        deltas.append(self._edge - last)
        return deltas

    def _append(self, message: Message) -> None:
        self._ready.append(message)
        self._next += 1
        if message.head.get("end") is True:
            self.ended = True
            self._ahead.clear()

    def _move_edge(self) -> None:
        """Room in packets and in bytes, whichever is less."""
        by_count = WINDOW_PACKETS - len(self._ready)
        by_bytes = (WINDOW_BYTES - self._buffered) // self._largest
        self._edge = self.ack + max(min(by_count, by_bytes), 0)
