"""The fleet on what it may keep things in: one suite for all of them."""

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.fleet.world import Stores, World
from tests.store.servers import MariaServer, RedisServer


@pytest.fixture(scope="session")
def empty_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Stores]]:
    folder = tmp_path_factory.mktemp("stores")
    with RedisServer(folder / "redis") as redis, MariaServer(folder / "mariadb") as mariadb:

        def emptied() -> Stores:
            redis.clear()
            return Stores(mariadb.new_database(), redis.url)

        yield emptied


@pytest.fixture(scope="module", params=["embedded", "shared", "two hubs"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    stores, hubs = Stores(), 1
    if request.param != "embedded":
        stores = request.getfixturevalue("empty_stores")()
        hubs = 2 if request.param == "two hubs" else 1
    with World(tmp_path_factory.mktemp("world"), stores, hubs) as world:
        yield world
