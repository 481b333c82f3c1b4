"""WebSockets over a link (T3)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rookery.errors import ChannelError, ProtocolError, UsageError
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.runtime.endpoint.channels.ws import WebSocket, connect, serve_ws
from tests.runtime.channel_pair import Pair
from tests.runtime.endpoint_pair import EndpointPair
from tests.runtime.ends import Ends


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with Pair() as pair:
        yield pair


@pytest.fixture(params=[Pair, EndpointPair])
async def ends(request: pytest.FixtureRequest) -> AsyncIterator[Ends]:
    async with request.param() as ends:
        yield ends


async def echo(socket: WebSocket) -> None:
    async for message in socket:
        await socket.send(message)


async def test_messages_go_both_ways_until_one_side_closes(ends: Ends) -> None:
    seen = []

    async def serve(socket: WebSocket) -> None:
        seen.append((socket.path, socket.hashname))
        await echo(socket)

    ends.bob.serve("ts", serve_ws({"/echo": serve}))
    async with await connect(ends.alice, "/echo?x=1") as socket:
        assert (socket.path, socket.hashname) == ("/echo?x=1", ends.hashnames[1])
        for message in (b"", b"x", b"y" * 4321):
            await socket.send(message)
            assert await socket.receive() == message
        await socket.send("grüße")
        assert await socket.receive() == "grüße".encode()
    assert seen == [("/echo?x=1", ends.hashnames[0])]


async def test_the_packets_are_those_of_the_page(pair: Pair) -> None:
    pair.bob.serve("ts", serve_ws({"/": echo}))
    async with await connect(pair.alice) as socket:
        await socket.send(b"z" * 1001)
        assert await socket.receive() == b"z" * 1001
    channel = pair.alice.opened[0]
    assert channel.opening.head == {"type": "ts", "path": "/"}
    assert channel.peer.sent[0].head == {"open": True}
    assert [message.head for message in channel.sent] == [{}, {"done": True}]


async def test_the_server_may_close_first(ends: Ends) -> None:
    async def greet(socket: WebSocket) -> None:
        await socket.send("bye")

    ends.bob.serve("ts", serve_ws({"/": greet}))
    async with await connect(ends.alice) as socket:
        assert [message async for message in socket] == [b"bye"]


async def test_an_unknown_path_is_refused(ends: Ends) -> None:
    ends.bob.serve("ts", serve_ws({"/": echo}))
    with pytest.raises(ChannelError, match="unknown path"):
        await connect(ends.alice, "/nowhere")
    with pytest.raises(UsageError):
        await connect(ends.alice, "nowhere")


async def test_a_hostile_path_is_refused(ends: Ends) -> None:
    ends.bob.serve("ts", serve_ws({"/": echo}))
    channel = ends.alice.open("ts", {"path": 7})
    with pytest.raises(ChannelError, match="invalid path"):
        await channel.receive()


async def test_only_an_acceptance_accepts(ends: Ends) -> None:
    async def hasty(channel: ChannelInterface) -> None:
        await channel.send({"done": True}, b"hello")

    ends.bob.serve("ts", hasty)
    with pytest.raises(ProtocolError, match="before it accepted"):
        await connect(ends.alice)

    async def silent(channel: ChannelInterface) -> None:
        pass

    ends.bob.serve("ts", silent)
    with pytest.raises(ChannelError, match="without accepting"):
        await connect(ends.alice)


async def test_giving_up_waiting_tells_the_peer(ends: Ends) -> None:
    async def never_accepts(channel: ChannelInterface) -> None:
        with pytest.raises(ChannelError, match="not accepted"):
            await channel.receive()

    ends.bob.serve("ts", never_accepts)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await connect(ends.alice)


async def test_a_message_beyond_the_bound_fails_the_socket(ends: Ends) -> None:
    async def flood(channel: ChannelInterface) -> None:
        while True:
            await channel.send({}, bytes(1000))

    async def floods(channel: ChannelInterface) -> None:
        await channel.send({"open": True})
        with pytest.raises(ChannelError, match="exceeds"):
            await flood(channel)

    ends.bob.serve("ts", floods)
    socket = await connect(ends.alice)
    with pytest.raises(ProtocolError, match="exceeds"):
        await socket.receive()


async def test_an_error_in_the_block_aborts(ends: Ends) -> None:
    async def expects_an_error(socket: WebSocket) -> None:
        await socket.receive()

    ends.bob.serve("ts", serve_ws({"/": expects_an_error}))
    with pytest.raises(ZeroDivisionError):
        async with await connect(ends.alice) as socket:
            raise ZeroDivisionError
    with pytest.raises(ChannelError, match="aborted"):
        await socket.receive()
