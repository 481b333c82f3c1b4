"""Forgotten: senders that a fleet has no more to do with, until they enrol anew.

A hub has entries in memory, in its snapshot and in its spool, so a row that is deleted here would
come back from there. What is kept instead says which entries count no more: those of that key which
enrolled up to then. Hubs hold it against all that they know, and it may be repeated.
"""

import msgspec
from sqlalchemy import Delete, and_, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.entry import FleetEntry
from rookery.store.database.database import Database
from rookery.store.database.rows import columns, parse_row
from rookery.store.database.tables import code, device, fleet_entry, forgotten


class ForgottenEntry(msgspec.Struct, frozen=True):
    """One that was forgotten."""

    sender: bytes
    hashname: str
    until: float  # wall seconds, as `at`: entries first seen later are of a new enrolment
    at: float

    def covers(self, entry: FleetEntry) -> bool:
        """Whether this entry counts no more."""
        is_it = entry.sender == self.sender and entry.hashname == self.hashname
        return is_it and entry.first_seen <= self.until


_COLUMNS = columns(forgotten, ForgottenEntry)


class ForgottenEntries:
    """All that were forgotten lately enough for a hub to remember them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, entry: FleetEntry, *, now: float) -> ForgottenEntry:
        """In one transaction: remove its owner and its entry, and revoke the codes it has used."""
        # Clocks of hubs differ: what is known by now is covered in any case.
        gone = ForgottenEntry(entry.sender, entry.hashname, max(now, entry.first_seen), now)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(forgotten).values(msgspec.structs.asdict(gone)))
            await connection.execute(delete(code).where(code.c.used_by == entry.hashname))
            await connection.execute(delete(device).where(device.c.mac == entry.sender))
            await connection.execute(_rows_of(gone))

        await self._database.write(work)
        return gone

    async def since(self, at: float) -> list[ForgottenEntry]:
        """Those forgotten from then on."""
        query = select(*_COLUMNS).where(forgotten.c.at >= at).order_by(forgotten.c.id)

        async def work(connection: AsyncConnection) -> list[ForgottenEntry]:
            return [parse_row(row, ForgottenEntry) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def written_again(self, at: float) -> list[ForgottenEntry]:
        """Those of them whose entry a hub has written since."""
        is_covered = and_(
            fleet_entry.c.sender == forgotten.c.sender,
            fleet_entry.c.hashname == forgotten.c.hashname,
            fleet_entry.c.first_seen <= forgotten.c.until,
        )
        query = select(*_COLUMNS).join(fleet_entry, is_covered).where(forgotten.c.at >= at)

        async def work(connection: AsyncConnection) -> list[ForgottenEntry]:
            return [parse_row(row, ForgottenEntry) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def erase(self, gone: ForgottenEntry) -> None:
        """Its entry, once more."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(_rows_of(gone))

        await self._database.write(work)

    async def purge(self, before: float) -> int:
        """Those that no hub remembers any more; says how many."""

        async def work(connection: AsyncConnection) -> int:
            statement = delete(forgotten).where(forgotten.c.at < before)
            return (await connection.execute(statement)).rowcount

        return await self._database.write(work)


def _rows_of(gone: ForgottenEntry) -> Delete:
    return delete(fleet_entry).where(
        fleet_entry.c.sender == gone.sender,
        fleet_entry.c.hashname == gone.hashname,
        fleet_entry.c.first_seen <= gone.until,
    )
