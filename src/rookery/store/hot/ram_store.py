"""Hot store in memory: for one hub, as fast as dictionaries are.

Its methods are coroutines only to be a HotStore: none of them waits, so a batch of reports is read,
decided and put back without another task in between. A snapshot file is written every minute and at
the end; a hub that dies between two of them has the database and its spool.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Self

from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.runtime import atomic_file
from rookery.store.hot import snapshot
from rookery.store.hot.hot_store import ENTRIES_MAX, SCAN_CHUNK
from rookery.store.hot.ram_wishes import RamWishes

SNAPSHOT_INTERVAL_S = 60.0

_log = logging.getLogger(__name__)


class RamHotStore:
    """`await RamHotStore.open(snapshot)`, or `RamHotStore()` for one without a snapshot."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, entries_max: int = ENTRIES_MAX
    ) -> None:
        self._clock = clock
        self._entries_max = entries_max
        self._entries: dict[bytes, FleetEntry] = {}
        self._servers: dict[bytes, FleetEntry] = {}  # those among them, of which there are few
        self._wishes = RamWishes(clock)
        self._taken = _ExpiringSet(clock)
        self._reserved: dict[str, _ExpiringSet] = {}
        self._snapshot: Path | None = None
        self._writer: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, snapshot_file: Path, *, interval_s: float = SNAPSHOT_INTERVAL_S) -> Self:
        """Go on where the snapshot ends, and keep it fresh."""
        hot = cls()
        await hot.restore(await asyncio.to_thread(snapshot.load, snapshot_file))
        hot._snapshot = snapshot_file
        hot._writer = asyncio.get_running_loop().create_task(hot._write_often(interval_s))
        return hot

    async def close(self) -> None:
        """Write the last snapshot."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
            self._writer = None
            await self.write_snapshot()

    async def ready(self) -> bool:
        return True

    # Entries

    async def entries(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        return list(map(self._entries.get, senders))

    async def put(self, entries: Sequence[FleetEntry]) -> list[bool]:
        held = self._entries
        results = []
        for entry in entries:
            sender = entry.sender
            known = held.get(sender)
            if known is not entry:
                may_keep = (
                    len(held) < self._entries_max
                    if known is None
                    else known.version == entry.version
                )
                if not may_keep:
                    results.append(False)
                    continue
                held[sender] = entry
                if entry.kind == "server":
                    self._servers[sender] = entry
            entry.version += 1
            results.append(True)
        return results

    async def remove(self, entry: FleetEntry) -> bool:
        known = self._entries.get(entry.sender)
        if known is None or known.version != entry.version:
            return False
        del self._entries[entry.sender]
        self._servers.pop(entry.sender, None)
        return True

    async def room(self) -> int:
        return self._entries_max - len(self._entries)

    async def restore(self, entries: Sequence[FleetEntry]) -> int:
        count = 0
        for entry in entries:
            known = self._entries.get(entry.sender)
            if known is None or known.last_seen < entry.last_seen:
                self._keep(entry)
                count += 1
        return count

    def _keep(self, entry: FleetEntry) -> None:
        self._entries[entry.sender] = entry
        if entry.kind == "server":
            self._servers[entry.sender] = entry

    async def all(self, kind: str) -> list[FleetEntry]:
        held = self._servers if kind == "server" else self._entries
        return [entry for entry in held.values() if entry.kind == kind]

    async def scan(self, kind: str) -> AsyncIterator[list[FleetEntry]]:
        for chunk in _chunks(await self.all(kind)):
            yield chunk

    # Wishes

    async def wishes(self, devices: Sequence[bytes]) -> list[int | None]:
        if not self._wishes:
            return [None] * len(devices)
        return [self._wishes.oldest(device) for device in devices]

    async def add_wish(self, wish: Wish, seconds: float) -> Wish:
        return self._wishes.add(wish, seconds)

    async def wish(self, wish: int) -> Wish | None:
        return self._wishes.find(wish)

    async def end_wish(self, wish: int) -> None:
        self._wishes.end(wish)

    async def add_step(self, step: WishStep) -> None:
        self._wishes.add_step(step)

    def steps(self, wish: int) -> AsyncIterator[WishStep]:
        return self._wishes.steps(wish)

    # Leases and reservations

    async def take(self, key: str, seconds: float) -> bool:
        return self._taken.add(key, seconds)

    async def release(self, key: str) -> None:
        self._taken.discard(key)

    async def reserved(self, server: str) -> int:
        seats = self._reserved.get(server)
        return seats.count() if seats else 0

    async def reserve(self, server: str, seat: str, seconds: float) -> None:
        seats = self._reserved.setdefault(server, _ExpiringSet(self._clock))
        seats.discard(seat)
        seats.add(seat, seconds)

    async def unreserve(self, server: str, seat: str) -> None:
        if seats := self._reserved.get(server):
            seats.discard(seat)

    # Snapshot

    async def write_snapshot(self) -> None:
        """Replace the snapshot; a disk that refuses is reported, and the old one stays."""
        if self._snapshot is None:
            return
        frames = []
        for chunk in _chunks(list(self._entries.values())):
            frames.append(snapshot.frame(chunk))
            await asyncio.sleep(0)  # reports are answered in between
        try:
            await asyncio.to_thread(atomic_file.replace, self._snapshot, snapshot.serialize(frames))
        except OSError as error:
            _log.warning("no snapshot at %s: %s", self._snapshot, error)

    async def _write_often(self, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            await self.write_snapshot()


class _ExpiringSet:
    """A set with members that expire."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._sweep_at = 0.0

    def add(self, key: str, seconds: float) -> bool:
        """False when it is there already."""
        now = self._clock()
        if now >= self._sweep_at:
            self._sweep(now)
        if self._until.get(key, now) > now:
            return False
        self._until[key] = now + seconds
        return True

    def discard(self, key: str) -> None:
        self._until.pop(key, None)

    def count(self) -> int:
        self._sweep(self._clock())
        return len(self._until)

    def _sweep(self, now: float) -> None:
        """Once a second at most for a growing set, however often it is added to."""
        self._sweep_at = now + 1.0
        for key in [key for key, until in self._until.items() if until <= now]:
            del self._until[key]


def _chunks(entries: list[FleetEntry]) -> Iterable[list[FleetEntry]]:
    return (entries[start : start + SCAN_CHUNK] for start in range(0, len(entries), SCAN_CHUNK))
