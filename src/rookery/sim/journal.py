"""What happened in a world: a digest over everything, and the last events in words.

Equal seeds give equal digests, so two runs are compared by one line, and a run that went wrong is
read from its end. Packets count with their bytes; lines are formatted only on demand.
"""

from collections import deque
from hashlib import blake2b
from struct import Struct

_WHEN_AND_WHERE = Struct("<dI").pack
_BATCH = 1024  # pieces hashed at once
_DIGEST_SIZE = 16
KEPT = 200


class Journal:
    """The log of one world."""

    __slots__ = ("_hash", "_pieces", "_recent", "count")

    def __init__(self, kept: int = KEPT) -> None:
        self.count = 0
        self._hash = blake2b(digest_size=_DIGEST_SIZE)
        self._pieces: list[bytes] = []
        self._recent: deque[tuple[float, object, int]] = deque(maxlen=kept)

    def packet(self, now: float, where: object, number: int, data: bytes) -> None:
        """A packet arrived; `number` identifies `where` and is the same in every run."""
        self.count += 1
        pieces = self._pieces
        pieces.append(_WHEN_AND_WHERE(now, number))
        pieces.append(data)
        self._recent.append((now, where, len(data)))
        if len(pieces) >= _BATCH:
            self._fold()

    def note(self, now: float, what: str) -> None:
        """Anything else that happened."""
        self.count += 1
        self._pieces.append(_WHEN_AND_WHERE(now, 0))
        self._pieces.append(what.encode())
        self._recent.append((now, what, -1))

    @property
    def digest(self) -> str:
        """Of everything so far."""
        self._fold()
        return self._hash.hexdigest()

    def lines(self, count: int = KEPT) -> list[str]:
        """The last events, oldest first."""
        return [_line(*entry) for entry in list(self._recent)[-count:]]

    def _fold(self) -> None:
        self._hash.update(b"".join(self._pieces))
        self._pieces.clear()


def _line(now: float, what: object, size: int) -> str:
    return f"{now:12.6f}  {what}" if size < 0 else f"{now:12.6f}  {what}  {size} bytes"
