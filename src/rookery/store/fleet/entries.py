"""Entries in the database: what every hub believes of a reporter once its memory is gone."""

from collections.abc import AsyncIterator, Sequence
from functools import cache
from operator import attrgetter

import msgspec
from sqlalchemy import ColumnElement, Dialect, Select, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.entry import ReporterEntry
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, Columns, columns, upsert
from rookery.store.database.tables import Unsigned64, device, reporter, signed

CHUNK = 1000
SAVED_AT_ONCE = 500  # few milliseconds in which the loop does nothing else

_COLUMNS = columns(reporter, ReporterEntry)
_UNSIGNED = [
    index
    for index, name in enumerate(ReporterEntry.__struct_fields__)
    if isinstance(reporter.c[name].type, Unsigned64)
]


class Entries:
    """All of them are read once when a hub starts, and written in batches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, reporters: Sequence[bytes]) -> list[ReporterEntry | None]:
        """In the order asked for."""
        found: dict[bytes, ReporterEntry] = {}
        for start in range(0, len(reporters), CHUNK):
            chunk = reporters[start : start + CHUNK]
            query = select(*_COLUMNS).where(reporter.c.reporter.in_(chunk))
            found |= {entry.reporter: entry for entry in await self._read(query)}
        return [found.get(one) for one in reporters]

    async def load_all(self, kind: str | None = None) -> AsyncIterator[list[ReporterEntry]]:
        """In chunks, ordered by reporter; each chunk is a read of its own."""
        last = b""
        while True:
            query = select(*_COLUMNS).where(reporter.c.reporter > last)
            if kind is not None:
                query = query.where(reporter.c.kind == kind)
            chunk = await self._read(query.order_by(reporter.c.reporter).limit(CHUNK))
            if not chunk:
                return
            yield chunk
            last = chunk[-1].reporter

    async def save_many(self, entries: Sequence[ReporterEntry]) -> None:
        """Keep them all, except where what is there was changed later by another hub."""
        # In one order, so that two hubs with the same routers do not lock each other out.
        ordered = sorted(entries, key=attrgetter("reporter"))
        for start in range(0, len(ordered), SAVED_AT_ONCE):
            await self._save([_values(entry) for entry in ordered[start : start + SAVED_AT_ONCE]])

    async def _save(self, rows: list[tuple[object, ...]]) -> None:
        async def work(connection: AsyncConnection) -> None:
            # Compiled once and by hand: half a hub's registry may change between two saves.
            statement = _statement(connection.dialect)
            await connection.exec_driver_sql(statement, rows)

        await self._database.write(work)

    async def count(self, kind: str) -> int:
        query = select(func.count()).select_from(reporter).where(reporter.c.kind == kind)

        async def work(connection: AsyncConnection) -> int:
            return int(await connection.scalar(query) or 0)

        return await self._database.read(work)

    async def unclaimed(self, before: float, *, limit: int = CHUNK) -> list[bytes]:
        """Routers that nobody owns and that have not reported since then, the longest first."""
        query = (
            select(reporter.c.reporter)
            .outerjoin(device, device.c.mac == reporter.c.reporter)
            .where(reporter.c.kind == "router", reporter.c.last_seen < before)
            .where(device.c.mac.is_(None))
            .order_by(reporter.c.last_seen)
            .limit(limit)
        )

        async def work(connection: AsyncConnection) -> list[bytes]:
            return [bytes(one) for one in await connection.scalars(query)]

        return await self._database.read(work)

    async def of(self, hashname: str) -> list[ReporterEntry]:
        """Those of a key: a server has one, a key may be used for several routers."""
        return await self._read(select(*_COLUMNS).where(reporter.c.hashname == hashname))

    async def remove(self, one: bytes) -> bool:
        """So that another key may enrol under its id; False when there is none."""

        async def work(connection: AsyncConnection) -> bool:
            statement = delete(reporter).where(reporter.c.reporter == one)
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def _read(self, query: Select[*tuple[object, ...]]) -> list[ReporterEntry]:
        async def work(connection: AsyncConnection) -> list[ReporterEntry]:
            return [_entry(row) for row in await connection.execute(query)]

        return await self._database.read(work)


def _is_later(there: Columns, coming: Columns) -> ColumnElement[bool]:
    """Either suffices: versions may start anew with a hot store, and clocks may step back."""
    return or_(coming["version"] > there["version"], coming["last_seen"] >= there["last_seen"])


@cache
def _statement(dialect: Dialect) -> str:
    upserting = upsert(dialect, reporter, _is_later)
    return str(
        upserting.compile(dialect=dialect, column_keys=list(ReporterEntry.__struct_fields__))
    )


def _values(entry: ReporterEntry) -> tuple[object, ...]:
    """In the order of the statement."""
    values: list[object] = list(msgspec.structs.astuple(entry))
    for index in _UNSIGNED:
        value = values[index]
        assert isinstance(value, int)
        values[index] = signed(value)
    return tuple(values)


def _entry(row: AnyRow) -> ReporterEntry:
    return msgspec.convert(tuple(row), ReporterEntry)
