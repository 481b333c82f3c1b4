"""Whole messages over a channel (T3)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rookery.errors import ChannelError, ProtocolError
from rookery.link.channels.stream import Content, JsonMessage
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.runtime.endpoint.channels.message_stream import MessageStream
from rookery.wire.link.lob import Packet
from tests.runtime.channel_pair import WINDOW, Pair
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


async def echo(channel: ChannelInterface) -> None:
    async with MessageStream(channel) as messages:
        async for content in messages:
            await messages.send(content)


async def test_messages_of_each_kind_come_back_whole(ends: Ends) -> None:
    sent: list[Content] = [
        b"",
        b"x" * 5000,
        JsonMessage({"a": [1, None]}),
        Packet.of({"type": "chat"}, b"y" * 3000),
    ]
    ends.bob.serve("chat", echo)
    async with MessageStream(ends.alice.open("chat")) as messages:
        assert messages.hashname == ends.hashnames[1]
        for content in sent:
            await messages.send(content)
            assert await messages.receive() == content
        await messages.end()
        assert await messages.receive() is None


async def test_messages_sent_at_once_do_not_mix(ends: Ends) -> None:
    ends.bob.serve("chat", echo)
    bodies = [bytes([n]) * 3500 for n in range(5)]
    async with MessageStream(ends.alice.open("chat")) as messages:
        async with asyncio.TaskGroup() as tasks:
            for body in bodies:
                tasks.create_task(messages.send(body))
            received = [await messages.receive() for _ in bodies]
        assert received == bodies


async def test_an_interrupted_message_ends_the_channel(pair: Pair) -> None:
    async def never_reads(channel: ChannelInterface) -> None:
        await channel.wait_closed()

    pair.bob.serve("chat", never_reads)
    messages = MessageStream(pair.alice.open("chat"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await messages.send(bytes(1000 * (WINDOW + 1)))
    with pytest.raises(ChannelError, match="cut short"):
        await messages.receive()


async def test_a_message_not_begun_costs_nothing(pair: Pair) -> None:
    release = asyncio.Event()

    async def reads_late(channel: ChannelInterface) -> None:
        await release.wait()
        await echo(channel)

    pair.bob.serve("chat", reads_late)
    async with MessageStream(pair.alice.open("chat")) as messages:
        for n in range(WINDOW):
            await messages.send(bytes([n]))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await messages.send(b"never")
        release.set()
        assert [await messages.receive() for n in range(WINDOW)] == [bytes([n]) for n in range(8)]


async def test_nonsense_fails_the_channel_for_both(ends: Ends) -> None:
    told = asyncio.get_running_loop().create_future()

    async def nonsense(channel: ChannelInterface) -> None:
        await channel.send({"enc": "klingon"}, b"x")
        try:
            await channel.receive()
        except ChannelError as error:
            told.set_result(str(error))

    ends.bob.serve("chat", nonsense)
    messages = MessageStream(ends.alice.open("chat"))
    with pytest.raises(ProtocolError, match="unknown encoding"):
        await messages.receive()
    assert "unknown encoding" in await told


async def test_half_a_message_at_the_end_is_an_error(ends: Ends) -> None:
    async def half(channel: ChannelInterface) -> None:
        await channel.send({"frag": True}, b"x")

    ends.bob.serve("chat", half)
    with pytest.raises(ProtocolError, match="within a message"):
        async with MessageStream(ends.alice.open("chat")) as messages:
            await messages.receive()
