"""Each store twice: in one process, and on a server of our own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from rookery.store.database import Database
from rookery.store.hot import HotStore
from rookery.store.ram_hot import RamHot
from rookery.store.redis_hot import RedisHot
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
        store = RamHot()
    else:
        server: RedisServer = request.getfixturevalue("redis_server")
        server.clear()
        store = await RedisHot.open(server.url)
    yield store
    await store.close()


@pytest.fixture(
    params=["sqlite", pytest.param("mysql", marks=pytest.mark.xdist_group("databases"))],
)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty one."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hub.db'}"
    server: MariaServer = request.getfixturevalue("maria_server")
    return server.new_database()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """With all tables and no rows."""
    opened = await Database.open(database_url)
    await opened.migrate()
    yield opened
    await opened.close()
