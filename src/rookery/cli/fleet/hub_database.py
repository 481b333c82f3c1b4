"""The hub's database as the verbs of `rookery fleet` reach it, whether the hub runs or not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli import extras
from rookery.cli.fleet.hub_options import FOLDER

if TYPE_CHECKING:
    from rookery.store.database.database import Database


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class HubDatabaseOptions:
    """Which database."""

    data: Annotated[
        Path, Parameter(name="--data", help="The hub's folder, in which its SQLite file is.")
    ] = FOLDER
    database: Annotated[
        str, Parameter(name="--db", help="URL of the hub's database, where it is not that file.")
    ] = ""


DATABASE_OPTIONS = HubDatabaseOptions()


@asynccontextmanager
async def hub_database(store: HubDatabaseOptions) -> AsyncIterator["Database"]:
    """Open the database, with its tables up to date."""
    extras.need("a hub's database", extras.HUB, "hub")
    from rookery.hub.settings import HubSettings
    from rookery.store.database.database import Database

    store.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    url = HubSettings(data=store.data, database=store.database).database_url
    database = await Database.open(url)
    try:
        await database.migrate()
        yield database
    finally:
        await database.close()
