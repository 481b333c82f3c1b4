"""The fleet on what it may keep things in: one suite for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.fleet.world import Stores, World
from tests.store.servers import MariaServer, RedisServer


@pytest.fixture(scope="session")
def shared_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("stores")
    with RedisServer(folder / "redis") as redis, MariaServer(folder / "mariadb") as mariadb:
        yield Stores(mariadb.url, redis.url)


@pytest.fixture(scope="module", params=["embedded", "shared", "two hubs"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("world")
    if request.param == "embedded":
        stores, hubs = Stores(), 1
    else:
        stores = request.getfixturevalue("shared_stores")
        hubs = 2 if request.param == "two hubs" else 1
    with World(folder, stores, hubs) as world:
        yield world
