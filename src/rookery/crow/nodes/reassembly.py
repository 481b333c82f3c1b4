"""Chunks: puts messages together again that their sender had to split.

Chunks carry no message number, but the packets they come in are numbered in a row: the number of
the first chunk, which each chunk tells, is the message's own. So messages between the same nodes
may overlap, and a chunk that comes again after its message was complete (QoS 1 repeats them) is
known. The same number with other content is a sender that began to count anew.

A message has 5 s from its first chunk. One source has room for some; beyond that its oldest goes.
"""

from collections import Counter
from typing import Final

from rookery.crow.limits import ReassemblyLimits
from rookery.crow.timer_queues import TimerQueues
from rookery.wire.crow.node import CHUNKS_MAX, MESSAGE_SIZE_MAX, NodePacket
from rookery.wire.crow.packet import QOS_MAX, SEQID_MODULUS, CrowPacket

COMPLETE_WITHIN_S: Final = 5.0


_Key = tuple[bytes, int, int, int]  # source, rid, sid, number of the first chunk


class _PartialMessage:
    """One message of which chunks are missing."""

    __slots__ = ("due", "finished", "high_id", "key", "last_id", "parts", "size")

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.due: float | None = None
        self.finished: tuple[int, ...] = ()  # hashes of the chunks, once all were there
        self.clear()

    def clear(self) -> None:
        self.parts: dict[int, bytes] = {}  # by chunk id
        self.size = 0
        self.high_id = 0
        self.last_id = CHUNKS_MAX

    def has(self, chunk_id: int, data: bytes) -> bool:
        """Whether this chunk is a copy of one that came before."""
        if chunk_id < len(self.finished):
            return self.finished[chunk_id] == hash(data)
        return self.parts.get(chunk_id) == data

    def add(self, chunk_id: int, chunk: NodePacket) -> None:
        if chunk_id in self.parts:
            self.clear()
        self.finished = ()
        self.parts[chunk_id] = chunk.data
        self.size += len(chunk.data)
        self.high_id = max(self.high_id, chunk_id)
        if not chunk.has_more:
            self.last_id = min(self.last_id, chunk_id)

    @property
    def is_complete(self) -> bool:
        return len(self.parts) == self.last_id + 1

    @property
    def contradicts_itself(self) -> bool:
        return self.size > MESSAGE_SIZE_MAX or self.high_id > self.last_id

    def finish(self) -> bytes:
        parts = [self.parts[chunk_id] for chunk_id in range(len(self.parts))]
        self.clear()
        self.finished = tuple(map(hash, parts))
        return b"".join(parts)


class MessageReassembly:
    """Incomplete messages of all senders."""

    def __init__(self, limits: ReassemblyLimits, dropped: Counter[str]) -> None:
        self._limits = limits
        self._dropped = dropped
        self._partials: dict[_Key, _PartialMessage] = {}
        self._sources: dict[bytes, dict[_Key, _PartialMessage]] = {}  # each with its oldest first
        self._size = 0
        self._timers: TimerQueues[_PartialMessage] = TimerQueues()

    def __len__(self) -> int:
        """Messages in memory."""
        return len(self._partials)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._size

    @property
    def deadline(self) -> float | None:
        return self._timers.deadline

    def add(self, chunk: NodePacket, packet: CrowPacket, source: bytes, now: float) -> bytes | None:
        """Take a chunk; the whole message once it is complete."""
        chunk_id = chunk.chunk_id
        assert chunk_id is not None
        if chunk_id >= CHUNKS_MAX or len(chunk.data) > MESSAGE_SIZE_MAX:
            self._dropped["chunk out of bounds"] += 1
            return None
        first = (packet.seqid - chunk_id) % SEQID_MODULUS
        partial = self._partial((source, chunk.rid, chunk.sid, first), len(chunk.data), now)
        if partial is None:
            self._dropped["too many chunks"] += 1
            return None
        if partial.has(chunk_id, chunk.data):
            self._dropped["copy of a chunk"] += 1
            return None
        self._size -= partial.size
        partial.add(chunk_id, chunk)
        self._size += partial.size
        if partial.contradicts_itself:
            self._dropped["chunk out of bounds"] += 1
            self._forget(partial)
        return self._finish(partial, packet.qos, now) if partial.is_complete else None

    def tick(self, now: float) -> None:
        for partial in self._timers.take_due(now):
            self._give_up(partial)

    def _partial(self, key: _Key, size: int, now: float) -> _PartialMessage | None:
        if self._size + size > self._limits.bytes_max:
            return None
        partial = self._partials.get(key)
        if partial is None:
            if not self._make_room(key[0]):
                return None
            partial = self._partials[key] = _PartialMessage(key)
            self._sources.setdefault(key[0], {})[key] = partial
            self._timers.wait(partial, COMPLETE_WITHIN_S, now)
        return partial

    def _make_room(self, source: bytes) -> bool:
        """Whether one more message may begin, after an older one had to go if need be."""
        own = self._sources.get(source, {})
        if len(own) >= self._limits.per_source_max:
            self._give_up(next(iter(own.values())))
        elif len(self._partials) >= self._limits.messages_max:
            leaving = self._first_finished() or next(iter(own.values()), None)
            if leaving is None:
                return False
            self._give_up(leaving)
        return True

    def _first_finished(self) -> _PartialMessage | None:
        for partial in self._partials.values():
            if partial.finished:
                return partial
        return None

    def _finish(self, partial: _PartialMessage, qos: int, now: float) -> bytes:
        self._size -= partial.size
        message = partial.finish()
        if qos == QOS_MAX:  # the tower lets no copy through
            self._forget(partial)
        else:
            self._timers.wait(partial, COMPLETE_WITHIN_S, now)
        return message

    def _give_up(self, partial: _PartialMessage) -> None:
        if partial.parts:
            self._dropped["incomplete message"] += 1
        self._forget(partial)

    def _forget(self, partial: _PartialMessage) -> None:
        self._size -= partial.size
        partial.clear()
        partial.due = None
        del self._partials[partial.key]
        own = self._sources[partial.key[0]]
        del own[partial.key]
        if not own:
            del self._sources[partial.key[0]]
