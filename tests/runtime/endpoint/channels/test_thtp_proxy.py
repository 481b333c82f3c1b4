"""`thtp` requests passed on to an HTTP server on loopback (T3)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from rookery.errors import ChannelError, UsageError
from rookery.runtime.endpoint.channels.thtp import request
from rookery.runtime.endpoint.channels.thtp_proxy import HttpOrigin, serve_proxy
from tests.runtime.channel_pair import ALICE, Pair

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with Pair() as pair:
        yield pair


@asynccontextmanager
async def http_server(pair: Pair, serve: Serve) -> AsyncIterator[int]:
    """A raw server behind Bob's proxy, so that its every byte is the test's."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pair.bob.serve("thtp", serve_proxy(f"http://127.0.0.1:{port}"))
    async with server:
        yield port


def answering(data: bytes, seen: list[bytes] | None = None) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(head)
        writer.write(data)
        await writer.drain()

    return serve


async def test_a_request_goes_to_the_server_and_its_answer_back(pair: Pair) -> None:
    seen: list[bytes] = []
    answer = b"HTTP/1.1 203 Mine\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello"
    async with http_server(pair, answering(answer, seen)) as port:
        headers = {"Accept": "x", "Host": "evil", "X-Forwarded-For": "127.0.0.1", "Via": "y"}
        response = await request(pair.alice, "GET", "/p?q", headers)
        assert (response.status, response.head.reason) == (203, "Mine")
        assert response.headers == {"content-type": "a/b", "content-length": "5"}
        assert await response.read() == b"hello"
    lines = seen[0].decode().strip().split("\r\n")
    assert lines[0] == "GET /p?q HTTP/1.1"
    assert {line.lower() for line in lines[1:]} == {
        "accept: x",
        "via: y",
        f"x-hashname: {ALICE}",
        f"host: 127.0.0.1:{port}",
        "connection: close",
    }


async def test_bodies_stream_both_ways(pair: Pair) -> None:
    data = bytes(range(256)) * 2000

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"content-length: 512000" in head.lower()
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(len(data) // 1024):
            writer.write(b"400\r\n" + await reader.readexactly(1024) + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with http_server(pair, echo):
        response = await request(pair.alice, "POST", "/", body=data)
        assert "transfer-encoding" not in response.headers
        assert await response.read() == data


async def test_a_body_of_unknown_length_is_chunked(pair: Pair) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert await reader.readuntil(b"0\r\n\r\n") == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async with http_server(pair, serve):
        response = await request(pair.alice, "PUT", "/", body=pieces())
        assert (response.status, await response.read()) == (204, b"")


async def test_interim_answers_are_not_passed_on(pair: Pair) -> None:
    answer = b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with http_server(pair, answering(answer)):
        response = await request(pair.alice, "GET", "/")
        assert (response.status, await response.read()) == (200, b"")


async def test_an_early_answer_ends_the_upload(pair: Pair) -> None:
    async with http_server(pair, answering(b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")):
        response = await request(pair.alice, "POST", "/", body=bytes(5 << 20))
        assert (response.status, await response.read()) == (413, b"")


async def test_no_server_is_502(pair: Pair) -> None:
    async with http_server(pair, answering(b"")) as port:
        pass
    pair.bob.serve("thtp", serve_proxy(f"http://127.0.0.1:{port}/"))
    response = await request(pair.alice, "GET", "/")
    assert (response.status, await response.read()) == (502, b"the server is not there\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 666 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    ],
)
async def test_a_server_that_does_not_speak_http_is_502(pair: Pair, answer: bytes) -> None:
    async with http_server(pair, answering(answer)):
        response = await request(pair.alice, "GET", "/")
        assert response.status == 502
        await response.read()


@pytest.mark.parametrize("end", [b"half", b""])
async def test_a_server_that_stops_within_its_answer_fails_the_channel(
    pair: Pair, end: bytes
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + end
    async with http_server(pair, answering(answer)):
        with pytest.raises(ChannelError):
            await (await request(pair.alice, "GET", "/")).read()


async def test_a_silent_server_is_504(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.runtime.endpoint.channels.thtp_proxy.HEAD_S_MAX", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with http_server(pair, silent):
        response = await request(pair.alice, "POST", "/", body=bytes(5000))
        assert (response.status, await response.read()) == (504, b"the server took too long\n")


async def test_a_server_that_falls_silent_fails_the_channel(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.runtime.endpoint.channels.thtp_proxy.IDLE_S_MAX", 0.05)

    async def stalls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        await reader.read()

    async with http_server(pair, stalls):
        response = await request(pair.alice, "GET", "/")
        with pytest.raises(ChannelError, match="too long"):
            await response.read()


async def test_a_connection_that_does_not_come_about_is_504(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.runtime.endpoint.channels.thtp_proxy.CONNECT_S_MAX", 0.0)
    pair.bob.serve("thtp", serve_proxy("http://127.0.0.1:9"))
    response = await request(pair.alice, "GET", "/")
    assert (response.status, await response.read()) == (504, b"the server does not answer\n")


async def test_a_client_that_leaves_frees_the_server(pair: Pair) -> None:
    left = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
        assert await reader.read() == b""
        left.set()

    async with http_server(pair, endless):
        async with await request(pair.alice, "GET", "/events") as response:
            assert response.status == 200
        await left.wait()


async def test_a_body_that_contradicts_its_length_is_400(pair: Pair) -> None:
    async def waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with http_server(pair, waits):
        for body in (b"123456", b"1"):
            response = await request(pair.alice, "POST", "/", {"content-length": "5"}, body)
            assert response.status == 400
            await response.read()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE"])
async def test_methods_that_reach_beyond_the_origin_are_refused(pair: Pair, method: str) -> None:
    pair.bob.serve("thtp", serve_proxy("http://127.0.0.1:9"))
    response = await request(pair.alice, method, "/")
    assert response.status == 405
    await response.read()


def test_an_origin_is_a_host_and_a_port() -> None:
    assert HttpOrigin.parse("http://127.0.0.1:8080") == HttpOrigin("127.0.0.1", 8080)
    assert HttpOrigin.parse("http://localhost/").authority == "localhost"
    assert HttpOrigin.parse("http://[::1]:81").authority == "[::1]:81"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "https://localhost",
        "ftp://localhost",
        "http://",
        "http://localhost/base",
        "http://localhost?x",
        "http://localhost#x",
        "http://user:password@localhost",
        "http://localhost:99999",
        "http://[::1",
    ],
)
def test_a_url_that_is_more_or_less_than_an_origin_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        serve_proxy(url)
