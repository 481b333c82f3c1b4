"""Turns: which stream sends next, deficit round robin with newcomers first.

A stream that had nothing to send comes before those that have been sending all along, until it
has used up its first quantum: small messages pass bulk, and bulk is shared by priority.
"""

from collections import deque
from typing import Final

from rookery.mesh.tunnel.stream import Stream

_QUANTUM: Final = 1024  # bytes, doubled with each priority
_ALL: Final = 1 << 61  # what compiled code still counts with quickly


def quantum(stream: Stream) -> int:
    return _QUANTUM << stream.priority


class Turns:
    """Streams with something to send."""

    __slots__ = ("_new", "_old")

    def __init__(self) -> None:
        self._new: deque[Stream] = deque()
        self._old: deque[Stream] = deque()

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    @property
    def first(self) -> Stream | None:
        if self._new:
            return self._new[0]
        return self._old[0] if self._old else None

    def add(self, stream: Stream) -> None:
        if not stream.is_queued:
            stream.is_queued = True
            stream.deficit = quantum(stream)
            self._new.append(stream)

    def allowance(self, stream: Stream) -> int:
        """How much the first may send before the next one's turn; all it likes if it is alone."""
        return stream.deficit if len(self._new) + len(self._old) > 1 else _ALL

    def spent(self, stream: Stream, size: int) -> None:
        """The first has sent so much."""
        stream.deficit -= size
        if stream.deficit > 0:
            return
        stream.deficit = quantum(stream)
        if self._new:
            self._new.popleft()
        else:
            self._old.popleft()
        self._old.append(stream)

    def drop_first(self) -> None:
        """It has nothing to send for now."""
        stream = self._new.popleft() if self._new else self._old.popleft()
        stream.is_queued = False
