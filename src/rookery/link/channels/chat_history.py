"""The messages of one chat in the order to read them, bounded in number and bytes.

Every author's messages keep that author's order. Beyond that a message stands behind the one it
names as `after`, even when that one arrives later, as happens in a full mesh of channels.
"""

from collections.abc import Iterator

import msgspec

from rookery.link.channels.chat_message import Logged


class ChatEntry(msgspec.Struct, frozen=True):
    """One message and its sender."""

    sender: str
    message: Logged

    @property
    def size(self) -> int:
        packet = self.message.packet()
        return len(packet.head) + len(packet.body)


class ChatHistory:
    """Forgets its oldest message when full."""

    def __init__(self, messages_max: int, bytes_max: int) -> None:
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._entries: list[ChatEntry] = []
        self._ids: set[str] = set()
        self._bytes = 0

    def __iter__(self) -> Iterator[ChatEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._ids

    @property
    def newest(self) -> str | None:
        """What our next message comes `after`."""
        return self._entries[-1].message.id if self._entries else None

    def of(self, sender: str) -> list[Logged]:
        return [entry.message for entry in self._entries if entry.sender == sender]

    def find(self, id_: str) -> ChatEntry | None:
        if id_ not in self._ids:
            return None
        return next(entry for entry in self._entries if entry.message.id == id_)

    def add(self, sender: str, message: Logged) -> None:
        assert message.id not in self._ids
        entry = ChatEntry(sender, message)
        self._entries.insert(self._place(entry), entry)
        self._ids.add(message.id)
        self._bytes += entry.size
        self._trim()

    def replace(self, message: Logged) -> None:
        """Put a corrected message in the place of the one with its id."""
        for index, entry in enumerate(self._entries):
            if entry.message.id == message.id:
                corrected = ChatEntry(entry.sender, message)
                self._entries[index] = corrected
                self._bytes += corrected.size - entry.size
        self._trim()

    def _place(self, new: ChatEntry) -> int:
        """Before the first message that follows it, but never before its author's own last."""
        place = len(self._entries)
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            if entry.sender == new.sender:
                break
            if entry.message.after == new.message.id:
                place = index
        return place

    def _trim(self) -> None:
        while len(self._entries) > self._messages_max or self._bytes > self._bytes_max:
            oldest = self._entries.pop(0)
            self._ids.discard(oldest.message.id)
            self._bytes -= oldest.size
