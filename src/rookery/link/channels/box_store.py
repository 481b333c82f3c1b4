"""What a keeper holds for others: in memory, bounded in every direction, each message for a time.

    recipient ─▶ box id ─▶ messages, oldest first

A full store drops what is new, not what is old: otherwise any sender could push out all others'
messages. The sender is not told either way.
"""

from collections.abc import Iterator
from hashlib import sha256
from heapq import heapify, heappop, heappush

import msgspec

from rookery.errors import UsageError
from rookery.link.channels.box import MESSAGE_SIZE_MAX, box_id, message_id

DAY_S = 86_400
_HEAP_SLACK = 64


class BoxLimits(msgspec.Struct, frozen=True):
    """How much is kept; `lifetime_s_max` is also the default lifetime."""

    message_size_max: int = MESSAGE_SIZE_MAX
    recipient_messages_max: int = 256
    recipient_bytes_max: int = 1 << 22
    sender_messages_max: int = 256
    sender_bytes_max: int = 1 << 22
    messages_max: int = 1 << 14
    bytes_max: int = 1 << 26
    lifetime_s_max: int = 7 * DAY_S

    def __post_init__(self) -> None:
        if min(getattr(self, name) for name in self.__struct_fields__) < 1:
            raise UsageError("every limit of a box store is at least 1")


class BoxUsage:
    """Messages and bytes counted for one party."""

    __slots__ = ("messages", "size")

    def __init__(self) -> None:
        self.messages = 0
        self.size = 0

    def add(self, message: bytes, sign: int) -> None:
        self.messages += sign
        self.size += sign * len(message)

    def has_room(self, message: bytes, messages_max: int, bytes_max: int) -> bool:
        return self.messages < messages_max and self.size + len(message) <= bytes_max


class _StoredBoxMessage:
    """One message; its wire id is computed lazily, since hashing 64 KB is expensive."""

    __slots__ = ("_id", "box", "expires_at", "key", "message", "recipient", "sender")

    def __init__(self, sender: str, recipient: str, box: bytes, message: bytes) -> None:
        self.sender = sender
        self.recipient = recipient
        self.box = box
        self.message = message
        self.key = sha256(message).digest()
        self.expires_at = 0.0
        self._id: bytes | None = None

    @property
    def id(self) -> bytes:
        if self._id is None:
            self._id = message_id(self.box, self.message)
        return self._id


_Box = dict[bytes, _StoredBoxMessage]  # by the message's SHA-256, in order of arrival


class BoxStore:
    """Time is an argument: monotonic seconds."""

    def __init__(self, limits: BoxLimits | None = None) -> None:
        self.limits = limits or BoxLimits()
        self.total = BoxUsage()
        self._boxes: dict[str, dict[bytes, _Box]] = {}
        self._recipients: dict[str, BoxUsage] = {}
        self._senders: dict[str, BoxUsage] = {}
        self._expiries: list[tuple[float, str, bytes, bytes]] = []

    def put(
        self, sender: str, recipient: str, message: bytes, lifetime_s: int | None, now: float
    ) -> bool:
        """Keep a message if there is room; the same one again only lives longer."""
        self.expire(now)
        if not 0 < len(message) <= self.limits.message_size_max:
            return False
        stored = _StoredBoxMessage(sender, recipient, box_id(sender, recipient), message)
        known = self._boxes.get(recipient, {}).get(stored.box, {}).get(stored.key)
        if known is None and not self._has_room(sender, recipient, message):
            return False
        if known is None:
            self._boxes.setdefault(recipient, {}).setdefault(stored.box, {})[stored.key] = stored
            self._count(stored, +1)
        stored = known or stored
        lifetime_s_max = self.limits.lifetime_s_max
        stored.expires_at = now + min(lifetime_s or lifetime_s_max, lifetime_s_max)
        heappush(self._expiries, (stored.expires_at, recipient, stored.box, stored.key))
        self._compact()
        return True

    def boxes(self, recipient: str, now: float) -> list[bytes]:
        """The ids of the boxes in which something waits for `recipient`."""
        self.expire(now)
        return list(self._boxes.get(recipient, ()))

    def messages(self, recipient: str, box: bytes, now: float) -> list[bytes]:
        """The messages in one box, oldest first; empty also for another recipient's box."""
        self.expire(now)
        return [stored.message for stored in self._box(recipient, box).values()]

    def forget(self, recipient: str, box: bytes, id_: bytes, now: float) -> bool:
        """Drop one message; whether there was one."""
        self.expire(now)
        for stored in self._box(recipient, box).values():
            if stored.id == id_:
                self._remove(stored)
                return True
        return False

    def clear(self, recipient: str, box: bytes) -> None:
        for stored in list(self._box(recipient, box).values()):
            self._remove(stored)

    def room(self, recipient: str) -> int:
        """Bytes that would still be kept for `recipient`."""
        used = self._recipients.get(recipient, BoxUsage()).size
        return max(
            0,
            min(
                self.limits.recipient_bytes_max - used,
                self.limits.bytes_max - self.total.size,
            ),
        )

    @property
    def deadline(self) -> float | None:
        """When to call `expire`; None while nothing is kept."""
        return self._expiries[0][0] if self._expiries else None

    def expire(self, now: float) -> None:
        while self._expiries and self._expiries[0][0] <= now:
            _, recipient, box, key = heappop(self._expiries)
            stored = self._box(recipient, box).get(key)
            if stored is not None and stored.expires_at <= now:
                self._remove(stored)

    def _box(self, recipient: str, box: bytes) -> _Box:
        return self._boxes.get(recipient, {}).get(box, {})

    def _has_room(self, sender: str, recipient: str, message: bytes) -> bool:
        limits = self.limits
        return (
            self.total.has_room(message, limits.messages_max, limits.bytes_max)
            and self._recipients.get(recipient, BoxUsage()).has_room(
                message, limits.recipient_messages_max, limits.recipient_bytes_max
            )
            and self._senders.get(sender, BoxUsage()).has_room(
                message, limits.sender_messages_max, limits.sender_bytes_max
            )
        )

    def _count(self, stored: _StoredBoxMessage, sign: int) -> None:
        self.total.add(stored.message, sign)
        for table, party in ((self._recipients, stored.recipient), (self._senders, stored.sender)):
            usage = table.setdefault(party, BoxUsage())
            usage.add(stored.message, sign)
            if not usage.messages:
                del table[party]

    def _remove(self, stored: _StoredBoxMessage) -> None:
        boxes = self._boxes[stored.recipient]
        del boxes[stored.box][stored.key]
        if not boxes[stored.box]:
            del boxes[stored.box]
        if not boxes:
            del self._boxes[stored.recipient]
        self._count(stored, -1)

    def _compact(self) -> None:
        """Removed messages leave their expiry behind: drop those before they outnumber the rest."""
        if len(self._expiries) > 2 * self.total.messages + _HEAP_SLACK:
            self._expiries = [
                (stored.expires_at, stored.recipient, stored.box, stored.key)
                for stored in self._all()
            ]
            heapify(self._expiries)

    def _all(self) -> Iterator[_StoredBoxMessage]:
        for boxes in self._boxes.values():
            for box in boxes.values():
                yield from box.values()
