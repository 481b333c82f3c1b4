"""Every channel of endpoint and link objects, over real loopback sockets (T3, T5)."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path

import pytest

import rookery
from rookery.errors import ChannelError, DeniedError
from rookery.link.channels.chat_events import TextReceived
from rookery.link.channels.sock import SockAddress
from rookery.runtime.endpoint.channels.chat import ChatInvitation
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.channels.ws import WebSocket
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from tests.patience import PATIENCE_S


@pytest.fixture
async def pair() -> AsyncIterator[tuple[AsyncLink, AsyncEndpoint]]:
    """Alice's link to Bob, and Bob."""
    async with rookery.create(tcp=None) as alice, rookery.create(tcp=None) as bob:
        bob.on_discover = bob.link
        yield await alice.link(bob.address).up(), bob


async def test_stream(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def reverse(stream: LinkStream) -> None:
        stream.write((await stream.read())[::-1])
        await stream.drain()

    bob.on_stream(reverse)
    async with link.stream({"for": "fun"}) as stream:
        stream.write(b"abc")
        stream.write_eof()
        assert await stream.read() == b"cba"


async def test_thtp_over_an_asgi_application(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def app(scope: MutableMapping[str, object], receive: object, send: object) -> None:
        assert callable(send)
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": str(scope["path"]).encode()})

    bob.on_thtp(app)
    response = await link.thtp("GET", "/pot")
    assert (response.status, await response.read()) == (418, b"/pot")


async def test_thtp_over_a_folder(pair: tuple[AsyncLink, AsyncEndpoint], tmp_path: Path) -> None:
    link, bob = pair
    (tmp_path / "page.txt").write_text("text")
    bob.serve_files(tmp_path)
    assert await (await link.thtp("GET", "/page.txt")).read() == b"text"


async def test_thtp_over_a_local_http_server(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        bob.proxy_http(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        assert await (await link.thtp("GET", "/")).read() == b"hi"


async def test_ws(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def repeat(socket: WebSocket) -> None:
        async for message in socket:
            await socket.send(message)

    bob.on_ws({"/repeat": repeat})
    async with await link.ws("/repeat") as socket:
        await socket.send("once")
        assert await socket.receive() == b"once"
    with pytest.raises(ChannelError, match="unknown path"):
        await link.ws("/nowhere")


async def test_sock_is_denied_until_a_rule_allows_it(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DeniedError):
            await link.connect("127.0.0.1", port)
        bob.on_sock(rookery.Rules.parse([f"tcp 127.0.0.1:{port}"]))
        async with await link.connect("127.0.0.1", port) as stream:
            assert await stream.read() == b"hello"
        async with await link.forward("127.0.0.1", 0, "127.0.0.1", port) as forward:
            reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
            assert await reader.read() == b"hello"
            writer.close()
            await writer.wait_closed()


async def test_bind_brings_connections_of_the_far_side_here(
    pair: tuple[AsyncLink, AsyncEndpoint],
) -> None:
    link, bob = pair
    bob.on_sock(rookery.Rules.parse(["bind tcp 127.0.0.1:*"]))

    async def welcome(stream: LinkStream, source: SockAddress | None) -> None:
        assert source is not None
        stream.write(b"welcome " + source.host.encode())
        await stream.drain()

    async with await link.bind(0, welcome) as binding:
        reader, writer = await asyncio.open_connection("127.0.0.1", binding.address.port)
        assert await reader.read() == b"welcome 127.0.0.1"
        writer.close()
        await writer.wait_closed()


async def test_udp_through_the_peer(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair
    bob.on_sock(rookery.Rules.parse(["udp 127.0.0.1:*", "bind udp 127.0.0.1:*"]))
    bound = await link.udp_bind()
    assert bound.address is not None
    connected = await link.udp("127.0.0.1", bound.address.port)
    await connected.send(b"datagram")
    received = await bound.receive()
    assert received is not None
    assert received[0] == b"datagram"
    await connected.close()
    await bound.close()


async def test_chat(pair: tuple[AsyncLink, AsyncEndpoint]) -> None:
    link, bob = pair

    async def accept(invitation: ChatInvitation) -> None:
        await bob.chats.accept(invitation, "Bob").send("hello")

    bob.on_invite(accept)
    async with await link.chat("Alice") as room, asyncio.timeout(PATIENCE_S):
        async for notice in room:
            if isinstance(notice, TextReceived):
                assert notice.message.text == "hello"
                break


async def test_a_keeper_announces_boxes_and_deletes_what_was_read() -> None:
    async with rookery.create() as keeper, rookery.create() as alice, rookery.create() as bob:
        keeper.on_discover = keeper.link
        keeper.keep_boxes()
        link = await alice.link(keeper.address).up()
        await link.leave(bob.address, b"call me", lifetime_s=600)
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def waiting(keeper_name: str, boxes: list[bytes]) -> None:
            told.set_result(keeper_name)

        bob.on_boxes(waiting)
        link = await bob.link(keeper.address).up()
        async with asyncio.timeout(PATIENCE_S):
            assert await told == keeper.hashname
        letters = [letter async for letter in link.letters()]
        assert [(letter.sender, letter.content) for letter in letters] == [
            (alice.hashname, b"call me")
        ]
        assert [letter async for letter in link.letters()] == []
