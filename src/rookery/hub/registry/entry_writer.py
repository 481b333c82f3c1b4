"""Entry writer: copies changed entries to the database, and restores them after a crash.

    start   database ─▶ hot store ◀─ spool, from the position saved with the last write
    10 s    new senders ─▶ database; all that changed, if it is not much
    60 s    all that changed ─▶ database, then the position up to which the spool is in it
            spool: what exceeds the room kept for the lake is trimmed; where a lake lands the
            spool, nothing that is not landed is trimmed, and a full spool takes nothing

Entries reach the hot store only once their reports are durable, so the database is never ahead of
the spool, and what it lacks after a crash is read from the spool. To write all devices of a large
fleet every ten seconds would cost more than to process their reports.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Iterator

import msgspec

from rookery.errors import DecodeError, UnreachableError, UsageError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.hub.clock import HubClock
from rookery.hub.reports.report_flow import ReportFlow
from rookery.hub.settings import HubSettings
from rookery.store.database.database import Database
from rookery.store.fleet.entries import Entries
from rookery.store.hot.hot_store import HotStore
from rookery.store.hubs.settings import Settings
from rookery.store.spool import watermark
from rookery.store.spool.name import SPOOL
from rookery.store.spool.spool import Spool
from rookery.wire.observation import Observation

CHUNK = 500
FEW = 2000  # entries that are written at once

_PAUSE_S = 0.02  # between chunks of a large write: reports go first

_log = logging.getLogger(__name__)


class EntryWriter:
    """`load` before listening; then `run`, and a last `flush`."""

    def __init__(
        self,
        name: str,
        settings: HubSettings,
        database: Database,
        hot: HotStore,
        spool: Spool,
        clock: HubClock,
    ) -> None:
        """`name` is that of the spool: several hubs write to one database."""
        self._name = name
        self._settings = settings
        self._entries = Entries(database)
        self._positions = Settings(database)
        self._hot = hot
        self._spool = spool
        self._clock = clock
        self._saved = 0  # position of the spool
        self._loop = asyncio.get_running_loop()
        self._all_due_at = 0.0
        self._folder = settings.data / SPOOL
        self.landed: int | None = None  # of the spool, as of the last look; None: never
        self.replayed = 0  # records, at the start
        self.written = 0  # entries
        self.failures = 0

    async def load(self, validator: ReportValidator) -> set[bytes]:
        """Bring the hot store up to date; returns the senders whose entries the database lacks."""
        if self._settings.is_hot_in_memory:
            async for chunk in self._entries.load_all():
                await self._hot.restore(chunk)
        self._saved = await self._positions.spool_position(self._name) or 0
        spooled = iter(self._spool.read(self._saved))
        changed: set[bytes] = set()
        while records := await asyncio.to_thread(lambda: list(itertools.islice(spooled, CHUNK))):
            changed |= await self._replay(validator, [record.data for record in records])
        return changed

    async def run(self, flow: ReportFlow) -> None:
        self._all_due_at = self._loop.time() + self._settings.refresh_s
        while True:
            await asyncio.sleep(self._settings.flush_s)
            with contextlib.suppress(UnreachableError):  # the next time, then
                if len(flow.dirty) <= FEW or self._loop.time() >= self._all_due_at:
                    await self.flush(flow, pause_s=_PAUSE_S)
                else:
                    await self._write(flow, flow.enrolled, pause_s=_PAUSE_S)

    async def flush(self, flow: ReportFlow, *, pause_s: float = 0.0) -> None:
        """Write all that has changed; UnreachableError leaves it to be written."""
        position = flow.settled
        flow.enrolled.clear()  # they are among those that changed
        await self._write(flow, flow.dirty, pause_s=pause_s)
        if position != self._saved:
            now = self._clock.now()
            await self._positions.save_spool_position(self._name, position, now=now)
        self._saved = position
        self._all_due_at = self._loop.time() + self._settings.refresh_s
        await self._trim(position)

    async def _trim(self, position: int) -> None:
        try:
            self.landed = await asyncio.to_thread(watermark.read, self._folder)
        except UsageError as error:  # rather too much than too little
            _log.error("the spool is not trimmed: %s", error)
            return
        kept = self._spool.position - self._settings.spool.keep_bytes
        self._spool.trim(min(position, kept if self.landed is None else min(kept, self.landed)))

    async def _write(self, flow: ReportFlow, senders: set[bytes], *, pause_s: float) -> None:
        """Take these from the set, and put them back if the database is away."""
        todo = list(senders)
        senders.clear()
        try:
            for start in range(0, len(todo), CHUNK):
                found = await self._hot.entries(todo[start : start + CHUNK])
                await self._entries.save_many([entry for entry in found if entry is not None])
                await asyncio.sleep(pause_s)
        except BaseException:
            flow.dirty.update(todo)
            self.failures += 1
            raise
        self.written += len(todo)

    async def _replay(self, validator: ReportValidator, records: list[bytes]) -> set[bytes]:
        observations = list(_parsed(records))
        self.replayed += len(observations)
        senders = list(dict.fromkeys(each.sender for each in observations))
        known = dict(zip(senders, await self._hot.entries(senders), strict=True))
        for observation in observations:
            known[observation.sender] = validator.restore(observation, known[observation.sender])
        restored: list[FleetEntry] = [entry for entry in known.values() if entry is not None]
        await self._hot.restore(restored)
        return {entry.sender for entry in restored}


def _parsed(records: list[bytes]) -> Iterator[Observation]:
    for record in records:
        with contextlib.suppress(DecodeError):  # of a newer version
            yield Observation.parse(record)


class HubBacklog(msgspec.Struct, frozen=True):
    """Sizes of what the hub has taken in and not passed on yet."""

    spool_bytes: int  # kept for the lake, landed or not
    unlanded_bytes: int | None  # not in the lake yet; None: no lake lands it
    is_full: bool  # the spool has no room for more
    unsaved_entries: int  # changed since they were written to the database
