"""Entry removal: senders leave the registry on request, or after long silence without an owner.

    database: forgotten ─ every second, and at the start ─▶ hot store, database
    database: devices without an owner, silent for long ─ every hour ─▶ the same

A report in progress may bring an entry back, and a hub that restarts reads it from its snapshot or
spool. So removals of the last hour are applied again and again, and those of the last month once at
the start.
"""

import asyncio
import contextlib
import logging

from rookery.errors import UnreachableError
from rookery.hub.clock import HubClock
from rookery.store.database.database import Database
from rookery.store.fleet.entries import Entries
from rookery.store.fleet.forgotten import ForgottenEntries, ForgottenEntry
from rookery.store.hot.hot_store import HotStore

LOOK_S = 1.0
LATELY_S = 3600.0
KEPT_S = 30 * 86_400.0
EXPIRE_S = 3600.0  # between looks for devices without an owner
CHUNK = 500

_PAUSE_S = 0.02

_log = logging.getLogger(__name__)


class EntryRemoval:
    """`catch_up` before listening; then `run`."""

    def __init__(
        self, database: Database, hot: HotStore, clock: HubClock, unclaimed_s: float
    ) -> None:
        """`unclaimed_s`: silence after which a device without an owner is forgotten; 0: never."""
        self._forgotten = ForgottenEntries(database)
        self._entries = Entries(database)
        self._hot = hot
        self._clock = clock
        self._unclaimed_s = unclaimed_s
        self.forgotten = 0
        self.expired = 0

    async def catch_up(self) -> None:
        """Apply the removals made while this hub was down."""
        now = self._clock.now()
        await self._forgotten.purge(now - KEPT_S)
        await self._apply(now - KEPT_S)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._forget())
            if self._unclaimed_s:
                tasks.create_task(self._expire())

    async def expire(self) -> None:
        """Remove devices without an owner that have been silent for too long."""
        before = self._clock.now() - self._unclaimed_s
        while senders := await self._entries.unclaimed(before, limit=CHUNK):
            held = await self._hot.entries(senders)
            for sender, entry in zip(senders, held, strict=True):
                if entry is None or entry.last_seen < before:
                    await self._entries.remove(sender)
                    self.expired += 1
                if entry is not None and entry.last_seen < before:
                    await self._hot.remove(entry)
            if any(entry is not None and entry.last_seen >= before for entry in held):
                return  # they report again, and the database does not know it yet
            _log.info("forgot %d devices without an owner that were silent", len(senders))
            await asyncio.sleep(_PAUSE_S)

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(UnreachableError):  # the next time, then
                await self._apply(self._clock.now() - LATELY_S)

    async def _expire(self) -> None:
        """First after an hour: devices that were silent while the hub was down may report."""
        while True:
            steps = self._clock.steps
            await asyncio.sleep(EXPIRE_S)
            if self._clock.steps != steps:
                continue  # the clock was set: how long ago anything was is unknown
            with contextlib.suppress(UnreachableError):
                await self.expire()

    async def _apply(self, since: float) -> None:
        gone = await self._forgotten.since(since)
        for start in range(0, len(gone), CHUNK):
            await self._drop(gone[start : start + CHUNK])
        for each in await self._forgotten.written_again(since):
            await self._forgotten.erase(each)

    async def _drop(self, gone: list[ForgottenEntry]) -> None:
        held = await self._hot.entries([each.sender for each in gone])
        for each, entry in zip(gone, held, strict=True):
            if entry is not None and each.covers(entry):
                self.forgotten += await self._hot.remove(entry)
