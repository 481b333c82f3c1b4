"""Each store twice: in one process, and on a server of our own."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from rookery.store.database.database import Database
from rookery.store.hot.hot_store import HotStore
from rookery.store.hot.ram_store import RamHotStore
from rookery.store.hot.redis_store import RedisHotStore
from tests.store.servers import MariaServer, RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def maria_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaServer]:
    with MariaServer(tmp_path_factory.mktemp("maria")) as server:
        yield server


@pytest.fixture(
    params=["ram", pytest.param("redis", marks=pytest.mark.xdist_group("databases"))],
)
async def hot(request: pytest.FixtureRequest) -> AsyncIterator[HotStore]:
    """An empty one."""
    store: HotStore
    if request.param == "ram":
        store = RamHotStore()
    else:
        server: RedisServer = request.getfixturevalue("redis_server")
        server.clear()
        store = await RedisHotStore.open(server.url)
    yield store
    await store.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables."""
    file = tmp_path_factory.mktemp("sqlite") / "hub.db"

    async def make() -> None:
        database = await Database.open(f"sqlite:///{file}")
        await database.migrate()
        await database.close()

    asyncio.run(make())
    return file


SQLITE_AND_MYSQL = ["sqlite", pytest.param("mysql", marks=pytest.mark.xdist_group("databases"))]


@pytest.fixture(params=SQLITE_AND_MYSQL)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of one without any table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hub.db'}"
    server: MariaServer = request.getfixturevalue("maria_server")
    return server.new_database()


@pytest.fixture(params=SQLITE_AND_MYSQL)
def emptied_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of one whose tables have no rows; cheaper than one without tables."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        return f"sqlite:///{shutil.copy(template, tmp_path / 'hub.db')}"
    server: MariaServer = request.getfixturevalue("maria_server")
    return server.emptied()


@pytest.fixture
async def database(emptied_url: str) -> AsyncIterator[Database]:
    """With all tables and no rows."""
    opened = await Database.open(emptied_url)
    await opened.migrate()
    yield opened
    await opened.close()
