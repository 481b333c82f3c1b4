"""Entries in the database: batches, several hubs, and speed (F13)."""

import asyncio
import time

import pytest

from rookery.store.database.database import Database
from rookery.store.fleet.entries import CHUNK, Entries
from tests.store.records import entry, sender


async def test_they_come_back_as_they_were(database: Database) -> None:
    """All 64 bits of what a sender chooses, too."""
    entries = Entries(database)
    ours = [entry(number) for number in range(3)]
    await entries.save_many(ours)
    assert await entries.find([sender(2), sender(99), sender(0)]) == [ours[2], None, ours[0]]
    assert await entries.find([]) == []
    await entries.save_many([])


async def test_all_are_loaded_in_chunks(database: Database) -> None:
    entries = Entries(database)
    ours = [entry(number, kind="router" if number % 4 else "server") for number in range(CHUNK * 2)]
    await entries.save_many(ours[::-1])
    chunks = [chunk async for chunk in entries.load_all()]
    assert [one for chunk in chunks for one in chunk] == ours
    assert len(chunks) == 2
    servers = [one async for chunk in entries.load_all("server") for one in chunk]
    assert servers == ours[::4]
    assert await entries.count("router") == CHUNK * 2 - len(servers)
    assert await entries.find([one.sender for one in ours]) == ours


@pytest.mark.parametrize(
    ("version", "last_seen", "is_taken"),
    [(5, 99.0, False), (5, 100.0, True), (6, 99.0, True), (4, 99.0, False), (4, 101.0, True)],
)
async def test_what_another_hub_changed_later_stays(
    database: Database, version: int, last_seen: float, is_taken: bool
) -> None:
    """Later by the version or by the clock, as either may have begun anew."""
    entries = Entries(database)
    there, coming = entry(1, last_seen=100.0), entry(1, last_seen=last_seen)
    there.version, coming.version = 5, version
    coming.sequence, coming.address, coming.struck_at = 77, "192.0.2.9:1", 99.5
    await entries.save_many([there])
    await entries.save_many([coming])
    assert await entries.find([sender(1)]) == [coming if is_taken else there]


async def test_two_hubs_may_save_the_same_at_once(database: Database) -> None:
    entries = Entries(database)
    ours = [entry(number) for number in range(2000)]
    await asyncio.gather(entries.save_many(ours), entries.save_many(ours[::-1]))
    assert await entries.count("router") == 2000


async def test_one_may_be_forgotten(database: Database) -> None:
    entries = Entries(database)
    await entries.save_many([entry(1)])
    assert await entries.remove(sender(1))
    assert not await entries.remove(sender(1))
    assert await entries.find([sender(1)]) == [None]


async def test_ten_thousand_are_saved_in_little_time(database: Database) -> None:
    """Processor time of ours: the machine may be busy with other things."""
    entries = Entries(database)
    ours = [entry(number) for number in range(10_000)]
    before = time.process_time()
    await entries.save_many(ours)
    assert time.process_time() - before < 2.0
    assert await entries.count("router") == 10_000
