"""HTTP over a link, the asking side and the plain answering side (T3)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rookery.errors import ChannelError, DecodeError, ProtocolError, UsageError
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.runtime.endpoint.channels.thtp import request
from rookery.runtime.endpoint.channels.thtp_server import ThtpRequest, thtp_handler
from rookery.wire.link.lob import JsonObject, Packet
from tests.runtime.channel_pair import ALICE, Pair
from tests.runtime.endpoint_pair import EndpointPair
from tests.runtime.ends import Ends

MEGABYTE = bytes(range(256)) * 4096


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with Pair() as pair:
        yield pair


@pytest.fixture(params=[Pair, EndpointPair])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    async with request.param() as ends:
        yield ends


def serve(ends: Ends, answer: Callable[[ThtpRequest], Awaitable[None]]) -> None:
    ends.bob.serve("thtp", thtp_handler(answer))


async def echo(received: ThtpRequest) -> None:
    received.start(200, [("content-type", "application/octet-stream")])
    while (piece := await received.piece()) is not None:
        await received.write(piece)
    await received.finish()


async def test_a_small_request_is_one_packet_and_so_is_its_answer(pair: Pair) -> None:
    async def answer(received: ThtpRequest) -> None:
        assert (received.head.method, received.head.path) == ("GET", "/x?y")
        assert received.head.headers == (("accept", "*/*"), ("x-hashname", ALICE))
        assert await received.read() == b""
        await received.respond(200, [("content-type", "text/plain")], b"hello")

    serve(pair, answer)
    response = await request(pair.alice, "GET", "/x?y", {"Accept": "*/*"})
    assert response.status == 200
    assert response.headers == {"content-type": "text/plain", "content-length": "5"}
    assert await response.read() == b"hello"
    channel = pair.alice.opened[0]
    assert (len(channel.sent), len(channel.peer.sent)) == (0, 1)


@pytest.mark.parametrize("size", [1, 900, 1000, 1001, 100_000, len(MEGABYTE)])
async def test_bodies_stream_both_ways_byte_exact(ends: Ends, size: int) -> None:
    serve(ends, echo)
    response = await request(ends.alice, "POST", "/", body=MEGABYTE[:size])
    assert await response.read() == MEGABYTE[:size]


async def test_a_body_can_be_produced_as_it_goes(ends: Ends) -> None:
    serve(ends, echo)
    heard = asyncio.Queue[bytes]()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        yield b""
        assert await heard.get() == b"first"  # it came back before the request was complete
        yield b"second"

    async with await request(ends.alice, "POST", "/", body=pieces()) as response:
        received = []
        async for piece in response:
            received.append(piece)
            heard.put_nowait(piece)
    assert b"".join(received) == b"firstsecond"


async def test_a_body_that_breaks_is_the_callers_to_know(ends: Ends) -> None:
    answered = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        await answered.wait()
        raise KeyError("lost file")

    serve(ends, echo)
    response = await request(ends.alice, "POST", "/", body=pieces())
    answered.set()
    with pytest.raises(KeyError, match="lost file"):
        await response.read()

    async def waits(received: ThtpRequest) -> None:
        await received.read()

    serve(ends, waits)
    with pytest.raises(KeyError, match="lost file"):
        await request(ends.alice, "POST", "/", body=pieces())


async def test_an_early_answer_stops_the_upload(ends: Ends) -> None:
    async def refuses(received: ThtpRequest) -> None:
        await received.respond_text(413, "too much")

    serve(ends, refuses)
    response = await request(ends.alice, "POST", "/", body=MEGABYTE)
    assert response.status == 413
    assert await response.read() == b"too much\n"


async def test_an_unread_response_stops_the_server_until_closed(pair: Pair) -> None:
    gone = asyncio.Event()

    async def endless(received: ThtpRequest) -> None:
        received.start(200)
        try:
            while True:
                await received.write(bytes(1000))
        except ChannelError:
            gone.set()
            raise

    serve(pair, endless)
    async with await request(pair.alice, "GET", "/") as response:
        assert response.status == 200
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(pair.alice.opened[0].peer.sent) < 20
    await gone.wait()


async def test_a_body_read_as_a_whole_is_bounded_on_both_sides(ends: Ends) -> None:
    async def small(received: ThtpRequest) -> None:
        await received.read(size_max=10)

    serve(ends, small)
    response = await request(ends.alice, "POST", "/", body=bytes(11))
    assert (response.status, await response.read()) == (400, b"the body exceeds 10 bytes\n")
    serve(ends, echo)
    response = await request(ends.alice, "POST", "/", body=bytes(11))
    with pytest.raises(ProtocolError, match="exceeds 10"):
        await response.read(size_max=10)


async def test_json_is_read_or_refused(ends: Ends) -> None:
    serve(ends, echo)
    response = await request(ends.alice, "POST", "/", body=b'{"a":[1]}')
    assert await response.json() == {"a": [1]}
    response = await request(ends.alice, "POST", "/", body=b"{")
    with pytest.raises(DecodeError, match="not JSON"):
        await response.json()


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ({":method": "GET", ":path": "nope"}, b"invalid path\n"),
        ({":method": "G T", ":path": "/"}, b"invalid method\n"),
        ({":method": "GET", ":path": "/", "a": "b\nc"}, b"invalid header value\n"),
    ],
)
async def test_an_invalid_request_is_answered_400(
    ends: Ends, head: JsonObject, text: bytes
) -> None:
    serve(ends, echo)
    channel = ends.alice.open("thtp", None, Packet.of(head).serialize(), end=True)
    answer = await channel.receive()
    assert answer is not None
    packet = Packet.parse(answer[1])
    assert (packet.json[":status"], packet.body) == (400, text)


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x00\x03abc", b"\xff\xff", b"\x00\x20{"])
async def test_bytes_that_are_no_request_are_answered_400(ends: Ends, body: bytes) -> None:
    serve(ends, echo)
    channel = ends.alice.open("thtp", None, body, end=True)
    answer = await channel.receive()
    assert answer is not None
    assert Packet.parse(answer[1]).json[":status"] == 400


async def test_a_head_that_never_comes_is_answered_408(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.runtime.endpoint.channels.thtp_server.HEAD_S_MAX", 0.02)
    serve(ends, echo)
    channel = ends.alice.open("thtp", None, b"\x00")
    answer = await channel.receive()
    assert answer is not None
    assert Packet.parse(answer[1]).json[":status"] == 408
    channel.fail("done")


async def test_requests_as_the_public_javascript_peer_sends_them(ends: Ends) -> None:
    """The open without `end`, an empty packet that ends, and stream keys on the way (T7)."""
    serve(ends, echo)
    head = Packet.of({":method": "POST", ":path": "/"}).serialize()
    channel = ends.alice.open("thtp", None, head[:5])
    await channel.send({"frag": True}, head[5:] + b"he")
    await channel.send({"enc": "binary"}, b"llo")
    await channel.end()
    received = b""
    while (message := await channel.receive()) is not None:
        received += message[1]
    assert Packet.parse(received).body == b"hello"


async def test_answers_as_the_public_javascript_peer_sends_them(ends: Ends) -> None:
    """Head and body in packets of their own, with `enc`, then the end (T7)."""

    async def javascript(channel: ChannelInterface) -> None:
        head = Packet.of({":status": 200, "content-type": "text/plain"}).serialize()
        await channel.send({"enc": "binary"}, head)
        await channel.send({"enc": "binary"}, b"hello /vector")
        await channel.end()

    ends.bob.serve("thtp", javascript)
    response = await request(ends.alice, "GET", "/vector")
    assert await response.read() == b"hello /vector"


@pytest.mark.parametrize("body", [b"", b"\x00\x00", b'\x00\x0d{":status":1}', b"\x00\x07nothing"])
async def test_an_answer_that_is_none_is_an_error(ends: Ends, body: bytes) -> None:
    async def nonsense(channel: ChannelInterface) -> None:
        await channel.send(None, body)

    ends.bob.serve("thtp", nonsense)
    with pytest.raises((DecodeError, ProtocolError)):
        await request(ends.alice, "GET", "/")


async def test_a_handler_that_breaks_is_500_and_says_no_more(
    ends: Ends, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks(received: ThtpRequest) -> None:
        raise KeyError("secret")

    serve(ends, breaks)
    response = await request(ends.alice, "GET", "/")
    assert (response.status, await response.read()) == (500, b"internal error\n")
    assert "secret" in caplog.text


async def test_a_handler_that_breaks_within_its_answer_fails_the_channel(ends: Ends) -> None:
    async def breaks(received: ThtpRequest) -> None:
        received.start(200)
        await received.write(b"half")
        raise KeyError("secret")

    serve(ends, breaks)
    with pytest.raises(ChannelError, match="internal error"):
        await (await request(ends.alice, "GET", "/")).read()


async def test_a_handler_that_says_nothing_is_500(ends: Ends) -> None:
    async def silent(received: ThtpRequest) -> None:
        pass

    serve(ends, silent)
    response = await request(ends.alice, "GET", "/")
    assert (response.status, await response.read()) == (500, b"no response\n")


async def test_a_head_request_gets_no_body(ends: Ends) -> None:
    async def answer(received: ThtpRequest) -> None:
        await received.respond(200, [], b"hello")

    serve(ends, answer)
    response = await request(ends.alice, "HEAD", "/")
    assert (response.headers["content-length"], await response.read()) == ("5", b"")


async def test_the_order_of_calls_is_kept(ends: Ends) -> None:
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer(received: ThtpRequest) -> None:
        with pytest.raises(UsageError, match="not open"):
            await received.write(b"too early")
        received.start(200)
        with pytest.raises(UsageError, match="twice"):
            received.start(200)
        await received.write(b"")
        await received.finish(b"now")
        with pytest.raises(UsageError, match="not open"):
            await received.finish()
        answered.set_result(received.hashname)

    serve(ends, answer)
    response = await request(ends.alice, "GET", "/")
    assert await response.read() == b"now"
    assert await answered == ends.hashnames[0]


async def test_repeated_headers_are_joined_for_reading(ends: Ends) -> None:
    async def answer(received: ThtpRequest) -> None:
        await received.respond(200, [("set-cookie", "a=1"), ("set-cookie", "b=2")])

    serve(ends, answer)
    response = await request(ends.alice, "GET", "/")
    assert response.headers["set-cookie"] == "a=1, b=2"
    assert ("set-cookie", "b=2") in response.head.headers
    await response.read()


async def test_a_request_that_http_cannot_mean_is_not_sent(pair: Pair) -> None:
    with pytest.raises(UsageError, match="invalid path"):
        await request(pair.alice, "GET", "no slash")
    assert pair.alice.opened == []


async def test_a_peer_without_the_service_refuses(ends: Ends) -> None:
    with pytest.raises(ChannelError, match="unknown type"):
        await request(ends.alice, "GET", "/")


async def test_giving_up_waiting_tells_the_peer(ends: Ends) -> None:
    gone = asyncio.Event()

    async def slow(received: ThtpRequest) -> None:
        await received.wait_disconnected()
        gone.set()
        raise ChannelError("gone")

    serve(ends, slow)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await request(ends.alice, "POST", "/", body=MEGABYTE)
    await gone.wait()
