"""Drains: servers that get no new sessions, set by operators for all hubs of a database.

One setting each, `drain HASHNAME`; there are few servers, and fewer that are drained.
"""

import msgspec
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import upsert
from rookery.store.database.tables import setting

_PREFIX = "drain "


class Drain(msgspec.Struct, frozen=True):
    """Since when a server is drained, and by whom."""

    since: float  # wall seconds
    who: str


class Drains:
    """The drained servers of a database, by hashname."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, Drain]:
        """UnreachableError when the database is away."""
        query = select(setting.c.name, setting.c.value).where(setting.c.name.startswith(_PREFIX))

        async def work(connection: AsyncConnection) -> dict[str, Drain]:
            return {
                name.removeprefix(_PREFIX): msgspec.json.decode(value, type=Drain)
                for name, value in await connection.execute(query)
            }

        return await self._database.read(work)

    async def begin(self, hashname: str, actor: str, *, now: float) -> None:
        """Assign no new sessions to this server; existing ones stay until they end."""
        value = msgspec.json.encode(Drain(now, actor))

        async def work(connection: AsyncConnection) -> None:
            row = {"name": f"{_PREFIX}{hashname}", "value": value}
            await connection.execute(upsert(connection.dialect, setting), row)

        await self._database.write(work)

    async def end(self, hashname: str) -> bool:
        """End the drain; False if the server was not drained."""
        query = delete(setting).where(setting.c.name == f"{_PREFIX}{hashname}")

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(query)).rowcount > 0

        return await self._database.write(work)
