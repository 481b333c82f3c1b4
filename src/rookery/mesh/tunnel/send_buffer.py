"""Send buffer: the bytes of a stream from the first unacknowledged to the last written."""

from bisect import bisect_right
from typing import Final

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
        """What lies before this offset has arrived."""
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
