"""Streams over a channel: asyncio's reader and writer, back-pressure, ends (T3, T5)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rookery.errors import ChannelError, DecodeError, ProtocolError, UsageError
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.runtime.endpoint.channels.stream import (
    LINE_SIZE_MAX,
    OUTGOING_HIGH,
    LinkStream,
    open_stream,
    stream_handler,
)
from tests.runtime.channel_pair import FRAGMENT_SIZE, WINDOW, Pair
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


async def echo(stream: LinkStream) -> None:
    async for chunk in stream:
        stream.write(chunk)
        await stream.drain()


async def send_forever(channel: ChannelInterface) -> None:
    while True:
        await channel.send(None, b"more")


def serve_text(ends: Ends, text: bytes) -> None:
    async def serve(stream: LinkStream) -> None:
        stream.write(text)

    ends.bob.serve("stream", stream_handler(serve))


async def test_a_megabyte_comes_back_byte_exact(ends: Ends) -> None:
    ends.bob.serve("stream", stream_handler(echo))
    async with open_stream(ends.alice) as stream, asyncio.TaskGroup() as tasks:

        async def upload() -> None:
            for start in range(0, len(MEGABYTE), 50_000):
                stream.write(MEGABYTE[start : start + 50_000])
                await stream.drain()
            stream.write_eof()

        tasks.create_task(upload())
        assert await stream.read() == MEGABYTE
        assert stream.at_eof()


async def test_bytes_written_together_go_out_as_one_message(pair: Pair) -> None:
    """Every peer takes a message without `enc` for bytes (T7)."""
    pair.bob.serve("stream", stream_handler(echo))
    async with open_stream(pair.alice) as stream:
        stream.write(MEGABYTE[:2500])
        stream.write_eof()
        await stream.read()
    sent = pair.alice.opened[0].sent
    assert [message.head for message in sent] == [{"frag": True}, {"frag": True}, {}]
    assert [len(message.body) for message in sent] == [1000, 1000, 500]


async def test_message_boundaries_do_not_show(ends: Ends) -> None:
    async def fragments(channel: ChannelInterface) -> None:
        await channel.send({"frag": True}, b"ab")
        await channel.send({"enc": "json"}, b'"c"')
        await channel.send({"x": 1}, b"")
        await channel.send({"enc": "lob"}, b"\x00\x00d")

    ends.bob.serve("stream", fragments)
    async with open_stream(ends.alice) as stream:
        assert await stream.read() == b'ab"c"\x00\x00d'


async def test_a_slow_reader_stops_the_writer(pair: Pair) -> None:
    release = asyncio.Event()

    async def reads_late(stream: LinkStream) -> None:
        await release.wait()
        assert await stream.read() == MEGABYTE

    pair.bob.serve("stream", stream_handler(reads_late))
    async with open_stream(pair.alice) as stream:
        stream.write(MEGABYTE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await stream.drain()
        assert len(pair.alice.opened[0].sent) <= WINDOW
        release.set()
        await stream.drain()


async def test_small_writes_share_packets_and_need_no_drain(pair: Pair) -> None:
    pair.bob.serve("stream", stream_handler(echo))
    async with open_stream(pair.alice) as stream:
        for _ in range(500):
            stream.write(b"x")
        assert await stream.readexactly(500) == b"x" * 500
        assert len(pair.alice.opened[0].sent) == 1
        stream.write(bytearray(b"more"))
        assert await stream.readexactly(4) == b"more"


async def test_reading_with_every_method(ends: Ends) -> None:
    serve_text(ends, b"line one\nline two\n\x00\x01\x02key=value;rest")
    async with open_stream(ends.alice) as stream:
        assert await stream.readline() == b"line one\n"
        assert await stream.readline() == b"line two\n"
        assert await stream.readexactly(0) == b""
        assert await stream.readexactly(3) == b"\x00\x01\x02"
        assert await stream.readuntil(b";") == b"key=value;"
        assert await stream.read(0) == b""
        assert await stream.read(2) == b"re"
        assert not stream.at_eof()
        assert await stream.readline() == b"st"
        assert stream.at_eof()
        assert await stream.read(10) == await stream.read() == await stream.readline() == b""


async def test_a_read_returns_what_there_is(pair: Pair) -> None:
    serve_text(pair, b"x" * (FRAGMENT_SIZE + 1))
    async with open_stream(pair.alice) as stream:
        assert len(await stream.read(10)) == 10
        assert len(await stream.read(5000)) == FRAGMENT_SIZE - 10
        assert len(await stream.read(5000)) == 1


async def test_an_early_end_is_told_as_asyncio_tells_it(ends: Ends) -> None:
    serve_text(ends, b"short")
    async with open_stream(ends.alice) as stream:
        with pytest.raises(asyncio.IncompleteReadError) as caught:
            await stream.readexactly(10)
        assert (caught.value.partial, caught.value.expected) == (b"short", 10)
        with pytest.raises(asyncio.IncompleteReadError):
            await stream.readuntil(b"\n")


async def test_a_line_without_end_is_bounded(ends: Ends) -> None:
    serve_text(ends, bytes(LINE_SIZE_MAX + 5000))
    stream = open_stream(ends.alice)
    with pytest.raises(asyncio.LimitOverrunError):
        await stream.readline()
    stream.abort()


async def test_a_separator_across_packets_is_found(pair: Pair) -> None:
    serve_text(pair, b"x" * (FRAGMENT_SIZE - 1) + b"\r\n" + b"rest")
    async with open_stream(pair.alice) as stream:
        assert len(await stream.readuntil(b"\r\n")) == FRAGMENT_SIZE + 1
        assert await stream.read() == b"rest"


async def test_a_separator_beyond_the_limit_is_not_searched_for(ends: Ends) -> None:
    serve_text(ends, bytes(LINE_SIZE_MAX + 1) + b"\n")
    stream = open_stream(ends.alice)
    await stream.readexactly(0)
    with pytest.raises(asyncio.LimitOverrunError):
        await stream.readuntil()
    stream.abort()


async def test_options_and_names_reach_both_sides(ends: Ends) -> None:
    seen = []

    async def serve(stream: LinkStream) -> None:
        seen.append((stream.options, stream.hashname))

    ends.bob.serve("stream", stream_handler(serve))
    async with open_stream(ends.alice, {"file": "a"}) as stream:
        assert stream.options == {"file": "a"}
        assert stream.hashname == ends.hashnames[1]
    async with open_stream(ends.alice):
        pass
    assert seen == [({"file": "a"}, ends.hashnames[0]), ({}, ends.hashnames[0])]


async def test_options_that_are_no_packet_fail_the_channel(ends: Ends) -> None:
    ends.bob.serve("stream", stream_handler(echo))
    channel = ends.alice.open("stream", None, b"\xff\xff?")
    with pytest.raises(ChannelError, match="head should end"):
        await channel.receive()
    with pytest.raises(DecodeError):
        LinkStream(channel)


async def test_each_direction_ends_on_its_own(ends: Ends) -> None:
    async def answers_at_the_end(stream: LinkStream) -> None:
        request = await stream.read()
        stream.write(request[::-1])

    ends.bob.serve("stream", stream_handler(answers_at_the_end))
    async with open_stream(ends.alice) as stream:
        stream.write(b"abc")
        stream.write_eof()
        stream.write_eof()
        assert await stream.read() == b"cba"


async def test_nothing_can_be_written_after_the_end(ends: Ends) -> None:
    ends.bob.serve("stream", stream_handler(echo))
    async with open_stream(ends.alice) as stream:
        stream.write_eof()
        with pytest.raises(UsageError, match="already ended"):
            stream.write(b"x")
    with pytest.raises(UsageError):
        await stream.readexactly(-1)
    with pytest.raises(UsageError):
        await stream.readuntil(b"")


async def test_closing_drops_what_the_peer_still_sends(pair: Pair) -> None:
    serve_text(pair, MEGABYTE)
    async with open_stream(pair.alice) as stream:
        assert len(await stream.readexactly(10)) == 10
    assert pair.alice.opened[0].failure is None


async def test_a_peer_that_never_ends_is_given_up(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.runtime.endpoint.channels.interface.LINGER_S", 0.05)

    async def never_ends(channel: ChannelInterface) -> None:
        with pytest.raises(ChannelError, match="closed"):
            await send_forever(channel)

    ends.bob.serve("stream", never_ends)
    async with open_stream(ends.alice):
        pass


async def test_an_error_in_the_block_aborts_so_that_half_does_not_pass_for_all(ends: Ends) -> None:
    async def expects_an_error(stream: LinkStream) -> None:
        with pytest.raises(ChannelError, match="aborted"):
            await stream.read()
        stream.abort()

    ends.bob.serve("stream", stream_handler(expects_an_error))
    stream = open_stream(ends.alice)

    async def breaks() -> None:
        async with stream:
            stream.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        await breaks()
    with pytest.raises(ChannelError):
        await stream.read()


async def test_a_refusal_reaches_reader_and_writer(ends: Ends) -> None:
    async def refuses(stream: LinkStream) -> None:
        raise ProtocolError(f"not for {stream.options['name']}")

    ends.bob.serve("stream", stream_handler(refuses))
    stream = open_stream(ends.alice, {"name": "you"})
    stream.write(bytes(OUTGOING_HIGH + 1))
    with pytest.raises(ChannelError, match="not for you"):
        await stream.read()
    with pytest.raises(ChannelError, match="not for you"):
        await stream.drain()
    with pytest.raises(ChannelError, match="not for you"):
        stream.write(b"x")
    stream.close()
    stream.close()
    with pytest.raises(ChannelError, match="not for you"):
        await stream.wait_closed()


async def test_a_refusal_reaches_a_peer_that_only_writes(pair: Pair) -> None:
    async def refuses(stream: LinkStream) -> None:
        raise ProtocolError("read-only")

    pair.bob.serve("stream", stream_handler(refuses))
    stream = open_stream(pair.alice)
    stream.write(bytes(OUTGOING_HIGH + 1))
    with pytest.raises(ChannelError, match="read-only"):
        await stream.drain()


async def test_a_failure_after_the_end_is_not_a_clean_close(ends: Ends) -> None:
    """Our bytes may not have arrived, so whoever waits must hear of it."""

    async def fails_late(channel: ChannelInterface) -> None:
        await channel.receive()
        channel.fail("disk full")

    ends.bob.serve("stream", fails_late)
    with pytest.raises(ChannelError, match="disk full"):
        async with open_stream(ends.alice) as stream:
            stream.write(b"data")


async def test_a_failure_after_both_ends_is_not_a_clean_close(pair: Pair) -> None:
    """The peer ended, then broke before it took what we had sent."""

    async def breaks(channel: ChannelInterface) -> None:
        await channel.end()
        for _ in range(50):  # turns of the loop: time for the other side to wait for us
            await asyncio.sleep(0)
        channel.fail("crashed")

    pair.bob.serve("stream", breaks)
    with pytest.raises(ChannelError, match="crashed"):
        async with open_stream(pair.alice) as stream:
            stream.write(b"data")


async def test_closing_without_waiting_still_delivers(ends: Ends) -> None:
    received = asyncio.get_running_loop().create_future()

    async def reads(stream: LinkStream) -> None:
        received.set_result(await stream.read())

    ends.bob.serve("stream", stream_handler(reads))
    stream = open_stream(ends.alice)
    stream.write(MEGABYTE)
    stream.close()
    assert await received == MEGABYTE
    await stream.wait_closed()


async def test_waiting_for_a_stream_that_both_sides_ended(ends: Ends) -> None:
    ends.bob.serve("stream", stream_handler(echo))
    stream = open_stream(ends.alice)
    stream.write_eof()
    assert await stream.read() == b""
    await stream.wait_closed()


async def test_an_aborted_close_does_not_hang(ends: Ends) -> None:
    async def never_reads(channel: ChannelInterface) -> None:
        await channel.wait_closed()

    ends.bob.serve("stream", never_reads)
    stream = open_stream(ends.alice)
    stream.write(MEGABYTE)
    stream.close()
    await asyncio.sleep(0)
    stream.abort("enough")
    await stream.wait_closed()
