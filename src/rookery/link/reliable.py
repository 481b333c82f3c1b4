"""Order and certainty over a lossy path: the numbers behind `seq`, `ack` and `miss`.

Each side numbers its packets from 1. `ack` names the last one in order that is safe with the
receiver; `miss` lists gaps as deltas from it, and its last entry is not a gap but the highest
number the receiver has room for:

    ack 78231, missing 78235 78236 78238 78245, room up to 78251   ->   miss [4, 1, 2, 7, 6]

Our own kind lists the first number it has not seen yet as the last gap. So a sender knows what
has arrived, and new packets flow while an old one is still being repeated. The public JavaScript
peer is *lax*: it never lists its first gap and acknowledges nothing twice, so towards it only
`ack` counts, everything is repeated on our own timer, and an empty packet now and then makes it
speak.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rookery.errors import ProtocolError
from rookery.link.congestion import ChannelCongestion, RoundTrip
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Path

WINDOW_DEFAULT = 50  # what the JavaScript peer buffers without announcing it
WINDOW_PACKETS = 2048  # the JavaScript peer sends a megabyte at once
WINDOW_BYTES = 4 << 20
GAPS_LISTED_MAX = 256  # keeps an acknowledgement within one datagram
SEND_BUFFER_BYTES = 1 << 20
UNACKNOWLEDGED_S_MAX = 45.0  # a dead link is noticed sooner

_OVERHEAD = 256  # what a packet costs a buffer in addition to its body
_PROBE_AFTER_TIMEOUTS = 2
_WINDOW_NEWS = 16  # a change of the window by one part in this many is worth telling


class ChannelMessage(NamedTuple):
    """The head and body of one channel packet."""

    head: JsonObject
    body: bytes


class NumberedMessage:
    """A packet of ours that the peer has not acknowledged."""

    __slots__ = ("arrived", "lost", "message", "path", "sent_s", "seq", "times")

    def __init__(self, seq: int, message: ChannelMessage) -> None:
        self.seq = seq
        self.message = message
        self.sent_s = 0.0
        self.times = 0
        self.path: Path | None = None  # that it took last
        self.arrived = False  # ahead of a gap
        self.lost = False  # waits to be repeated


class ReliableSender:
    """Our packets, from the application's hand to the peer's acknowledgement."""

    __slots__ = (
        "_acked",
        "_flight",
        "_flight_bytes",
        "_is_lax",
        "_lost",
        "_next",
        "_outstanding",
        "_pace",
        "_queue",
        "_silent_since_s",
        "_was_acknowledged",
        "_window",
        "buffered",
        "round_trip",
    )

    def __init__(self, *, is_lax: bool, rtt: float | None = None) -> None:
        self._is_lax = is_lax
        self._next = 1
        self._acked = 0
        self._queue: deque[NumberedMessage] = deque()
        self._flight: dict[
            int, NumberedMessage
        ] = {}  # every number from the acknowledged to the queue
        self._flight_bytes = 0
        self._outstanding = 0  # of these, neither arrived nor lost
        self._lost: deque[NumberedMessage] = deque()
        self._window = WINDOW_DEFAULT
        self._pace = ChannelCongestion(WINDOW_PACKETS)
        self._silent_since_s = 0.0
        self._was_acknowledged = False
        self.round_trip = RoundTrip(rtt)
        self.buffered = 0

    @property
    def has_room(self) -> bool:
        return self.buffered < SEND_BUFFER_BYTES

    @property
    def is_idle(self) -> bool:
        return not self._queue and not self._flight

    @property
    def only_end_is_open(self) -> bool:
        """Whether nothing but our bare `end` is unacknowledged; some peers forget to."""
        if self._queue or len(self._flight) != 1:
            return False
        message = self._flight[self._acked + 1].message
        return bool(message.head.get("end")) and not message.body

    def push(self, message: ChannelMessage) -> None:
        self._queue.append(NumberedMessage(self._next, message))
        self._next += 1
        self.buffered += len(message.body) + _OVERHEAD

    def due(self, now: float) -> Iterator[NumberedMessage]:
        """What to put on the wire now: the lost first, then the new as far as it may."""
        while self._lost and self._may_repeat(self._lost[0]):
            numbered = self._lost.popleft()
            if numbered.lost:  # and not acknowledged meanwhile
                numbered.lost = False
                yield self._stamped(numbered, now)
        while self._queue and self._may_send(self._queue[0]):
            numbered = self._queue.popleft()
            if not self._flight:
                self._silent_since_s = now
            self._flight[numbered.seq] = numbered
            self._flight_bytes += len(numbered.message.body)
            yield self._stamped(numbered, now)

    def acknowledged(self, ack: int, miss: Sequence[int] | None, now: float) -> None:
        """Take an `ack` and its list of gaps; raises ProtocolError for what we never sent."""
        if ack >= self._next - len(self._queue):
            raise ProtocolError("acknowledgement of a packet that was never sent")
        if ack < self._acked:
            return  # overtaken by a newer one
        self._silent_since_s = now
        self._was_acknowledged = True
        is_limited = 2 * self._outstanding >= self._pace.packets
        arrived = self._release(ack)
        if miss is not None:
            arrived += self._missed(miss, now)
        if arrived:
            self._measure(arrived, now)
            if is_limited:
                self._pace.arrived(len(arrived))

    @property
    def deadline(self) -> float | None:
        """When `expire` has something to do."""
        oldest = self._flight.get(self._acked + 1)
        return None if oldest is None else oldest.sent_s + self.round_trip.timeout

    def is_peer_silent(self, now: float) -> bool:
        """Whether the peer has been silent for a timeout, though it should have answered."""
        return now - self._silent_since_s >= self.round_trip.timeout

    def expire(self, now: float) -> bool:
        """Repeat what has waited too long; False once the peer has been silent for good."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return True
        # A lax peer whose reader is slow sends nothing at all; its link shows whether it lives.
        if now - self._silent_since_s >= UNACKNOWLEDGED_S_MAX and not (
            self._is_lax and self._was_acknowledged
        ):
            return False
        timeout = self.round_trip.timeout
        is_silent = self.is_peer_silent(now)
        self._repeat(
            [n for n in self._flight.values() if n.sent_s + timeout <= now], is_noise=is_silent
        )
        if is_silent:
            self._pace.silent()
        self.round_trip.back_off()
        if self._is_lax and self.round_trip.backed_off == _PROBE_AFTER_TIMEOUTS:
            self._probe()
        return True

    def path_failed(self, path: Path, rtt: float | None) -> None:
        """What took that path is due at once on another, whose round trip this is (R9)."""
        taken = [n for n in self._flight.values() if n.path == path]
        if taken:
            self._repeat(taken, is_noise=True)
            # Measurements of the old path, its silence above all, do not apply to the next.
            self._pace, self.round_trip = ChannelCongestion(WINDOW_PACKETS), RoundTrip(rtt)

    def _probe(self) -> None:
        """An empty packet: a lax peer answers a new number, never a repeated one."""
        last = self._flight[self._next - 1 - len(self._queue)]
        if not self._queue and not last.message.head.get("end"):
            self.push(ChannelMessage({}, b""))

    def _may_send(self, numbered: NumberedMessage) -> bool:
        if not self._flight:
            return True  # one packet also probes a closed window
        return (
            self._outstanding < self._pace.packets
            and numbered.seq <= self._acked + self._window
            and self._flight_bytes < WINDOW_BYTES
        )

    def _may_repeat(self, numbered: NumberedMessage) -> bool:
        """Within the pace; but the first gap holds up everything, so it never waits."""
        return self._outstanding < self._pace.packets or numbered.seq <= self._acked + 1

    def _stamped(self, numbered: NumberedMessage, now: float) -> NumberedMessage:
        numbered.sent_s = now
        numbered.times += 1
        self._outstanding += 1
        return numbered

    def _release(self, ack: int) -> list[NumberedMessage]:
        """Let go of what is acknowledged; returns what was not known to have arrived."""
        arrived = []
        for seq in range(self._acked + 1, ack + 1):
            numbered = self._flight.pop(seq)
            size = len(numbered.message.body)
            self._flight_bytes -= size
            self.buffered -= size + _OVERHEAD
            if not numbered.arrived:
                self._outstanding -= not numbered.lost
                numbered.lost = False
                arrived.append(numbered)
        if ack > self._acked:
            self.round_trip.backed_off = 0
            self._acked = ack
        return arrived

    def _missed(self, miss: Sequence[int], now: float) -> list[NumberedMessage]:
        """Take a list of gaps; returns what it shows to have arrived."""
        was_closed, self._window = self._window == 0, sum(miss)
        listed = list(accumulate(miss[:-1], initial=self._acked))[1:]
        arrived = [] if self._is_lax else self._ahead_of(listed)
        if self._is_lax:
            listed.append(self._acked + 1)  # which it never lists
        late = now - self.round_trip.repeat_after
        gaps = [n for seq in set(listed) if (n := self._flight.get(seq)) is not None]
        self._repeat([n for n in gaps if n.sent_s <= late], is_noise=False)
        if was_closed and self._window:
            # They were dropped by a closed window, which is no sign of congestion on the path.
            self._repeat(self._flight.values(), is_noise=True)
        return arrived

    def _ahead_of(self, listed: list[int]) -> list[NumberedMessage]:
        """What has arrived beyond the first gap: all below the last one that is not listed."""
        gaps, arrived = set(listed), []
        sent = self._next - 1 - len(self._queue)
        for seq in range(self._acked + 1, min(listed[-1] if listed else 0, sent + 1)):
            numbered = self._flight[seq]
            if not numbered.arrived and seq not in gaps:
                self._outstanding -= not numbered.lost
                numbered.arrived, numbered.lost = True, False
                arrived.append(numbered)
        return arrived

    def _measure(self, arrived: list[NumberedMessage], now: float) -> None:
        """The newest of what arrived tells the round trip, unless it was sent more than once."""
        repeated = [numbered for numbered in arrived if numbered.times > 1]
        if self._is_lax and repeated:
            return  # the others may have waited for it
        for numbered in repeated:
            if self.round_trip.is_too_quick(now - numbered.sent_s):
                self._pace.was_hasty()
        newest = max(arrived, key=lambda numbered: numbered.sent_s)
        if newest.times == 1:
            self.round_trip.sample(now - newest.sent_s, now)

    def _repeat(self, doubtful: Iterable[NumberedMessage], *, is_noise: bool) -> None:
        lost = [n for n in doubtful if not n.lost and not n.arrived]
        if not lost:
            return
        for numbered in lost:
            numbered.lost = True
        self._outstanding -= len(lost)
        self._lost = deque(sorted((*self._lost, *lost), key=lambda numbered: numbered.seq))
        if not is_noise:
            sent = self._next - 1 - len(self._queue)
            has_queue = self.round_trip.has_queue
            self._pace.lost(len(lost), acked=self._acked, sent=sent, has_queue=has_queue)


class ReliableReceiver:
    """The peer's packets, from the wire to the application's hand, in order and once."""

    __slots__ = (
        "_advertised",
        "_ahead",
        "_capacity",
        "_edge",
        "_highest",
        "_is_lax",
        "_next",
        "_ready",
        "ended",
        "held",
    )

    def __init__(self, *, is_lax: bool) -> None:
        self._is_lax = is_lax
        self._next = 1
        self._ahead: dict[int, ChannelMessage] = {}
        self._highest = 0  # of what is ahead
        self._ready: deque[ChannelMessage] = deque()
        self.held = 0  # bytes, including the overhead of each packet
        self._capacity = WINDOW_PACKETS  # packets of the size seen so far that fit
        self._edge = WINDOW_PACKETS
        self._advertised: int | None = WINDOW_DEFAULT  # the window as the sender believes it to be
        self.ended = False  # the peer's last packet is in order

    @property
    def ack(self) -> int:
        return self._next - 1

    @property
    def has_news(self) -> bool:
        """Whether an acknowledgement should carry `miss`."""
        return bool(self._ahead) or self._advertised is None or self._window_moved

    @property
    def _window_moved(self) -> bool:
        assert self._advertised is not None
        return abs(self._edge - self.ack - self._advertised) * _WINDOW_NEWS >= self._capacity

    def __len__(self) -> int:
        return len(self._ready)

    def accept(self, seq: int, message: ChannelMessage) -> bool:
        """Take a packet; False when it is a repetition or there is no room for it."""
        if seq < self._next or seq in self._ahead or self.ended:
            return False
        size = len(message.body) + _OVERHEAD
        is_next = seq == self._next
        # What closes a gap may use a reserve, or a full buffer would wait for ever.
        if seq > self._edge or self.held + size > WINDOW_BYTES * (1 + is_next):
            self._advertised = None
            return False
        self.held += size
        if size * self._capacity > WINDOW_BYTES:
            self._capacity = max(WINDOW_BYTES // size, 1)
        if not is_next:
            self._ahead[seq] = message
            self._highest = max(self._highest, seq)
            return True
        self._append(message)
        while self._ahead and (following := self._ahead.pop(self._next, None)) is not None:
            self._append(following)
        self._move_edge()
        return True

    def take(self) -> ChannelMessage | None:
        """The next message for the application."""
        if not self._ready:
            return None
        message = self._ready.popleft()
        self.held -= len(message.body) + _OVERHEAD
        self._move_edge()
        return message

    def miss(self) -> list[int]:
        """Deltas to the gaps and to the edge of the window."""
        deltas, last = [], self.ack
        if self._ahead:
            unseen = self._highest + (not self._is_lax and self._highest < self._edge)
            for seq in range(self._next, unseen + 1):
                if seq not in self._ahead:
                    deltas.append(seq - last)
                    last = seq
                    if len(deltas) == GAPS_LISTED_MAX:
                        break
        deltas.append(self._edge - last)
        self._advertised = self._edge - self.ack
        return deltas

    def _append(self, message: ChannelMessage) -> None:
        self._ready.append(message)
        self._next += 1
        if message.head.get("end") is True:
            self.ended = True
            self._ahead.clear()

    def _move_edge(self) -> None:
        """Room for packets of the largest size seen, and never less than what is here already."""
        room = (WINDOW_BYTES - self.held) * self._capacity // WINDOW_BYTES
        room = min(room, WINDOW_PACKETS - len(self._ready))
        edge = self._next - 1 + room if room > 0 else self._next - 1
        self._edge = max(edge, self._highest) if self._ahead else edge
