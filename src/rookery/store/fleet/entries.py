"""Entries in the database: what every hub believes of a sender once its memory is gone."""

from collections.abc import AsyncIterator, Sequence
from functools import cache
from operator import attrgetter

import msgspec
from sqlalchemy import ColumnElement, Dialect, Select, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.entry import FleetEntry
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, Columns, columns, upsert
from rookery.store.database.tables import Unsigned64, device, fleet_entry, signed

CHUNK = 1000
SAVED_AT_ONCE = 500  # few milliseconds in which the loop does nothing else

_COLUMNS = columns(fleet_entry, FleetEntry)
_UNSIGNED = [
    index
    for index, name in enumerate(FleetEntry.__struct_fields__)
    if isinstance(fleet_entry.c[name].type, Unsigned64)
]


class Entries:
    """All of them are read once when a hub starts, and written in batches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        """In the order asked for."""
        found: dict[bytes, FleetEntry] = {}
        for start in range(0, len(senders), CHUNK):
            chunk = senders[start : start + CHUNK]
            query = select(*_COLUMNS).where(fleet_entry.c.sender.in_(chunk))
            found |= {entry.sender: entry for entry in await self._read(query)}
        return [found.get(one) for one in senders]

    async def load_all(self, kind: str | None = None) -> AsyncIterator[list[FleetEntry]]:
        """In chunks, ordered by sender; each chunk is a read of its own."""
        last = b""
        while True:
            query = select(*_COLUMNS).where(fleet_entry.c.sender > last)
            if kind is not None:
                query = query.where(fleet_entry.c.kind == kind)
            chunk = await self._read(query.order_by(fleet_entry.c.sender).limit(CHUNK))
            if not chunk:
                return
            yield chunk
            last = chunk[-1].sender

    async def save_many(self, entries: Sequence[FleetEntry]) -> None:
        """Keep them all, except where what is there was changed later by another hub."""
        # In one order, so that two hubs with the same devices do not lock each other out.
        ordered = sorted(entries, key=attrgetter("sender"))
        for start in range(0, len(ordered), SAVED_AT_ONCE):
            await self._save([_values(entry) for entry in ordered[start : start + SAVED_AT_ONCE]])

    async def _save(self, rows: list[tuple[object, ...]]) -> None:
        async def work(connection: AsyncConnection) -> None:
            # Compiled once and by hand: half a hub's registry may change between two saves.
            statement = _statement(connection.dialect)
            await connection.exec_driver_sql(statement, rows)

        await self._database.write(work)

    async def count(self, kind: str) -> int:
        query = select(func.count()).select_from(fleet_entry).where(fleet_entry.c.kind == kind)

        async def work(connection: AsyncConnection) -> int:
            return int(await connection.scalar(query) or 0)

        return await self._database.read(work)

    async def unclaimed(self, before: float, *, limit: int = CHUNK) -> list[bytes]:
        """Devices without an owner and without a report since then, the longest silent first."""
        query = (
            select(fleet_entry.c.sender)
            .outerjoin(device, device.c.mac == fleet_entry.c.sender)
            .where(fleet_entry.c.kind == "router", fleet_entry.c.last_seen < before)
            .where(device.c.mac.is_(None))
            .order_by(fleet_entry.c.last_seen)
            .limit(limit)
        )

        async def work(connection: AsyncConnection) -> list[bytes]:
            return [bytes(one) for one in await connection.scalars(query)]

        return await self._database.read(work)

    async def of(self, hashname: str) -> list[FleetEntry]:
        """Those of a key: a server has one, a key may be used for several devices."""
        return await self._read(select(*_COLUMNS).where(fleet_entry.c.hashname == hashname))

    async def remove(self, one: bytes) -> bool:
        """So that another key may enrol under its id; False when there is none."""

        async def work(connection: AsyncConnection) -> bool:
            statement = delete(fleet_entry).where(fleet_entry.c.sender == one)
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def _read(self, query: Select[*tuple[object, ...]]) -> list[FleetEntry]:
        async def work(connection: AsyncConnection) -> list[FleetEntry]:
            return [_entry(row) for row in await connection.execute(query)]

        return await self._database.read(work)


def _is_later(there: Columns, coming: Columns) -> ColumnElement[bool]:
    """Either suffices: versions may start anew with a hot store, and clocks may step back."""
    return or_(coming["version"] > there["version"], coming["last_seen"] >= there["last_seen"])


@cache
def _statement(dialect: Dialect) -> str:
    upserting = upsert(dialect, fleet_entry, _is_later)
    return str(upserting.compile(dialect=dialect, column_keys=list(FleetEntry.__struct_fields__)))


def _values(entry: FleetEntry) -> tuple[object, ...]:
    """In the order of the statement."""
    values: list[object] = list(msgspec.structs.astuple(entry))
    for index in _UNSIGNED:
        value = values[index]
        assert isinstance(value, int)
        values[index] = signed(value)
    return tuple(values)


def _entry(row: AnyRow) -> FleetEntry:
    return msgspec.convert(tuple(row), FleetEntry)
