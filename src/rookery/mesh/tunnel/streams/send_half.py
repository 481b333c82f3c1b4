"""Send half of a stream: its buffer, what is in flight, what was acknowledged and what was lost."""

from bisect import bisect_right
from typing import Final

from rookery.mesh.tunnel.limits import WINDOW_START
from rookery.mesh.tunnel.streams.ranges import Ranges

_GATHER_BELOW: Final = 2048  # smaller writes share a chunk
_GATHER_MAX: Final = 16384
_COMPACT_AT: Final = 64


class SendBuffer:
    """Bytes between two offsets; large writes are kept as they are, not copied."""

    __slots__ = ("_chunks", "_first", "_starts", "end")

    def __init__(self) -> None:
        self.end = 0
        self._chunks: list[bytes | memoryview | bytearray | None] = []
        self._starts: list[int] = []
        self._first = 0  # index of the first chunk that is still needed

    def append(self, data: bytes | memoryview) -> None:
        """`data` must not change any more."""
        size = len(data)
        if size < _GATHER_BELOW:
            last = self._chunks[-1] if self._chunks else None
            if isinstance(last, bytearray) and len(last) < _GATHER_MAX:
                last += data
                self.end += size
                return
        self._chunks.append(bytearray(data) if size < _GATHER_BELOW else data)
        self._starts.append(self.end)
        self.end += size

    def views(self, start: int, end: int, parts: list[bytes | memoryview]) -> None:
        """Append the bytes between two offsets to `parts`."""
        at = len(self._starts) - 1
        if at > 0 and self._starts[at] > start:
            at = bisect_right(self._starts, start, self._first) - 1
        while start < end:
            chunk, base = self._chunks[at], self._starts[at]
            assert chunk is not None, "bytes were asked for that had arrived"
            stop = min(end, base + len(chunk))
            if isinstance(chunk, bytearray):
                # A view would forbid it to grow.
                parts.append(bytes(chunk[start - base : stop - base]))
            else:
                parts.append(memoryview(chunk)[start - base : stop - base])
            start = stop
            at += 1

    def drop(self, offset: int) -> None:
        """Drop the bytes before this offset, which are acknowledged."""
        chunks, starts, first = self._chunks, self._starts, self._first
        while first < len(chunks):
            chunk = chunks[first]
            assert chunk is not None
            if starts[first] + len(chunk) > offset:
                break
            chunks[first] = None
            first += 1
        if first >= _COMPACT_AT and first * 2 >= len(chunks):
            del chunks[:first], starts[:first]
            first = 0
        self._first = first

    def clear(self) -> None:
        self._chunks, self._starts, self._first = [], [], 0


Part = tuple[int, int, bool]  # from, to, and whether the stream ends there


class SendHalf:
    """Sends every byte until it is acknowledged."""

    __slots__ = (
        "_acked",
        "_buffer",
        "_fin_due",
        "_lost",
        "base",
        "code",
        "credit",
        "is_fin_known",
        "is_reset_known",
        "sent",
        "size",
        "wants_room",
    )

    def __init__(self) -> None:
        self.base = 0  # all before it has arrived
        self.sent = 0  # all before it has been sent at least once
        self.credit = WINDOW_START
        self.size: int | None = None  # once the program has finished
        self.code: int | None = None  # once it is given up
        self.wants_room = False  # a write was cut short
        self.is_fin_known = False
        self.is_reset_known = False
        self._fin_due = False
        self._buffer = SendBuffer()
        self._acked = Ranges()
        self._lost = Ranges()

    @property
    def unsent(self) -> int:
        return self._buffer.end - self.sent

    @property
    def held(self) -> int:
        """Bytes that are not acknowledged, sent or not."""
        return self._buffer.end - self.base

    @property
    def is_over(self) -> bool:
        """True if all data and the end, or the reset, are acknowledged."""
        if self.code is not None:
            return self.is_reset_known
        return self.is_fin_known and self.base == self.size

    @property
    def has_lost(self) -> bool:
        """True if data or the end must be retransmitted."""
        return self._fin_due or len(self._lost) > 0

    @property
    def is_ready(self) -> bool:
        """True if there is something to send, apart from credit."""
        if self.code is not None:
            return False
        return self.has_lost or self.sent < min(self._buffer.end, self.credit)

    def write(self, data: bytes | memoryview, room: int) -> int:
        """How much was taken."""
        size = len(data)
        if size > room:
            self.wants_room = True
            if room <= 0:
                return 0
            self._buffer.append(memoryview(data)[:room])
            return room
        if size:
            self._buffer.append(data)
        return size

    def finish(self) -> None:
        if self.size is None and self.code is None:
            self.size = self._buffer.end
            self._fin_due = True

    def reset(self, code: int) -> None:
        """Give up: send and repeat nothing more."""
        if self.code is None:
            self.code = code
            self.wants_room = False
            self._buffer.clear()

    def next_part(self, room: int, fresh_max: int) -> Part | None:
        """Next range to send: retransmissions first, then at most `fresh_max` bytes of new data."""
        if self.code is not None:
            return None
        if self._lost:
            start, end = self._lost.first
            end = min(end, start + room)
            self._lost.remove(start, end)
            return start, end, self._ends_at(end)
        start = self.sent
        end = min(self._buffer.end, start + min(room, fresh_max))
        end = min(end, max(self.credit, start))
        fin = self._fin_due and self._ends_at(end)
        if end == start and not fin:
            return None
        self.sent = end
        return start, end, fin

    def views(self, start: int, end: int, parts: list[bytes | memoryview]) -> None:
        self._buffer.views(start, end, parts)

    def acknowledged(self, start: int, end: int, *, fin: bool) -> None:
        if fin:
            self.is_fin_known = True
            self._fin_due = False
        if self.code is not None or end <= self.base:
            return
        if start <= self.base and not self._acked:
            self.base = end
        else:
            self._acked.add(start, end)
            if self._acked.first[0] <= self.base:
                self.base = max(self.base, self._acked.drop_first())
        if self._lost:
            self._lost.remove(start, end)
        self._buffer.drop(self.base)

    def lost(self, start: int, end: int, *, fin: bool) -> None:
        """Mark a range for retransmission, except what was acknowledged meanwhile."""
        for part in self.missing(start, end):
            self._lost.add(*part)
        if fin and not self.is_fin_known and self.code is None:
            self._fin_due = True

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts that are not acknowledged."""
        start = max(start, self.base)
        if self.code is not None or start >= end:
            return []
        return self._acked.missing(start, end)

    def _ends_at(self, end: int) -> bool:
        if end != self.size or self.is_fin_known:
            return False
        self._fin_due = False
        return True
