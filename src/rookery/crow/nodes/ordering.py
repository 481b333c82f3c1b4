"""Ordering: frames of a channel as they come, frames in order as they leave.

Ids have 16 bits and wrap. A frame that is `AHEAD_MAX` or more after the next one is taken for a
copy of an old one; a sender that keeps to its span never gets that far ahead.
"""

from collections import deque

from rookery.wire.crow.channel import FRAME_ID_MODULUS

AHEAD_MAX = 256  # frames kept that came too early
AHEAD_SIZE_MAX = 1 << 20
UNREAD_MAX = 4096  # frames kept for the reader
UNREAD_SIZE_MAX = 4 << 20


class FrameOrdering:
    """The receiving half of a channel."""

    __slots__ = ("_ahead", "_ahead_size", "_end_id", "_unread", "_unread_size", "next_id")

    def __init__(self) -> None:
        self.next_id = 0
        self._end_id: int | None = None
        self._ahead: dict[int, bytes] = {}
        self._ahead_size = 0
        self._unread: deque[bytes] = deque()
        self._unread_size = 0

    def __len__(self) -> int:
        """Frames kept, in order or not."""
        return len(self._ahead) + len(self._unread)

    def is_ahead(self, frame_id: int) -> bool:
        """Whether the frame is one that is still to come."""
        return (frame_id - self.next_id) % FRAME_ID_MODULUS < AHEAD_MAX

    def put(self, frame_id: int, data: bytes) -> bool:
        """Take a frame; False when it is a copy."""
        if not self.is_ahead(frame_id) or frame_id in self._ahead:
            return False
        self._ahead[frame_id] = data
        self._ahead_size += len(data)
        while (ready := self._ahead.pop(self.next_id, None)) is not None:
            self.next_id = (self.next_id + 1) % FRAME_ID_MODULUS
            self._ahead_size -= len(ready)
            self._unread_size += len(ready)
            self._unread.append(ready)
        return True

    def end(self, frame_id: int) -> None:
        """No frame comes from this one on."""
        self._end_id = frame_id

    @property
    def is_ended(self) -> bool:
        """Whether everything before the end is here."""
        return self._end_id == self.next_id

    @property
    def has_gap(self) -> bool:
        """Whether something is known to be missing."""
        return bool(self._ahead) or self._end_id is not None

    @property
    def is_overrun(self) -> bool:
        """Whether more came than may be kept."""
        return (
            self._ahead_size > AHEAD_SIZE_MAX
            or len(self._unread) > UNREAD_MAX
            or self._unread_size > UNREAD_SIZE_MAX
        )

    def take(self) -> bytes | None:
        """The next frame in order, if it is there."""
        if not self._unread:
            return None
        data = self._unread.popleft()
        self._unread_size -= len(data)
        return data

    def abandon(self) -> None:
        """Nothing more comes: forget what is not in order."""
        self._ahead.clear()
        self._ahead_size = 0
