"""Settings that all hubs of a database share, and how far each has got with its spool."""

from collections.abc import Callable

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import upsert
from rookery.store.database.tables import setting, spool_position

MASTER_SECRET = "master secret"  # noqa: S105 - its name
MASTER_SECRET_SIZE = 32


class Settings:
    """Small values by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> bytes | None:
        async def work(connection: AsyncConnection) -> bytes | None:
            value: object = await connection.scalar(
                select(setting.c.value).where(setting.c.name == name)
            )
            return value if isinstance(value, bytes) else None

        return await self._database.read(work)

    async def put(self, name: str, value: bytes) -> None:
        async def work(connection: AsyncConnection) -> None:
            row = {"name": name, "value": value}
            await connection.execute(upsert(connection.dialect, setting), row)

        await self._database.write(work)

    async def first(self, name: str, value: bytes) -> bytes:
        """The stored value, or this one if there is none; safe against concurrent calls."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(setting).values(name=name, value=value))

        if (known := await self.get(name)) is not None:
            return known
        try:
            await self._database.write(work)
        except IntegrityError:
            known = await self.get(name)
            assert known is not None, "an insert fails only when the name exists"
            return known
        return value

    async def master_secret(self, random: Callable[[int], bytes]) -> bytes:
        """The master secret of all hubs; made by the first hub that needs it."""
        return await self.first(MASTER_SECRET, random(MASTER_SECRET_SIZE))

    async def spool_position(self, hub: str) -> int | None:
        """Up to where the registry in this database knows what the hub spooled."""
        query = select(spool_position.c.position).where(spool_position.c.hub == hub)

        async def work(connection: AsyncConnection) -> int | None:
            position: object = await connection.scalar(query)
            return position if isinstance(position, int) else None

        return await self._database.read(work)

    async def save_spool_position(self, hub: str, position: int, *, now: float) -> None:
        async def work(connection: AsyncConnection) -> None:
            row = {"hub": hub, "position": position, "saved_at": now}
            await connection.execute(upsert(connection.dialect, spool_position), row)

        await self._database.write(work)
