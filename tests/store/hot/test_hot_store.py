"""What every hot store does, in memory and in Redis alike (F13)."""

import asyncio
import inspect

import pytest

from rookery.errors import CongestionError
from rookery.fleet.rendezvous.wish import WishStep
from rookery.store.hot.hot_store import (
    SCAN_CHUNK,
    STEPS_PER_WISH_MAX,
    WISHES_PER_DEVICE_MAX,
    HotStore,
    TooManyWishesError,
)
from rookery.store.hot.ram_store import RamHotStore
from rookery.store.hot.redis_store import RedisHotStore
from tests.patience import PATIENCE_S
from tests.store.records import entry, sender, step, until, wish

MAC, OTHER_MAC = sender(1), sender(2)


@pytest.mark.parametrize("store", [RamHotStore, RedisHotStore])
def test_both_offer_the_same(store: type[HotStore]) -> None:
    for name, method in inspect.getmembers(HotStore, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(method) == inspect.signature(getattr(store, name))


async def test_entries_come_back_as_they_were_put(hot: HotStore) -> None:
    ours = [entry(number) for number in range(3)]
    assert await hot.put(ours) == [True, True, True]
    held = await hot.entries([sender(2), sender(99), sender(0)])
    assert held == [ours[2], None, ours[0]]
    assert await hot.entries([]) == []
    assert await hot.put([]) == []


async def test_putting_raises_the_version(hot: HotStore) -> None:
    ours = entry(1)
    await hot.put([ours])
    assert ours.version == 1
    await hot.put([ours])
    (held,) = await hot.entries([ours.sender])
    assert held is not None
    assert held.version == ours.version == 2


async def test_the_slower_of_two_hubs_has_to_read_again(hot: HotStore) -> None:
    fast, slow = entry(1), entry(1)
    fast.sequence, slow.sequence = 10, 20
    assert await hot.put([fast]) == [True]
    assert await hot.put([slow, entry(2)]) == [False, True]
    assert slow.version == 0
    (held,) = await hot.entries([sender(1)])
    assert held is not None
    assert held.sequence == 10


async def test_no_update_of_two_hubs_is_lost(hot: HotStore) -> None:
    """Each reads, adds one and puts; whoever is too late reads again."""
    await hot.put([entry(1)])
    (first,) = await hot.entries([sender(1)])
    assert first is not None
    before = first.sequence

    async def hub() -> None:
        for _ in range(20):
            is_done = False
            while not is_done:
                (held,) = await hot.entries([sender(1)])
                assert held is not None
                held.sequence += 1
                (is_done,) = await hot.put([held])

    await asyncio.gather(hub(), hub(), hub())
    (held,) = await hot.entries([sender(1)])
    assert held is not None
    assert held.sequence == before + 60


async def test_restoring_takes_what_is_missing_or_newer(hot: HotStore) -> None:
    await hot.put([entry(1, last_seen=100.0), entry(2, last_seen=100.0)])
    older, newer, unknown = (
        entry(1, last_seen=99.5),
        entry(2, last_seen=100.5),
        entry(3, last_seen=1.0),
    )
    unknown.version = 7
    assert await hot.restore([older, newer, unknown]) == 2
    held = await hot.entries([sender(number) for number in (1, 2, 3)])
    assert [one and one.last_seen for one in held] == [100.0, 100.5, 1.0]
    assert await hot.put([unknown]) == [True]


async def test_entries_are_listed_by_kind_and_in_chunks(hot: HotStore) -> None:
    await hot.put([entry(number, kind="server") for number in range(3)])
    devices = [entry(number) for number in range(100, 100 + SCAN_CHUNK * 2)]
    await hot.restore(devices)
    assert sorted(one.sender for one in await hot.all("server")) == [*map(sender, range(3))]
    chunks = [chunk async for chunk in hot.scan("router")]
    assert len(chunks) > 1
    found = {one.sender: one for chunk in chunks for one in chunk}
    assert found == {one.sender: one for one in devices}


async def test_a_wish_is_open_until_it_ends(hot: HotStore) -> None:
    ours = wish(1, MAC)
    assert await hot.add_wish(ours, 60) == ours
    assert await hot.wishes([OTHER_MAC, MAC]) == [None, ours.id]
    assert await hot.wishes([]) == []
    assert await hot.wish(ours.id) == ours
    await hot.end_wish(ours.id)
    await hot.end_wish(ours.id)
    assert await hot.wishes([MAC]) == [None]
    assert await hot.wish(ours.id) is None


async def test_a_client_that_already_waits_gets_its_wish_again(hot: HotStore) -> None:
    first = await hot.add_wish(wish(1, MAC), 60)
    assert await hot.add_wish(wish(2, MAC), 60) == first
    assert await hot.wish(wish(2, MAC).id) is None
    other = await hot.add_wish(wish(3, OTHER_MAC), 60)
    assert other == wish(3, OTHER_MAC)


async def test_wishes_of_several_clients_wait_for_each_other(hot: HotStore) -> None:
    first = await hot.add_wish(wish(1, MAC, "alice"), 60)
    second = await hot.add_wish(wish(2, MAC, "bob"), 60)
    assert await hot.wishes([MAC]) == [first.id]
    await hot.end_wish(first.id)
    assert await hot.wishes([MAC]) == [second.id]


async def test_so_many_clients_may_wait_for_a_device(hot: HotStore) -> None:
    for number in range(WISHES_PER_DEVICE_MAX):
        await hot.add_wish(wish(number + 1, MAC, f"client {number}"), 60)
    with pytest.raises(TooManyWishesError):
        await hot.add_wish(wish(99, MAC, "one more"), 60)
    await hot.end_wish(wish(3, MAC).id)
    await hot.add_wish(wish(99, MAC, "one more"), 60)


async def test_a_wish_expires(hot: HotStore) -> None:
    brief = await hot.add_wish(wish(1, MAC), 0.05)
    later = await hot.add_wish(wish(2, MAC, "bob"), 60)

    async def is_next() -> bool:
        return await hot.wishes([MAC]) == [later.id]

    await until(is_next)
    assert await hot.wish(brief.id) is None


async def test_steps_are_seen_by_early_and_late_watchers(hot: HotStore) -> None:
    ours = await hot.add_wish(wish(1, MAC), 60)
    early = asyncio.gather(watched(hot, ours.id), watched(hot, ours.id))
    said = [step(ours, "wished"), step(ours, "called", "…"), step(ours, "done")]
    for one in said:
        await hot.add_step(one)
    await hot.end_wish(ours.id)
    assert list(await early) == [said, said]
    assert await watched(hot, ours.id) == said


async def test_every_step_is_seen_once_and_in_order(hot: HotStore) -> None:
    ours = await hot.add_wish(wish(1, MAC), 60)
    said = [step(ours, "called", str(number)) for number in range(100)]
    said.append(step(ours, "failed"))

    async def add_step() -> None:
        for one in said:
            await hot.add_step(one)

    results = await asyncio.gather(
        watched(hot, ours.id), watched(hot, ours.id), add_step(), watched(hot, ours.id)
    )
    assert list(results) == [said, said, None, said]


async def test_a_step_said_twice_in_the_same_words_is_two(hot: HotStore) -> None:
    ours = await hot.add_wish(wish(1, MAC), 60)
    said = [step(ours, "reserving"), step(ours, "reserving"), step(ours, "failed")]
    for one in said:
        await hot.add_step(one)
    assert await watched(hot, ours.id) == said


async def test_a_watcher_sees_a_step_while_it_waits(hot: HotStore) -> None:
    ours = await hot.add_wish(wish(1, MAC), 60)
    watcher = hot.steps(ours.id)
    for name in ("wished", "called", "router_here"):
        await hot.add_step(step(ours, name))
        async with asyncio.timeout(PATIENCE_S):
            assert (await anext(watcher)).name == name


async def test_an_unknown_wish_has_no_steps(hot: HotStore) -> None:
    assert await watched(hot, 12345) == []


async def test_a_story_has_a_bound(hot: HotStore) -> None:
    ours = await hot.add_wish(wish(1, MAC), 60)
    for _ in range(STEPS_PER_WISH_MAX):
        await hot.add_step(step(ours, "called"))
    with pytest.raises(CongestionError):
        await hot.add_step(step(ours, "called"))


async def test_only_one_takes_it(hot: HotStore) -> None:
    results = await asyncio.gather(*(hot.take("wish:1", 60) for _ in range(20)))
    assert sorted(results) == [False] * 19 + [True]
    assert await hot.take("wish:2", 60)
    await hot.release("wish:1")
    assert await hot.take("wish:1", 60)


async def test_what_was_taken_is_free_after_its_time(hot: HotStore) -> None:
    assert await hot.take("lease", 0.05)

    async def is_taken() -> bool:
        return await hot.take("lease", 60)

    await until(is_taken)


async def test_reservations_are_counted_until_they_end_or_expire(hot: HotStore) -> None:
    assert await hot.reserved("server") == 0
    await hot.reserve("server", "seat 1", 60)
    await hot.reserve("server", "seat 2", 60)
    await hot.reserve("server", "seat 2", 60)
    await hot.reserve("other", "seat 3", 60)
    assert await hot.reserved("server") == 2
    await hot.unreserve("server", "seat 1")
    await hot.unreserve("nobody", "seat 1")
    assert await hot.reserved("server") == 1
    await hot.reserve("server", "brief", 0.05)

    async def is_over() -> bool:
        return await hot.reserved("server") == 1

    await until(is_over)


async def test_it_is_ready(hot: HotStore) -> None:
    assert await hot.ready()


async def watched(hot: HotStore, number: int) -> list[WishStep]:
    async with asyncio.timeout(PATIENCE_S):
        return [one async for one in hot.steps(number)]
