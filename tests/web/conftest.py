"""One world for each test; the database is migrated once and copied."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.store.database.database import Database
from tests.web.world import World, world


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("web") / "template.sqlite"

    async def make() -> None:
        database = await Database.open(f"sqlite:///{file}")
        await database.migrate()
        await database.close()

    asyncio.run(make())
    return file


@pytest.fixture
async def hubworld(tmp_path: Path, template: Path) -> AsyncIterator[World]:
    async with world(tmp_path, template) as made:
        yield made
