"""The half of a stream that this side receives: reassembly in bounded memory."""

from bisect import bisect_right, insort
from collections import deque
from typing import Final

from rookery.errors import ProtocolError

_GATHER_BELOW: Final = 512  # smaller pieces share a chunk
_GATHER_MAX: Final = 16384
_LARGE: Final = 16384  # a chunk that is handed on as it is, since to join it would be to copy it

Chunk = bytes | bytearray | memoryview


class ReceiveHalf:
    """Reassembles bytes in order; of overlapping data the first to arrive counts."""

    __slots__ = (
        "_chunks",
        "_pieces",
        "_starts",
        "arrived",
        "code",
        "highest",
        "is_stopped",
        "overlapping",
        "read_to",
        "size",
    )

    def __init__(self) -> None:
        self.arrived = 0  # all before it came
        self.highest = 0  # nothing behind it came
        self.read_to = 0
        self.size: int | None = None
        self.code: int | None = None  # the sender gave up
        self.is_stopped = False  # the program reads no more
        self.overlapping = 0  # bytes that came more than once
        self._chunks: deque[Chunk] = deque()
        self._pieces: dict[int, Chunk] = {}
        self._starts: list[int] = []

    @property
    def pieces(self) -> int:
        return len(self._starts)

    @property
    def is_complete(self) -> bool:
        return self.arrived == self.size

    @property
    def is_over(self) -> bool:
        """True if nothing more will arrive or be read."""
        return self.code is not None or (self.arrived == self.size == self.read_to)

    def accept(self, offset: int, data: bytes | memoryview, *, fin: bool) -> None:
        """Take in data; ProtocolError when it contradicts the stream's known end."""
        end = offset + len(data)
        self.check_size(end, fin=fin)
        if end > self.highest:
            self.highest = end
        if self.code is not None:
            return
        if offset == self.arrived and not self._starts:
            if end > offset:
                self._append(data)
        else:
            self._insert(offset, end, data)
        if self.is_stopped:
            self._discard()

    def check_size(self, end: int, *, fin: bool) -> None:
        """ProtocolError when an end contradicts what is known of the stream's size."""
        if self.size is None:
            if not fin:
                return
            if end < self.highest:
                raise ProtocolError("a stream ends before what came of it")
            self.size = end
        elif end > self.size or (fin and end != self.size):
            raise ProtocolError("a stream with two ends")

    def needs_piece(self, offset: int) -> bool:
        """True if bytes at this offset are out of order."""
        return offset > self.arrived

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty when none are there."""
        data = self.take(size)
        return data if isinstance(data, bytes) else bytes(data)

    def take(self, size: int) -> Chunk:
        """Like `read`, without a copy: the bytes may be kept, and must not be changed."""
        chunks = self._chunks
        parts: list[Chunk] = []
        while chunks and size:
            chunk = chunks[0]
            if parts and len(chunk) >= _LARGE:
                break
            chunks.popleft()
            if len(chunk) > size:
                view = memoryview(chunk)
                chunks.appendleft(view[size:])
                chunk = view[:size]
            size -= len(chunk)
            parts.append(chunk)
            if len(chunk) >= _LARGE:
                break
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self.read_to += len(data)
        return data

    def reset(self, code: int, size: int) -> None:
        self.check_size(size, fin=True)
        self.highest = size
        self.code = code
        self._discard()

    def stop(self) -> None:
        """Count everything that arrives as read."""
        self.is_stopped = True
        self._discard()

    def _discard(self) -> None:
        self._chunks.clear()
        if self.code is not None:
            self._pieces.clear()
            self._starts.clear()
            self.arrived = self.highest
        self.read_to = self.arrived

    def _append(self, data: bytes | bytearray | memoryview) -> None:
        size = len(data)
        self.arrived += size
        if size < _GATHER_BELOW:
            last = self._chunks[-1] if self._chunks else None
            if isinstance(last, bytearray) and len(last) < _GATHER_MAX:
                last += data
                return
        self._chunks.append(_kept(data))

    def _insert(self, offset: int, end: int, data: bytes | memoryview) -> None:
        """Keep the new parts, then make what is in order readable."""
        first, stored = offset, 0
        offset = max(offset, self.arrived)
        at = bisect_right(self._starts, offset)
        if at and offset < end:
            before = self._starts[at - 1]
            offset = max(offset, before + len(self._pieces[before]))
        while offset < end:
            following = self._starts[at] if at < len(self._starts) else end
            stop = min(end, following)
            if stop > offset:
                stored += stop - offset
                at += self._store(offset, data[offset - first : stop - first])
            if at < len(self._starts):
                offset = max(stop, self._starts[at] + len(self._pieces[self._starts[at]]))
                at += 1
            else:
                offset = stop
        self.overlapping += len(data) - stored
        self._move()

    def _store(self, offset: int, data: bytes | memoryview) -> int:
        """How many pieces were added: 0 when the previous piece was extended."""
        at = bisect_right(self._starts, offset)
        if at and len(data) < _GATHER_BELOW:
            before = self._starts[at - 1]
            piece = self._pieces[before]
            touches = before + len(piece) == offset
            if touches and isinstance(piece, bytearray) and len(piece) < _GATHER_MAX:
                piece += data
                return 0
        insort(self._starts, offset)
        self._pieces[offset] = _kept(data)
        return 1

    def _move(self) -> None:
        count = 0
        for start in self._starts:
            if start != self.arrived:
                break
            self._append(self._pieces.pop(start))
            count += 1
        del self._starts[:count]


def _kept(data: bytes | bytearray | memoryview) -> Chunk:
    if len(data) < _GATHER_BELOW:
        return bytearray(data)
    if isinstance(data, memoryview) and 2 * len(data) < _whole_size(data):
        return bytes(data)  # a view would keep a packet in memory that is much larger
    return data


def _whole_size(view: memoryview) -> int:
    whole = view.obj
    return len(whole) if isinstance(whole, bytes | bytearray) else 0
