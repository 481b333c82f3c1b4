"""A sluice: bytes pass in the very call that brings them, as many as there is room for."""

import asyncio
from collections.abc import Callable

import pytest

from rookery.errors import ChannelError
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.runtime.proxy.direct_copy import DirectCopy


class Basin:
    """A stream that holds so much."""

    def __init__(self, room: int = 1 << 20) -> None:
        self.room = room
        self.held = bytearray()
        self.is_ended = False
        self.failure: str | None = None
        self.readable: Callable[[], None] | None = None
        self.writable: Callable[[], None] | None = None

    def take(self, size: int) -> Chunk | None:
        if self.failure is not None:
            raise ChannelError(self.failure)
        if not self.held:
            return b"" if self.is_ended else None
        data = bytes(self.held[:size])
        del self.held[:size]
        return data

    def put(self, data: Chunk) -> int:
        taken = min(len(data), self.room - len(self.held))
        self.held += data[:taken]
        return taken

    def when_readable(self, call: Callable[[], None] | None) -> None:
        self.readable = call

    def when_writable(self, call: Callable[[], None] | None) -> None:
        self.writable = call

    def brings(self, data: bytes) -> None:
        self.held += data
        assert self.readable is not None
        self.readable()


async def started(source: Basin, sink: Basin, moved: list[int]) -> asyncio.Task[None]:
    sluice = DirectCopy(source, sink, lambda: moved.append(len(sink.held)))
    running = asyncio.get_running_loop().create_task(sluice.source_ended())
    await asyncio.sleep(0)
    return running


async def test_bytes_pass_within_the_call() -> None:
    source, sink, moved = Basin(), Basin(), list[int]()
    source.held += b"before "
    running = await started(source, sink, moved)
    source.brings(b"hello")
    assert sink.held == b"before hello"
    assert len(moved) == 2
    source.is_ended = True
    source.brings(b"")
    await running
    assert (source.readable, sink.writable) == (None, None)


async def test_what_finds_no_room_waits_and_the_rest_stays_where_it_is() -> None:
    source, sink = Basin(), Basin(room=4)
    running = await started(source, sink, [])
    source.brings(b"abcdef")
    source.brings(b"gh")
    assert (bytes(sink.held), bytes(source.held)) == (b"abcd", b"gh")
    source.is_ended = True
    arrived = b""
    while not running.done():
        assert len(arrived) < 8
        arrived += bytes(sink.held)
        sink.held.clear()
        assert sink.writable is not None
        sink.writable()
        await asyncio.sleep(0)
    assert arrived + bytes(sink.held) == b"abcdefgh"


async def test_a_failure_of_either_side_is_raised_and_both_are_let_go() -> None:
    source, sink = Basin(), Basin()
    running = await started(source, sink, [])
    source.failure = "broken"
    source.brings(b"")
    with pytest.raises(ChannelError, match="broken"):
        await running
    assert (source.readable, sink.writable) == (None, None)
