"""What a hub keeps in its folder, and the keys it shares with the hubs of its database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.hub.key_files import hub_identity
from rookery.runtime.endpoint import keystore
from rookery.store.database.database import Database
from rookery.store.hubs.settings import Settings
from tests.hub.identities import identity


@pytest.fixture
async def settings(tmp_path: Path) -> AsyncIterator[Settings]:
    database = await Database.open(f"sqlite:///{tmp_path / 'hub.sqlite'}")
    await database.migrate()
    yield Settings(database)
    await database.close()


async def test_hubs_of_one_database_have_the_same_keys(settings: Settings, tmp_path: Path) -> None:
    """F13: also those that start at the same moment."""
    folders = [tmp_path / name for name in ("one", "two", "three")]
    first, second = await asyncio.gather(*(hub_identity(each, settings) for each in folders[:2]))
    third = await hub_identity(folders[2], settings)
    assert first.hashname == second.hashname == third.hashname
    assert {keystore.load(folder).hashname for folder in folders} == {first.hashname}
    assert (await hub_identity(folders[0], settings)).hashname == first.hashname


async def test_a_hub_brings_its_keys_to_a_new_database(settings: Settings, tmp_path: Path) -> None:
    keystore.save(tmp_path / "one", identity("hub"))
    assert (await hub_identity(tmp_path / "one", settings)).hashname == identity("hub").hashname
    assert (await hub_identity(tmp_path / "two", settings)).hashname == identity("hub").hashname


async def test_keys_of_another_hub_are_refused(settings: Settings, tmp_path: Path) -> None:
    await hub_identity(tmp_path / "one", settings)
    keystore.save(tmp_path / "two", identity("hub"))
    with pytest.raises(UsageError, match="another hub"):
        await hub_identity(tmp_path / "two", settings)


async def test_damaged_keys_are_told_of(settings: Settings, tmp_path: Path) -> None:
    await settings.put("hub identity", b"{}")
    with pytest.raises(UsageError, match="damaged"):
        await hub_identity(tmp_path / "one", settings)
