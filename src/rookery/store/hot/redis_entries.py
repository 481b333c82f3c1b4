"""Entries in Redis, shared by all hubs; what Redis does not hold is looked up in the database.

An entry's value begins with what scripts compare:

    | version | last seen (double) | msgpack |
    |    8    |         8          |   ...   |
"""

import struct
import time
from collections.abc import AsyncIterator, Iterator, Sequence

from redis.asyncio import Redis

from rookery.fleet import entry as codec
from rookery.fleet.entry import FleetEntry
from rookery.store.hot import redis_scripts
from rookery.store.hot.hot_store import ENTRIES_MAX, SCAN_CHUNK, EntryLookup, EntryScan
from rookery.store.hot.redis_client import Argument, Script, reachable

UNKNOWN_MAX = 65_536
UNKNOWN_S = 30.0

_PREFIX = struct.Struct(">Qd")
_ITEM = struct.Struct(">6scQQd")
_DONE = ord("1")
_KEY = b"rookery:e:"
_INDEX = b"rookery:k:"
_FILLED = b"rookery:filled"


class RedisEntries:
    """Entries in Redis, with a short memory of senders that the database does not know either."""

    def __init__(
        self, client: Redis, fallback: EntryLookup | None, everything: EntryScan | None
    ) -> None:
        self._client = client
        self._fallback = fallback
        self._everything = everything
        self._put: Script = client.register_script(redis_scripts.PUT)
        self._remove: Script = client.register_script(redis_scripts.REMOVE)
        self._restore: Script = client.register_script(redis_scripts.RESTORE)
        self._unknown_until: dict[bytes, float] = {}  # sender -> no new lookup before then

    async def entries(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        found = await self._held(senders)
        missing = [one for one, entry in zip(senders, found, strict=True) if entry is None]
        if not missing:
            return found
        known = await self._look_up(missing)
        return [entry or known.get(one) for one, entry in zip(senders, found, strict=True)]

    async def put(self, entries: Sequence[FleetEntry]) -> list[bool]:
        if not entries:
            return []
        items: list[Argument] = [_KEY, _INDEX]
        for entry in entries:
            expected = entry.version
            entry.version += 1
            items.append(_item(entry, expected))
            entry.version = expected  # until it is so
        with reachable():
            done = await self._put([], items)
        assert isinstance(done, bytes)
        results = [letter == _DONE for letter in done]
        for entry, is_done in zip(entries, results, strict=True):
            entry.version += is_done
            self._unknown_until.pop(entry.sender, None)
        return results

    async def remove(self, entry: FleetEntry) -> bool:
        keys = [_KEY + entry.sender, _INDEX + _kind(entry.kind)]
        version = entry.version.to_bytes(8, "big")
        with reachable():
            return await self._remove(keys, [version, entry.sender]) == 1

    async def room(self) -> int:
        with reachable():
            counts = [await self._client.scard(_INDEX + kind) for kind in (b"r", b"s")]
        return ENTRIES_MAX - sum(counts)

    async def restore(self, entries: Sequence[FleetEntry]) -> int:
        count = 0
        for chunk in _chunks(entries):
            items: list[Argument] = [_KEY, _INDEX, *(_item(entry, 0) for entry in chunk)]
            with reachable():
                done = await self._restore([], items)
            assert isinstance(done, int)
            count += done
        return count

    async def scan(self, kind: str) -> AsyncIterator[list[FleetEntry]]:
        await self._fill()
        cursor = 0
        while True:
            with reachable():
                index = _INDEX + _kind(kind)
                cursor, senders = await self._client.sscan(index, cursor, count=SCAN_CHUNK)
            found = await self._held([one for one in senders if isinstance(one, bytes)])
            if chunk := [entry for entry in found if entry is not None]:
                yield chunk
            if not cursor:
                return

    async def _held(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        if not senders:
            return []
        with reachable():
            values = await self._client.mget([_KEY + one for one in senders])
        return [_entry(value) if isinstance(value, bytes) else None for value in values]

    async def _look_up(self, missing: list[bytes]) -> dict[bytes, FleetEntry]:
        """From the database back into Redis."""
        now = time.monotonic()
        wanted = [one for one in missing if self._unknown_until.get(one, now) <= now]
        if self._fallback is None or not wanted:
            return {}
        answers = await self._fallback(wanted)
        known = {entry.sender: entry for entry in answers if entry is not None}
        if known:
            await self.restore(list(known.values()))
        for one in wanted:
            if one not in known:
                self._unknown_until.pop(one, None)
                self._unknown_until[one] = now + UNKNOWN_S
        while len(self._unknown_until) > UNKNOWN_MAX:
            del self._unknown_until[next(iter(self._unknown_until))]
        return known

    async def _fill(self) -> None:
        """Load all entries into a Redis without the mark: it is new, or has lost its data."""
        with reachable():
            is_filled = await self._client.exists(_FILLED)
        if is_filled or self._everything is None:
            return
        async for chunk in self._everything():
            await self.restore(chunk)
        with reachable():
            await self._client.set(_FILLED, b"1")


def _item(entry: FleetEntry, expected: int) -> bytes:
    """As the scripts read it."""
    prefix = _ITEM.pack(entry.sender, _kind(entry.kind), expected, entry.version, entry.last_seen)
    return prefix + codec.encode(entry)


def _kind(kind: str) -> bytes:
    return kind[:1].encode()


def _entry(value: bytes) -> FleetEntry:
    return codec.decode(value[_PREFIX.size :])


def _chunks(entries: Sequence[FleetEntry]) -> Iterator[Sequence[FleetEntry]]:
    return (entries[start : start + SCAN_CHUNK] for start in range(0, len(entries), SCAN_CHUNK))
