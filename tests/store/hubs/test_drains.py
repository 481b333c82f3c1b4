"""Servers that are drained: the same in both databases, and for every hub."""

from rookery.store.database.database import Database
from rookery.store.hubs.drains import Drain, Drains
from rookery.store.hubs.settings import Settings

NOW = 1_700_000_000.125


async def test_a_drain_begins_and_ends(database: Database) -> None:
    drains = Drains(database)
    assert await drains.all() == {}
    await drains.begin("rook", "alice", now=NOW)
    await drains.begin("jay", "bob", now=NOW + 1)
    assert await Drains(database).all() == {
        "rook": Drain(NOW, "alice"),
        "jay": Drain(NOW + 1, "bob"),
    }
    assert await drains.end("rook")
    assert not await drains.end("rook")
    assert list(await drains.all()) == ["jay"]


async def test_the_last_actor_is_named_and_other_settings_are_ignored(database: Database) -> None:
    await Settings(database).put("drainage", b"not a drain")
    drains = Drains(database)
    await drains.begin("rook", "alice", now=NOW)
    await drains.begin("rook", "bob", now=NOW + 5)
    assert await drains.all() == {"rook": Drain(NOW + 5, "bob")}
