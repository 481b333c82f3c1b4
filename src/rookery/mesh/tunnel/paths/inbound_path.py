"""Inbound path: which packets arrived, and when they must be acknowledged."""

from typing import Final

from rookery.mesh.tunnel.streams.ranges import Ranges
from rookery.wire.mesh.tunnel_data import (
    ACK_HEADER_SIZE,
    RANGE_SIZE,
    RANGES_MAX,
    TunnelAck,
    ack_of_one,
)

ACK_DELAY_S: Final = 0.005

_KNOWN_MAX: Final = 256  # ranges; what lies below counts as known
_ACK_PACKETS: Final = 4
_ACK_LARGE: Final = 3  # fewer than the sender may have under way at the least, so that it goes on
_ACK_SIZE: Final = 32768
_DELAY_US_MAX: Final = 2**32 - 1
_FORGET_S: Final = 2.0  # what is missing for longer was given up by its sender


class InboundPath:
    """Packets that carry one of the peer's path numbers."""

    __slots__ = (
        "_floor",
        "_forget_at",
        "_forget_to",
        "_largest",
        "_largest_at",
        "_marks",
        "_numbers",
        "_waiting",
        "_waiting_size",
        "due_at",
        "duplicates",
        "path_id",
        "reply_path",
    )

    def __init__(self, path_id: int) -> None:
        self.path_id = path_id
        self.reply_path = 0  # ours, by which the last one came
        self.due_at: float | None = None
        self.duplicates = 0
        self._numbers = Ranges()
        self._floor = 1
        self._largest = 0
        self._largest_at = 0.0
        self._marks = 0
        self._forget_at = 0.0
        self._forget_to = 1
        self._waiting = 0  # packets that were not acknowledged yet
        self._waiting_size = 0

    def is_known(self, number: int) -> bool:
        if number > self._largest:
            return False
        if number < self._floor or number in self._numbers:
            self.duplicates += 1
            return True
        return False

    def arrived(self, number: int, size: int, now: float, *, is_marked: bool) -> None:
        """Note a packet; its acknowledgement is due at once or within `ACK_DELAY_S`."""
        is_gap = number != self._largest + 1
        self._numbers.add(number, number + 1)
        if len(self._numbers) > _KNOWN_MAX:
            self._floor = self._numbers.drop_first()
        if number > self._largest:
            self._largest, self._largest_at = number, now
        if is_marked:
            self._marks += 1
        self._waiting += 1
        self._waiting_size += size
        is_much = self._waiting_size >= _ACK_SIZE and self._waiting >= _ACK_LARGE
        if is_gap or is_much or self._waiting >= _ACK_PACKETS:
            self.due_at = now
        elif self.due_at is None:
            self.due_at = now + ACK_DELAY_S

    def ack(self, now: float, room: int) -> bytes | None:
        """The acknowledgement to send, newest ranges first as far as they fit."""
        if now >= self._forget_at:
            self._forget(now)
        count = min(RANGES_MAX, (room - ACK_HEADER_SIZE) // RANGE_SIZE)
        if count < 1:
            return None
        self._waiting = self._waiting_size = 0
        self.due_at = None
        delay_us = min(int((now - self._largest_at) * 1e6), _DELAY_US_MAX)
        if len(self._numbers) == 1:
            first, end = self._numbers.first
            return ack_of_one(self.path_id, first, end - 1, delay_us, self._marks)
        ranges = tuple([(start, end - 1) for start, end in self._numbers.falling(count)])
        return TunnelAck(self.path_id, ranges, delay_us, self._marks).serialize()

    def _forget(self, now: float) -> None:
        """Forget old gaps, which would otherwise be reported for ever."""
        numbers = self._numbers
        while len(numbers) > 1 and numbers.first[1] <= self._forget_to:
            self._floor = numbers.drop_first()
        self._forget_to = self._largest
        self._forget_at = now + _FORGET_S
