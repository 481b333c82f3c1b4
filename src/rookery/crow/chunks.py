"""Chunks: puts messages together again that their sender had to split.

Chunks carry no message number, so everything a node sends to another shares one place. What keeps
two messages apart is the number of the packets: a sender counts upwards, so of two chunks that
cannot belong together the older one goes. Chunks that come again after their message was complete
(QoS 1 repeats them) are known by that number, too.

A message has 5 s from its first chunk. When too many are incomplete, a new one is turned away.
"""

from collections import Counter

import msgspec

from rookery.crow.lanes import Lanes
from rookery.wire.crow_node import CHUNKS_MAX, MESSAGE_SIZE_MAX, NodePacket
from rookery.wire.crow_packet import QOS_MAX, SEQID_MODULUS, Packet

COMPLETE_WITHIN_S = 5.0
_BEHIND_MAX = 4096  # a number further back than this is from a sender that began anew


class ChunkLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the memory grow."""

    messages_max: int = 256  # incomplete, or complete and not yet forgotten
    per_source_max: int = 16
    bytes_max: int = 4 << 20


_Key = tuple[bytes, int, int]  # source, rid, sid


class _Partial:
    """One message on its way together."""

    __slots__ = ("due", "finished", "high_id", "key", "last_id", "low_id", "parts", "size")

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.due: float | None = None
        self.finished: frozenset[int] = frozenset()  # seqids of the message before
        self.parts: dict[int, tuple[int, bytes]] = {}  # seqid and data, by chunk id
        self.size = 0
        self.low_id = CHUNKS_MAX
        self.high_id = 0
        self.last_id: int | None = None

    def clear(self) -> None:
        self._keep({})

    def is_stale(self, chunk_id: int, seqid: int, qos: int) -> bool:
        """Whether this chunk is of an older message; if of a newer one, the old one is dropped."""
        if not self.parts:
            return False
        low_id = chunk_id if chunk_id in self.parts else self.low_id
        low_seqid = self.parts[low_id][0]
        is_older = _is_older(seqid, low_seqid)
        if chunk_id == low_id:
            belongs = seqid == low_seqid
        elif qos == 0:
            # Sent in one go, so numbered without a gap.
            belongs = (seqid - low_seqid - chunk_id + low_id) % SEQID_MODULUS == 0
        else:
            belongs = is_older == (chunk_id < low_id)
        if belongs:
            return False
        if not is_older:
            parts = self.parts.items()
            self._keep({each: part for each, part in parts if _is_older(seqid, part[0])})
        return is_older

    def add(self, chunk: NodePacket, chunk_id: int, seqid: int) -> None:
        if chunk_id not in self.parts:
            self.parts[chunk_id] = (seqid, chunk.data)
            self.size += len(chunk.data)
            self.low_id = min(self.low_id, chunk_id)
            self.high_id = max(self.high_id, chunk_id)
        if not chunk.has_more:
            self.last_id = chunk_id if self.last_id is None else min(self.last_id, chunk_id)

    def _keep(self, parts: dict[int, tuple[int, bytes]]) -> None:
        self.parts = parts
        self.size = sum(len(data) for _, data in parts.values())
        self.low_id = min(parts, default=CHUNKS_MAX)
        self.high_id = max(parts, default=0)
        self.last_id = self.last_id if self.last_id in parts else None

    @property
    def is_complete(self) -> bool:
        return self.last_id is not None and len(self.parts) == self.last_id + 1

    @property
    def contradicts_itself(self) -> bool:
        if self.size > MESSAGE_SIZE_MAX:
            return True
        return self.last_id is not None and self.high_id > self.last_id


def _is_older(seqid: int, other: int) -> bool:
    return 0 < (other - seqid) % SEQID_MODULUS <= _BEHIND_MAX


class Chunks:
    """Incomplete messages from everybody."""

    def __init__(self, limits: ChunkLimits, dropped: Counter[str]) -> None:
        self._limits = limits
        self._dropped = dropped
        self._partials: dict[_Key, _Partial] = {}
        self._per_source: Counter[bytes] = Counter()
        self._size = 0
        self._timers: Lanes[_Partial] = Lanes()

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

    def add(self, chunk: NodePacket, packet: Packet, source: bytes, now: float) -> bytes | None:
        """Take a chunk; the whole message once it is complete."""
        chunk_id = chunk.chunk_id
        assert chunk_id is not None
        if chunk_id >= CHUNKS_MAX or len(chunk.data) > MESSAGE_SIZE_MAX:
            self._dropped["chunk out of bounds"] += 1
            return None
        partial = self._partial((source, chunk.rid, chunk.sid), len(chunk.data), now)
        if partial is None:
            self._dropped["too many chunks"] += 1
            return None
        self._size -= partial.size
        if packet.seqid in partial.finished or partial.is_stale(chunk_id, packet.seqid, packet.qos):
            self._dropped["stale chunk"] += 1
        else:
            if not partial.parts:
                self._timers.wait(partial, COMPLETE_WITHIN_S, now)
            partial.add(chunk, chunk_id, packet.seqid)
        self._size += partial.size
        if partial.contradicts_itself:
            self._dropped["chunk out of bounds"] += 1
            self._forget(partial)
        return self._finish(partial, packet.qos, now) if partial.is_complete else None

    def tick(self, now: float) -> None:
        for partial in self._timers.take_due(now):
            if partial.parts:
                self._dropped["incomplete message"] += 1
            self._forget(partial)

    def _partial(self, key: _Key, size: int, now: float) -> _Partial | None:
        partial = self._partials.get(key)
        if partial is None:
            if not self._has_room(key[0], size):
                return None
            partial = self._partials[key] = _Partial(key)
            self._per_source[key[0]] += 1
            self._timers.wait(partial, COMPLETE_WITHIN_S, now)
        elif self._size + size > self._limits.bytes_max:
            return None
        return partial

    def _has_room(self, source: bytes, size: int) -> bool:
        limits = self._limits
        if self._per_source[source] >= limits.per_source_max:
            return False
        if len(self._partials) >= limits.messages_max:
            finished = next((each for each in self._partials.values() if not each.parts), None)
            if finished is None:
                return False
            self._forget(finished)
        return self._size + size <= limits.bytes_max

    def _finish(self, partial: _Partial, qos: int, now: float) -> bytes:
        parts = [partial.parts[chunk_id] for chunk_id in range(len(partial.parts))]
        self._size -= partial.size
        partial.clear()
        if qos == QOS_MAX:  # each came once
            self._forget(partial)
        else:
            partial.finished = frozenset(seqid for seqid, _ in parts)
            self._timers.wait(partial, COMPLETE_WITHIN_S, now)
        return b"".join(data for _, data in parts)

    def _forget(self, partial: _Partial) -> None:
        self._size -= partial.size
        partial.clear()
        partial.due = None
        source = partial.key[0]
        del self._partials[partial.key]
        self._per_source[source] -= 1
        if not self._per_source[source]:
            del self._per_source[source]
