"""The hot store in Redis: several hubs, restarts, losses (F13)."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from rookery.errors import UnreachableError, UsageError
from rookery.fleet.entry import FleetEntry
from rookery.store.hot import redis_client, redis_wishes
from rookery.store.hot.backends import open_hot_store
from rookery.store.hot.ram_store import RamHotStore
from rookery.store.hot.redis_store import RedisHotStore
from tests.patience import PATIENCE_S
from tests.store.records import entry, sender, step, wish
from tests.store.servers import RedisServer

pytestmark = pytest.mark.xdist_group("databases")


class Archive:
    """What stands for the database: entries, and how often it was asked."""

    def __init__(self, *entries: FleetEntry) -> None:
        self.held = {one.sender: one for one in entries}
        self.asked: list[bytes] = []

    async def find(self, senders: Sequence[bytes]) -> list[FleetEntry | None]:
        self.asked += senders
        return [self.held.get(one) for one in senders]

    async def load_all(self) -> AsyncIterator[list[FleetEntry]]:
        yield list(self.held.values())


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[RedisServer]:
    """One that keeps what it holds over restarts."""
    with RedisServer(tmp_path / "redis", is_lasting=True) as server:
        yield server


@pytest.fixture
def fresh(redis_server: RedisServer) -> RedisServer:
    redis_server.clear()
    return redis_server


async def test_what_redis_does_not_hold_comes_from_the_database(fresh: RedisServer) -> None:
    archive = Archive(entry(1), entry(2))
    hot = await RedisHotStore.open(fresh.url, fallback=archive.find)
    assert await hot.entries([sender(1), sender(3)]) == [entry(1), None]
    assert archive.asked == [sender(1), sender(3)]
    assert await hot.entries([sender(1), sender(3)]) == [entry(1), None]
    assert archive.asked == [sender(1), sender(3)]  # the stranger is remembered, too
    await hot.put([entry(3)])
    assert [one and one.sequence for one in await hot.entries([sender(3)])] == [3]
    await hot.close()


async def test_the_memory_of_unknown_senders_has_a_bound(
    fresh: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.store.hot.redis_entries.UNKNOWN_MAX", 10)
    archive = Archive()
    hot = await RedisHotStore.open(fresh.url, fallback=archive.find)
    await hot.entries([sender(number) for number in range(100)])
    await hot.entries([sender(99)])
    assert len(archive.asked) == 100
    await hot.entries([sender(0)])
    assert len(archive.asked) == 101
    await hot.close()


async def test_a_redis_that_lost_everything_is_filled_again(fresh: RedisServer) -> None:
    archive = Archive(*(entry(number, kind="server") for number in range(3)), entry(9))
    hot = await RedisHotStore.open(fresh.url, fallback=archive.find, everything=archive.load_all)
    assert len(await hot.all("server")) == 3
    await hot.put([entry(4, kind="server")])
    assert len(await hot.all("server")) == 4
    fresh.clear()
    assert len(await hot.all("server")) == 3
    assert [one.sender for one in await hot.all("router")] == [sender(9)]
    await hot.close()


async def test_two_hubs_see_the_same(fresh: RedisServer) -> None:
    one, other = await RedisHotStore.open(fresh.url), await RedisHotStore.open(fresh.url)
    await one.put([entry(1)])
    (held,) = await other.entries([sender(1)])
    assert held is not None
    assert await other.put([held]) == [True]
    ours = await one.add_wish(wish(1, sender(1)), 60)
    assert await other.wishes([sender(1)]) == [ours.id]
    watcher = other.steps(ours.id)
    await one.add_step(step(ours, "wished"))
    assert (await anext(watcher)).name == "wished"
    assert await one.take("lease", 60)
    assert not await other.take("lease", 60)
    await other.release("lease")  # not its own
    assert not await other.take("lease", 60)
    await one.release("lease")
    assert await other.take("lease", 60)
    await one.close()
    await other.close()


async def test_a_watcher_misses_nothing_when_redis_restarts(lasting: RedisServer) -> None:
    """Said by another hub before, while nobody listens, and after: each seen once, in order."""
    teller, watcher = await RedisHotStore.open(lasting.url), await RedisHotStore.open(lasting.url)
    ours = await teller.add_wish(wish(1, sender(1)), 300)
    await teller.add_step(step(ours, "called", "0"))
    steps = watcher.steps(ours.id)
    seen = [await anext(steps)]
    for number in range(1, 4):
        await asyncio.to_thread(lasting.kill)
        await asyncio.to_thread(lasting.start)
        await teller.add_step(step(ours, "called", str(number)))
    await teller.add_step(step(ours, "failed", "4"))
    async with asyncio.timeout(PATIENCE_S):
        seen += [one async for one in steps]
    assert [one.text for one in seen] == ["0", "1", "2", "3", "4"]
    assert await teller.wish(ours.id) == ours
    await teller.close()
    await watcher.close()


async def test_a_watcher_goes_on_when_redis_lost_the_story(fresh: RedisServer) -> None:
    hot = await RedisHotStore.open(fresh.url)
    ours = await hot.add_wish(wish(1, sender(1)), 300)
    steps = hot.steps(ours.id)
    await hot.add_step(step(ours, "wished"))
    await hot.add_step(step(ours, "called"))
    seen = [await anext(steps), await anext(steps)]
    fresh.clear()
    await hot.add_step(step(ours, "router_here"))
    await hot.add_step(step(ours, "done"))
    async with asyncio.timeout(PATIENCE_S):
        seen += [one async for one in steps]
    assert [one.name for one in seen] == ["wished", "called", "router_here", "done"]
    await hot.close()


async def test_a_redis_that_is_away_is_unreachable_and_then_back(lasting: RedisServer) -> None:
    hot = await RedisHotStore.open(lasting.url)
    await hot.put([entry(1)])
    await asyncio.to_thread(lasting.stop)
    assert not await hot.ready()
    ours = entry(2)
    for attempt in (
        hot.entries([sender(1)]),
        hot.put([ours]),
        hot.wishes([sender(1)]),
        hot.add_wish(wish(1, sender(1)), 60),
        hot.add_step(step(wish(1, sender(1)), "wished")),
        hot.take("lease", 60),
        hot.reserved("server"),
        hot.all("server"),
    ):
        with pytest.raises(UnreachableError):
            await attempt
    assert ours.version == 0
    await asyncio.to_thread(lasting.start)
    assert await hot.ready()
    assert await hot.put([ours]) == [True]
    assert [one and one.sender for one in await hot.entries([sender(1)])] == [sender(1)]
    await hot.close()


async def test_a_redis_that_says_nothing_does_not_hold_us_for_long(
    lasting: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_client, "ANSWER_S", 0.1)
    hot = await RedisHotStore.open(lasting.url)
    lasting.freeze()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(UnreachableError):
            await hot.entries([sender(1)])
    lasting.thaw()
    assert await hot.entries([sender(1)]) == [None]
    await hot.close()


async def test_a_watcher_gives_up_on_a_redis_that_stays_away(
    lasting: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_wishes, "AWAY_S_MAX", 0.1)
    hot = await RedisHotStore.open(lasting.url)
    ours = await hot.add_wish(wish(1, sender(1)), 300)
    await asyncio.to_thread(lasting.kill)
    with pytest.raises(UnreachableError):
        await anext(hot.steps(ours.id))
    await hot.close()


async def test_a_full_redis_is_an_error_of_ours(lasting: RedisServer) -> None:
    hot = await RedisHotStore.open(lasting.url)
    await hot._client.config_set("maxmemory", "1")
    with pytest.raises(UnreachableError, match="OutOfMemory"):
        await hot.put([entry(1)])
    await hot._client.config_set("maxmemory", "0")
    assert await hot.put([entry(1)]) == [True]
    await hot.close()


async def test_no_password_is_ever_shown(lasting: RedisServer) -> None:
    hot = await RedisHotStore.open(lasting.url)
    await hot._client.config_set("requirepass", "tell nobody")
    secret = "guessed wrong"
    url = lasting.url.replace("//", f"//:{secret.replace(' ', '%20')}@")
    with pytest.raises(UnreachableError) as caught:
        await RedisHotStore.open(url)
    assert secret not in str(caught.value)
    right = await RedisHotStore.open(
        lasting.url, environment={"ROOKERY_REDIS_PASSWORD": "tell nobody"}
    )
    assert await right.ready()
    assert "tell nobody" not in repr(right)
    await right.close()
    await hot.close()


@pytest.mark.parametrize("url", ["", "redis", "http://x", "ram", "redis://h:port"])
async def test_other_urls_are_refused_without_repeating_them(url: str) -> None:
    with pytest.raises(UsageError, match="Redis is redis://"):
        await open_hot_store(url)


async def test_a_url_chooses_the_store(fresh: RedisServer, tmp_path: Path) -> None:
    stores = [
        await open_hot_store("ram:"),
        await open_hot_store("ram:", snapshot=tmp_path / "hot"),
        await open_hot_store(fresh.url),
    ]
    assert [type(store) for store in stores] == [RamHotStore, RamHotStore, RedisHotStore]
    for store in stores:
        await store.close()
