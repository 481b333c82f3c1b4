"""F15, P5: what changes is told as it changes, to those who may see it, and costs what changed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import httpx
import msgspec
import pytest

from rookery.errors import UnreachableError
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import RequestRefusedError, TooManyRequestsError
from rookery.web.live import feed
from rookery.web.live import streams as live_module
from rookery.web.live.topic import LiveTopic, Values
from rookery.web.serve import serve
from rookery.web.site import WebSite
from tests.patience import PATIENCE_S
from tests.web.world import PASSWORD, SETTINGS, World

ALICE = Caller(account=1, login="alice", role="user", session=b"a")
BOB = Caller(account=2, login="bob", role="user", session=b"b")
OSCAR = Caller(account=3, login="oscar", role="operator", session=b"o")


class Shown(msgspec.Struct, frozen=True):
    number: int


class Change(msgspec.Struct):
    changed: dict[str, Shown]
    gone: list[str]
    first: bool = False


class Source:
    """A topic that tests change."""

    def __init__(self, count: int = 3) -> None:
        self.values = {f"key {number}": Shown(number) for number in range(count)}
        self.readers: list[str] = []
        self.is_away = False

    async def read(self, _site: WebSite, caller: Caller) -> Values:
        self.readers.append(caller.login)
        if self.is_away:
            raise UnreachableError("the store is away")
        return dict(self.values)

    def topic(self, name: str = "numbers", *, is_shared: bool = False) -> LiveTopic:
        return LiveTopic(name, "user", self.read, is_shared=is_shared, every_s=0.01)


Events = AsyncGenerator[bytes, None]


async def next_event(events: Events) -> tuple[str, bytes]:
    """The next one that is not a pulse; data may come several events at a time."""
    async with asyncio.timeout(PATIENCE_S):
        async for data in events:
            if data.startswith(b"event: "):
                assert data.count(b"\n\n") == 1
                name, data = data.removesuffix(b"\n\n").split(b"\n")
                return name.removeprefix(b"event: ").decode(), data.removeprefix(b"data: ")
    return "", b""


async def next_change(events: Events) -> Change:
    name, data = await next_event(events)
    assert name == "numbers"
    return msgspec.json.decode(data, type=Change)


@pytest.fixture(autouse=True)
def always_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The callers above are nobody in the database; only one test is about that."""
    monkeypatch.setattr(live_module, "CHECK_S", 3600.0)


async def test_of_a_thousand_keys_three_changes_cost_three(hubworld: World) -> None:
    live, source = hubworld.site.live, Source(1000)
    topic = source.topic()
    live.offer([topic])
    async with aclosing(live.events(ALICE, [topic])) as events:
        first = await next_change(events)
        assert (len(first.changed), first.gone, first.first) == (1000, [], True)
        changed = {"key 3": Shown(-3), "key 500": Shown(-500), "new": Shown(7)}
        source.values = {**source.values, **changed}
        del source.values["key 999"]
        second = await next_change(events)
        assert (second.changed, second.gone, second.first) == (changed, ["key 999"], False)
        source.values = {**source.values, "key 1": Shown(-1)}
        assert (await next_change(events)).changed == {"key 1": Shown(-1)}


async def test_a_shared_topic_is_read_once_for_all(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    topic = source.topic(is_shared=True)._replace(every_s=3600)
    async with (
        aclosing(live.events(ALICE, [topic])) as one,
        aclosing(live.events(BOB, [topic])) as two,
        aclosing(live.events(BOB, [topic])) as three,
    ):
        for events in (one, two, three):
            assert len((await next_change(events)).changed) == 3
        assert source.readers == ["alice"]


async def test_each_account_reads_its_own(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    topic = source.topic()._replace(every_s=3600)
    async with (
        aclosing(live.events(ALICE, [topic])) as one,
        aclosing(live.events(BOB, [topic])) as two,
        aclosing(live.events(BOB, [topic])) as three,
    ):
        for events in (one, two, three):
            assert len((await next_change(events)).changed) == 3
        assert sorted(source.readers) == ["alice", "bob"]


async def test_topics_without_followers_are_not_read(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    topic = source.topic()
    async with aclosing(live.events(ALICE, [topic])) as events:
        await next_change(events)
    await live.closed()  # the ticker ends by itself once nobody is there
    count = len(source.readers)
    await asyncio.sleep(0.05)
    assert len(source.readers) == count


async def test_a_failing_topic_is_reported_once_and_recovers(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    topic = source.topic()
    async with aclosing(live.events(ALICE, [topic])) as events:
        await next_change(events)
        source.is_away = True
        name, data = await next_event(events)
        assert name == "problem"
        detail = msgspec.json.decode(data)
        assert detail == {"topic": "numbers", "detail": "the store is away"}
        source.values = {**source.values, "key 0": Shown(9)}
        source.is_away = False
        assert (await next_change(events)).changed == {"key 0": Shown(9)}


async def test_a_slow_reader_is_dropped_and_the_others_are_not(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "EVENTS_MAX", 4)
    live, source = hubworld.site.live, Source()
    topic = source.topic(is_shared=True)
    async with (
        aclosing(live.events(ALICE, [topic])) as slow,
        aclosing(live.events(BOB, [topic])) as quick,
    ):
        await anext(slow)
        await next_change(quick)
        for number in range(10):
            source.values = {**source.values, "key 0": Shown(1000 + number)}
            assert (await next_change(quick)).changed == {"key 0": Shown(1000 + number)}
        async with asyncio.timeout(PATIENCE_S):
            assert [data async for data in slow] == []


async def test_who_may_follow_what(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    secret = LiveTopic("secret", "operator", source.read)
    live.offer([secret])
    assert live.check(OSCAR, ["secret", "secret"]) == [secret]
    with pytest.raises(RequestRefusedError) as refused:
        live.check(ALICE, ["secret"])
    assert refused.value.problem.status == 403
    with pytest.raises(RequestRefusedError) as unknown:
        live.check(OSCAR, ["nothing"])
    assert unknown.value.problem.status == 404


async def test_an_account_has_so_many_streams(hubworld: World) -> None:
    live, source = hubworld.site.live, Source()
    topic = source.topic()
    live.offer([topic])
    streams = [live.events(ALICE, [topic]) for _ in range(live_module.STREAMS_PER_ACCOUNT)]
    for stream in streams:
        await anext(stream)
    with pytest.raises(TooManyRequestsError):
        live.check(ALICE, ["numbers"])
    assert [data async for data in live.events(ALICE, [topic])] == []  # one that raced for it
    assert live.check(BOB, ["numbers"])
    await streams.pop().aclose()
    assert live.check(ALICE, ["numbers"])
    for stream in streams:
        await stream.aclose()


async def test_few_accounts_do_not_keep_all_others_out(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Low: 32 accounts held all live streams; now who has most gives one up."""
    monkeypatch.setattr(live_module, "STREAMS_MAX", 4)
    live, source = hubworld.site.live, Source()
    topic = source.topic()
    live.offer([topic])
    streams = [live.events(ALICE, [topic]) for _ in range(4)]
    for stream in streams:
        await anext(stream)
    assert live.check(BOB, ["numbers"])
    bobs = [live.events(BOB, [topic]) for _ in range(2)]
    for stream in bobs:
        await next_change(stream)
    async with asyncio.timeout(PATIENCE_S):
        for ended in streams[2:]:
            assert b"" not in [data async for data in ended]
    for caller in (ALICE, BOB):  # half each: neither takes from the other
        with pytest.raises(TooManyRequestsError):
            live.check(caller, ["numbers"])
    await next_change(streams[0])
    for stream in (*streams, *bobs):
        await stream.aclose()


async def test_closing_ends_all_streams(hubworld: World) -> None:
    live, topic = hubworld.site.live, Source().topic()
    events = live.events(ALICE, [topic])
    await next_change(events)
    live.close()
    async with asyncio.timeout(PATIENCE_S):
        assert [data async for data in events] == []
        await live.closed()
    assert [data async for data in live.events(ALICE, [topic])] == []


@asynccontextmanager
async def followed(
    world: World, login: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[httpx.AsyncClient, AsyncIterator[str]]]:
    """Somebody's real browser on a real socket, and the lines of its stream."""
    monkeypatch.setattr(live_module, "CHECK_S", 0.05)
    await world.account(login)
    async with (
        serve(world.hub, "127.0.0.1", 0, SETTINGS) as url,
        httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client,
    ):
        body = {"login": login, "password": PASSWORD}
        assert (await client.post("/api/v1/session", json=body)).status_code == 201
        stream = client.stream("GET", "/api/v1/live", params={"topic": "devices"})
        async with stream as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.aiter_lines()
            async with asyncio.timeout(PATIENCE_S):
                assert await anext(lines) == "retry: 1000"
            yield client, lines


async def test_a_stream_ends_when_its_session_does(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with followed(hubworld, "alice", monkeypatch) as (client, lines):
        assert (await client.delete("/api/v1/session")).status_code == 204
        async with asyncio.timeout(PATIENCE_S):
            rest = [line async for line in lines]
        assert "event: end" in rest


async def test_a_stream_ends_when_its_reader_gets_another_role(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with followed(hubworld, "alice", monkeypatch) as (_client, lines):
        account = await hubworld.site.accounts.find("alice")
        assert account is not None
        await hubworld.site.accounts.set_role(account.id, "operator")
        async with asyncio.timeout(PATIENCE_S):
            assert "event: end" in [line async for line in lines]


async def test_a_closed_stream_frees_its_place_at_once(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when the next pulse finds nobody."""
    monkeypatch.setattr(live_module, "STREAMS_PER_ACCOUNT", 1)
    monkeypatch.setattr(live_module, "PULSE_S", 3600.0)
    alice = await hubworld.signed_in("alice")
    cookies = {"rookery_session": alice.cookies["rookery_session"]}
    async with (
        asyncio.timeout(PATIENCE_S),
        serve(hubworld.hub, "127.0.0.1", 0, SETTINGS) as url,
        httpx.AsyncClient(base_url=url, cookies=cookies, timeout=PATIENCE_S) as client,
    ):
        async with client.stream("GET", "/api/v1/live", params={"topic": "devices"}) as answer:
            assert answer.status_code == 200
            assert await opened(client) == 429
        while await opened(client) != 200:  # noqa: ASYNC110 - nobody is told when one has left
            await asyncio.sleep(0.05)


async def opened(client: httpx.AsyncClient) -> int:
    """The status of a stream that is opened and left."""
    stream = client.stream("GET", "/api/v1/live", params={"topic": "devices"})
    async with stream as answer:
        return answer.status_code


async def test_strangers_follow_nothing(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        answer = await client.get("/api/v1/live", params={"topic": "devices"})
        assert answer.status_code == 401
        assert (await client.get("/api/v1/live")).status_code in (400, 401)


async def test_a_token_follows_until_it_is_revoked(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "CHECK_S", 0.05)
    alice = await hubworld.signed_in("alice")
    made = (await alice.post("/api/v1/tokens", json={"name": "eye", "scopes": ["read"]})).json()
    headers = {"authorization": f"Bearer {made['token']}"}
    async with (
        serve(hubworld.hub, "127.0.0.1", 0, SETTINGS) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as client,
        client.stream("GET", "/api/v1/live", params={"topic": "devices"}) as answer,
    ):
        lines = answer.aiter_lines()
        await anext(lines)
        assert (await alice.delete(f"/api/v1/tokens/{made['id']}")).status_code == 204
        async with asyncio.timeout(PATIENCE_S):
            assert "event: end" in [line async for line in lines]


async def test_a_token_in_place_of_one_that_was_revoked_holds_no_stream_of_it(
    hubworld: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database may give the number of a row that is gone to the next one."""
    monkeypatch.setattr(live_module, "CHECK_S", 0.5)
    alice = await hubworld.signed_in("alice")
    wanted = {"name": "eye", "scopes": ["read"]}
    made = (await alice.post("/api/v1/tokens", json=wanted)).json()
    headers = {"authorization": f"Bearer {made['token']}"}
    async with (
        serve(hubworld.hub, "127.0.0.1", 0, SETTINGS) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_S) as client,
        client.stream("GET", "/api/v1/live", params={"topic": "devices"}) as answer,
    ):
        lines = answer.aiter_lines()
        await anext(lines)
        await alice.delete(f"/api/v1/tokens/{made['id']}")
        again = (await alice.post("/api/v1/tokens", json=wanted)).json()
        assert again["id"] == made["id"]
        async with asyncio.timeout(PATIENCE_S):
            assert "event: end" in [line async for line in lines]
