"""Migration: brings the tables to what `tables` says, by the steps in `store/migrations`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import UnreachableError

LOCK_S = 60
_FOLDER = Path(__file__).parents[1] / "migrations"
# The name is the server's, so it tells databases apart; it may have 64 characters.
_LOCK_NAME = "LEFT(CONCAT('rookery ', SHA1(DATABASE())), 64)"


async def upgrade(connection: AsyncConnection) -> None:
    """Run all missing steps, under a lock."""
    async with _alone(connection):
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@asynccontextmanager
async def _alone(connection: AsyncConnection) -> AsyncIterator[None]:
    """SQLite's transaction is a lock itself; MySQL ends one with every change of a table."""
    if connection.dialect.name == "sqlite":
        yield
        return
    lock = text(f"SELECT GET_LOCK({_LOCK_NAME}, {LOCK_S})")
    if await connection.scalar(lock) != 1:
        raise UnreachableError(f"another hub has been migrating for {LOCK_S} s")
    try:
        yield
    finally:
        await connection.execute(text(f"SELECT RELEASE_LOCK({_LOCK_NAME})"))
