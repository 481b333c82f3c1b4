"""ASGI applications over `thtp` (T3)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rookery.errors import ChannelError
from rookery.runtime.endpoint.channels.thtp import request
from rookery.runtime.endpoint.channels.thtp_asgi import Event, Scope, serve_asgi
from tests.runtime.channel_pair import Pair
from tests.runtime.endpoint_pair import EndpointPair
from tests.runtime.ends import Ends

Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


@pytest.fixture(params=[Pair, EndpointPair])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    async with request.param() as ends:
        yield ends


def start(*headers: tuple[bytes, bytes]) -> Event:
    return {"type": "http.response.start", "status": 200, "headers": list(headers)}


def body(data: bytes, *, more: bool = False) -> Event:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await send(start())
    more = True
    while more:
        event = await receive()
        more = bool(event["more_body"])
        await send(body(bytes(event["body"]), more=more))  # type: ignore[call-overload]


async def test_the_scope_describes_peer_and_request(ends: Ends) -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await send(start((b"Content-Type", b"text/plain"), (b"connection", b"close")))
        await send(body(b"ok"))

    ends.bob.serve("thtp", serve_asgi(app))
    headers = {"Accept": "*/*", "X-Hashname": "mallory"}
    response = await request(ends.alice, "GET", "/caf%C3%A9?q=%201", headers)
    assert response.headers == {"content-type": "text/plain"}
    assert await response.read() == b"ok"
    assert seen == [
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/café",
            "raw_path": b"/caf%C3%A9",
            "query_string": b"q=%201",
            "root_path": "",
            "headers": [(b"accept", b"*/*"), (b"x-hashname", ends.hashnames[0].encode())],
            "client": (ends.hashnames[0], 0),
            "server": None,
        }
    ]


async def test_bodies_stream_both_ways(ends: Ends) -> None:
    ends.bob.serve("thtp", serve_asgi(echo))
    data = bytes(range(256)) * 1000
    response = await request(ends.alice, "POST", "/", body=data)
    assert await response.read() == data


async def test_a_client_that_leaves_is_a_disconnect(ends: Ends) -> None:
    events: asyncio.Queue[Event] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body(b"first", more=True))
        events.put_nowait(await receive())
        events.put_nowait(await receive())
        await send(body(b"nobody reads this"))

    ends.bob.serve("thtp", serve_asgi(app))
    async with await request(ends.alice, "GET", "/"):
        assert (await events.get())["type"] == "http.request"
    assert (await events.get())["type"] == "http.disconnect"


async def test_a_client_that_leaves_within_its_body_is_a_disconnect(ends: Ends) -> None:
    events: asyncio.Queue[Event] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body(b"first", more=True))
        events.put_nowait(await receive())
        events.put_nowait(await receive())

    async def forever() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.Event().wait()

    ends.bob.serve("thtp", serve_asgi(app))
    async with await request(ends.alice, "POST", "/", body=forever()):
        assert (await events.get())["body"] == b"one"
    assert (await events.get())["type"] == "http.disconnect"


async def test_after_the_answer_receive_says_disconnect(ends: Ends) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(start())
        await send(body(b"done"))
        assert (await receive())["type"] == "http.disconnect"

    ends.bob.serve("thtp", serve_asgi(app))
    response = await request(ends.alice, "GET", "/")
    assert await response.read() == b"done"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "websocket.accept"},
        {"type": "http.response.body", "body": b"before the start"},
        {"type": "http.response.start"},
        {"type": "http.response.start", "status": 99},
        {"type": "http.response.start", "status": 200, "headers": 5},
        {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\r\nc")]},
    ],
)
async def test_an_application_that_breaks_the_rules_is_500(ends: Ends, event: Event) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(event)

    ends.bob.serve("thtp", serve_asgi(app))
    response = await request(ends.alice, "GET", "/")
    assert response.status == 500
    await response.read()


async def test_an_application_that_raises_is_500(ends: Ends) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ConnectionResetError("its own database")

    ends.bob.serve("thtp", serve_asgi(app))
    response = await request(ends.alice, "GET", "/")
    assert (response.status, await response.read()) == (500, b"internal error\n")


async def test_an_application_that_stops_halfway_fails_the_channel(ends: Ends) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(body(b"half", more=True))
        await send({"type": "http.response.body", "body": "text", "more_body": True})

    ends.bob.serve("thtp", serve_asgi(app))
    with pytest.raises(ChannelError, match="internal error"):
        await (await request(ends.alice, "GET", "/")).read()
