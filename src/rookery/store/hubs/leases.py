"""Leases: what one of several hubs does is done by the one that holds its row.

A holder renews before the lease expires; after that another may take it over. Times are wall
seconds, so hubs' clocks have to agree to within a lease, which is half a minute.
"""

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import Columns, upsert
from rookery.store.database.tables import lease


class Leases:
    """By name; there is one holder at most."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def hold(self, name: str, holder: str, *, now: float, seconds: float) -> bool:
        """Take or renew; False when it is another's."""

        async def work(connection: AsyncConnection) -> bool:
            return await hold_lease(connection, name, holder, now=now, seconds=seconds)

        return await self._database.write(work)

    async def release(self, name: str, holder: str) -> None:
        """Let the next one have it at once."""

        async def work(connection: AsyncConnection) -> None:
            ours = lease.update().where(lease.c.name == name, lease.c.holder == holder)
            await connection.execute(ours.values(until=0.0))

        await self._database.write(work)


async def hold_lease(
    connection: AsyncConnection, name: str, holder: str, *, now: float, seconds: float
) -> bool:
    """The same, inside a transaction."""

    def is_ours(there: Columns, coming: Columns) -> ColumnElement[bool]:
        return or_(there["holder"] == coming["holder"], there["until"] < now)

    row = {"name": name, "holder": holder, "until": now + seconds}
    await connection.execute(upsert(connection.dialect, lease, is_ours), row)
    found: object = await connection.scalar(select(lease.c.holder).where(lease.c.name == name))
    return found == holder
