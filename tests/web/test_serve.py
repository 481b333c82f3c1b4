"""F6, F10, F14: the application on real sockets: streams, clients that leave, slow ones."""

import asyncio
import contextlib
import json
import signal
import ssl
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.errors import UsageError
from rookery.web.serve import serve
from rookery.web.settings import WebLimits
from tests.patience import PATIENCE_S
from tests.web.certificates import certificate
from tests.web.world import MAC, PASSWORD, SETTINGS, World, world

API = "/api/v1"
PATH = f"{API}/devices/{MAC.hex(':')}/connect"
QUICK = msgspec.structs.replace(SETTINGS, limits=WebLimits(headers_s=0.3, keep_alive_s=1))


class Served:
    """The world at an address, and the token of a device's owner."""

    def __init__(self, made: World, url: str, token: str) -> None:
        self.made = made
        self.hub = made.hub
        self.url = url
        self.token = token

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def client(self) -> httpx.AsyncClient:
        bearer = {"authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(base_url=self.url, headers=bearer, timeout=PATIENCE_S)


@pytest.fixture
async def served(tmp_path: Path, template: Path) -> AsyncIterator[Served]:
    async with world(tmp_path, template, QUICK) as made:
        owner = await made.owner("alice")
        answer = await owner.post(f"{API}/tokens", json={"name": "cli"})
        async with serve(made.hub, "127.0.0.1", 0, QUICK) as url:
            yield Served(made, url, answer.json()["token"])


async def events(answer: httpx.Response) -> AsyncIterator[tuple[str, dict[str, object]]]:
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - across a real socket there is nothing to wait on
            await asyncio.sleep(0.01)


async def test_steps_arrive_as_they_happen_and_end_with_the_grant(served: Served) -> None:
    """F6, F7, F10."""
    async with served.client() as client, client.stream("POST", PATH) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        stream = events(answer)
        assert (await anext(stream))[0] == "wished"
        wish = await served.hub.wishes.get()
        await served.hub.say(wish, "called")
        name, step = await anext(stream)
        assert (name, step["text"]) == ("called", "text of called")
        await served.hub.say(wish, "done")
        name, step = await anext(stream)
        assert name == "done"
        grant = step["grant"]
        assert isinstance(grant, dict)
        assert (grant["ticket"], grant["mac"]) == ("ticket1", MAC.hex(":"))
        assert [event async for event in stream] == []
    assert served.hub.cancelled == []


async def test_programs_may_wait_for_the_end_instead(served: Served) -> None:
    async with served.client() as client, asyncio.TaskGroup() as tasks:
        tasks.create_task(served.hub.grant_next())
        answer = await client.post(PATH, headers={"accept": "application/json"})
        assert answer.status_code == 200
        assert answer.json()["grant"]["seat"] == "seat1"
        names = [step["name"] for step in answer.json()["steps"]]
        assert names == ["wished", "called", "router_here", "done"]


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_a_client_that_leaves_takes_its_wish_back(served: Served, accept: str) -> None:
    reader, writer = await asyncio.open_connection(*served.address)
    writer.write(
        f"POST {PATH} HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {served.token}\r\n"
        f"accept: {accept}\r\ncontent-length: 0\r\n\r\n".encode()
    )
    wish = await served.hub.wishes.get()
    writer.close()
    await until(lambda: served.hub.cancelled == [wish.id])
    with contextlib.suppress(ConnectionError):
        await reader.read()


async def test_two_windows_share_a_wish_and_the_last_one_ends_it(served: Served) -> None:
    async with served.client() as client:
        async with client.stream("POST", PATH) as first:
            first_events = events(first)  # kept: a stream that nobody holds is closed
            one = await anext(first_events)
            async with client.stream("POST", PATH) as second:
                second_events = events(second)
                other = await anext(second_events)
                assert one[1]["wish"] == other[1]["wish"]
            assert (await client.get("/healthz")).status_code == 200
            assert served.hub.cancelled == []
        await until(lambda: served.hub.cancelled == [one[1]["wish"]])


async def test_an_account_has_a_few_streams_at_once(served: Served) -> None:
    count = QUICK.limits.connects_per_account
    async with served.client() as client, contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            answer = await stack.enter_async_context(client.stream("POST", PATH))
            assert answer.status_code == 200
        refused = await client.post(PATH)
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        await stack.aclose()
        await until(lambda: len(served.hub.cancelled) == 1)  # their one wish, all having left
        async with client.stream("POST", PATH) as answer:
            assert answer.status_code == 200


async def test_stopping_takes_moments_even_with_open_streams(
    tmp_path: Path, template: Path
) -> None:
    async with world(tmp_path, template) as made:
        owner = await made.owner("alice")
        token = (await owner.post(f"{API}/tokens", json={"name": "cli"})).json()["token"]
        before = signal.getsignal(signal.SIGTERM)
        client = httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S)
        async with client, contextlib.AsyncExitStack() as server:
            url = await server.enter_async_context(serve(made.hub, "127.0.0.1", 0, SETTINGS))
            assert signal.getsignal(signal.SIGTERM) is before
            async with client.stream("POST", url + PATH) as answer:
                stream = events(answer)
                assert (await anext(stream))[0] == "wished"
                began = time.monotonic()
                await server.aclose()
                assert time.monotonic() - began < 5
                last = [event async for event in stream][-1]
                assert last[0] == "failed"
        assert len(made.hub.cancelled) <= 1


async def test_connections_that_say_nothing_or_little_are_closed(served: Served) -> None:
    """A slow-loris holds a place for a moment only."""
    for beginning in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: hub\r\n"):
        reader, writer = await asyncio.open_connection(*served.address)
        writer.write(beginning)
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


async def test_slow_second_requests_are_closed_as_well(served: Served) -> None:
    reader, writer = await asyncio.open_connection(*served.address)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: hub\r\n\r\n")
    assert b"200" in await reader.readuntil(b"ok\n")
    writer.write(b"GET /healthz HT")
    async with asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()


async def test_the_rest_of_an_answered_request_is_not_waited_for(served: Served) -> None:
    """Not even if a byte of it comes now and then."""
    reader, writer = await asyncio.open_connection(*served.address)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: hub\r\ncontent-length: 100\r\n\r\n")
    assert b"200" in await reader.readuntil(b"ok\n")
    async with asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b" ")
                await asyncio.sleep(0.05)
    writer.close()
    async with served.client() as client:
        assert 'reason="slow"} 1' in (await client.get("/metrics")).text


async def test_a_body_that_never_comes_ends_in_time(tmp_path: Path, template: Path) -> None:
    impatient = msgspec.structs.replace(SETTINGS, limits=WebLimits(request_s=0.3))
    async with (
        world(tmp_path, template, impatient) as made,
        serve(made.hub, "127.0.0.1", 0, impatient) as url,
    ):
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /api/v1/session HTTP/1.1\r\nhost: hub\r\ncontent-length: 100\r\n"
            b'content-type: application/json\r\n\r\n{"login"'
        )
        async with asyncio.timeout(PATIENCE_S):
            assert b" 503 " in await reader.readline()
        writer.close()


async def test_small_answers_are_not_held_back(served: Served) -> None:
    """With Nagle's algorithm on, each waits 40 ms for an acknowledgement."""
    async with httpx.AsyncClient(base_url=served.url, timeout=PATIENCE_S) as client:
        took_s = []
        for _ in range(30):
            began = time.perf_counter()
            assert (await client.get("/healthz")).status_code == 200
            took_s.append(time.perf_counter() - began)
    assert min(took_s[10:]) < 0.03  # the first ones are acknowledged at once anyway


async def test_a_taken_port_is_a_usage_error(served: Served) -> None:
    host, port = served.address
    with pytest.raises(UsageError, match="cannot listen"):
        async with serve(served.hub, host, port):
            pass


async def test_forwarded_addresses_are_believed_only_from_trusted_proxies(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.url) as client:
        body = {"login": "alice", "password": "wrong password"}
        forged = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https"}
        await client.post(f"{API}/session", json=body, headers=forged)
    (row, *_) = await served.made.site.audit.latest(who="alice")
    assert row.address == "127.0.0.1"


async def test_one_address_holds_so_many_connections_and_no_more(
    tmp_path: Path, template: Path
) -> None:
    narrow = msgspec.structs.replace(SETTINGS, limits=WebLimits(connections_per_address=3))
    async with (
        world(tmp_path, template, narrow) as made,
        serve(made.hub, "127.0.0.1", 0, narrow) as url,
    ):
        host, port = url.removeprefix("http://").split(":")
        kept = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(PATIENCE_S):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        for _, one in kept:
            one.close()
        await until_answered(url)


async def until_answered(url: str) -> None:
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient() as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"{url}/healthz")).status_code == 200:
                    return
            await asyncio.sleep(0.02)


async def test_a_body_in_pieces_is_bounded_as_well(served: Served) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"[" * 1000

    async with httpx.AsyncClient(base_url=served.url, timeout=PATIENCE_S) as client:
        headers = {"content-type": "application/json"}
        answer = await client.post(f"{API}/session", content=pieces(), headers=headers)
        assert answer.status_code == 413


async def test_a_websocket_at_the_hub_leads_nowhere(served: Served) -> None:
    reader, writer = await asyncio.open_connection(*served.address)
    writer.write(
        b"GET / HTTP/1.1\r\nhost: hub\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    async with asyncio.timeout(PATIENCE_S):
        assert b" 101 " not in await reader.readline()
    writer.close()
    await until_answered(served.url)


async def test_https_with_a_certificate_of_ones_own(tmp_path: Path, template: Path) -> None:
    cert, key = certificate(tmp_path)
    secure = msgspec.structs.replace(SETTINGS, tls_cert=cert, tls_key=key)
    async with (
        world(tmp_path, template, secure) as made,
        serve(made.hub, "127.0.0.1", 0, secure) as url,
    ):
        assert url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(cert))
        await made.account("alice")
        async with httpx.AsyncClient(base_url=url, verify=trusted, timeout=PATIENCE_S) as client:
            body = {"login": "alice", "password": PASSWORD}
            answer = await client.post(f"{API}/session", json=body)
            assert answer.status_code == 201
            assert "secure" in answer.headers["set-cookie"].lower()
            assert (await client.get(f"{API}/me")).status_code == 200
            assert "strict-transport-security" in answer.headers
