"""The small HTTP server: bounded, and closed to the pages of others."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from rookery.errors import UsageError
from rookery.runtime.net import http_listener
from rookery.runtime.net.http_listener import (
    BODY_SIZE_MAX,
    CONNECTIONS_MAX,
    HttpListener,
    HttpRequest,
    HttpResponse,
)


def echo(request: HttpRequest) -> HttpResponse:
    body = [request.method, request.path, len(request.body)]
    return HttpResponse(200, json.dumps(body).encode())


@pytest.fixture
async def listener() -> AsyncIterator[HttpListener]:
    listener = await HttpListener.bind(echo)
    yield listener
    await listener.close()


class Browser:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, head: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self.writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        status = (await self.reader.readline()).split()[1]
        size = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        return int(status), await self.reader.readexactly(size)

    async def is_closed(self) -> bool:
        return await self.reader.read(1) == b""


@pytest.fixture
async def browser(listener: HttpListener) -> AsyncIterator[Browser]:
    browser = await open_browser(listener)
    yield browser
    browser.writer.close()


async def open_browser(listener: HttpListener) -> Browser:
    return Browser(*await asyncio.open_connection("127.0.0.1", listener.port))


async def test_several_requests_share_a_connection(browser: Browser) -> None:
    head = "GET /a%2Fb?c=d HTTP/1.1\nHost: 127.0.0.1"
    assert await browser.ask(head) == (200, b'["GET", "/a%2Fb", 0]')
    head = "POST /p HTTP/1.1\nHost: localhost:1\nContent-Length: 5"
    assert await browser.ask(head, b"hello") == (200, b'["POST", "/p", 5]')


async def test_a_client_may_ask_before_it_sends_its_body(browser: Browser) -> None:
    head = "POST /p HTTP/1.1\nHost: [::1]:1\nContent-Length: 5\nExpect: 100-continue"
    assert await browser.ask(head) == (100, b"")
    browser.writer.write(b"hello")
    assert await browser.answer() == (200, b'["POST", "/p", 5]')


async def test_a_request_without_a_host_is_old_but_welcome(browser: Browser) -> None:
    assert (await browser.ask("GET / HTTP/1.0"))[0] == 200
    assert await browser.is_closed()


@pytest.mark.parametrize(
    "headers",
    [
        "Host: evil.example",
        "Host: 127.0.0.1\nOrigin: http://evil.example",
        "Host: localhost\nOrigin: null",
        "Host: [",
        "Host: 127.0.0.1\nOrigin: http://[",
    ],
)
async def test_pages_of_others_are_refused(browser: Browser, headers: str) -> None:
    status, body = await browser.ask(f"POST /api/publish HTTP/1.1\n{headers}")
    assert status == 403
    assert b"origin" in body


async def test_our_own_page_is_served(browser: Browser) -> None:
    head = "POST / HTTP/1.1\nHost: 127.0.0.1:80\nOrigin: http://127.0.0.1:80"
    assert (await browser.ask(head))[0] == 200


async def test_what_is_not_http_is_told_so_and_closed(browser: Browser) -> None:
    assert (await browser.ask("\x16\x03\x01"))[0] == 400
    assert await browser.is_closed()


async def test_a_head_without_end_is_refused(browser: Browser) -> None:
    browser.writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000)
    assert (await browser.answer())[0] == 431


async def test_a_body_too_large_is_refused(browser: Browser) -> None:
    head = f"POST / HTTP/1.1\nHost: localhost\nContent-Length: {BODY_SIZE_MAX + 1}"
    assert (await browser.ask(head, bytes(BODY_SIZE_MAX + 1)))[0] == 413
    assert await browser.is_closed()


async def test_a_client_that_leaves_is_no_error(listener: HttpListener) -> None:
    browser = await open_browser(listener)
    browser.writer.write(b"GET / HT")
    browser.writer.write_eof()
    assert (await browser.answer())[0] == 400
    silent = await open_browser(listener)
    silent.writer.write_eof()
    assert await silent.is_closed()
    for each in (browser, silent):
        each.writer.close()


async def test_a_slow_client_is_sent_away(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_listener, "IDLE_S_MAX", 0.01)
    assert (await browser.ask("GET / HTTP/1.1\nHost: localhost"))[0] == 200
    assert await browser.is_closed()


async def test_connections_are_bounded(listener: HttpListener) -> None:
    browsers = [await open_browser(listener) for _ in range(CONNECTIONS_MAX + 1)]
    for browser in browsers[:-1]:
        assert (await browser.ask("GET / HTTP/1.1\nHost: localhost"))[0] == 200
    assert await browsers[-1].is_closed()
    for browser in browsers:
        browser.writer.close()


async def test_a_port_can_be_taken_once(listener: HttpListener) -> None:
    with pytest.raises(UsageError, match="in use"):
        await HttpListener.bind(echo, "127.0.0.1", listener.port)
