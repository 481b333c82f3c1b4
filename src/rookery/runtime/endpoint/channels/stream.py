"""Streams: asyncio's reader and writer in one object, over a `stream` channel.

    channel ──receive──▶ incoming ──▶ read, readline    fetches one packet when it needs one
    channel ◀──send───── outgoing ◀── write             drain() waits while too much is queued

A packet that nobody reads is not acknowledged, so a slow reader slows the writer down, whichever
side it is on.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

from rookery.errors import ChannelError, RookeryError, UsageError
from rookery.link.channels.stream import TYPE, MessageBoundaries, parse_options, serialize_options
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    ChannelOpener,
    Handler,
    failure_text,
    linger,
)
from rookery.wire.link.lob import JsonObject

LINE_SIZE_MAX = 1 << 16
OUTGOING_HIGH = 1 << 18  # drain() waits above this,
OUTGOING_LOW = 1 << 16  # until this is left


class LinkStream:
    """Bytes both ways; each direction ends on its own."""

    def __init__(self, channel: ChannelInterface) -> None:
        self.options = parse_options(channel.opening[1])
        self._channel = channel
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._joints = MessageBoundaries()
        self._ended = False  # by the peer
        self._ending = False  # by us
        self._failure: RookeryError | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._flusher: asyncio.Task[None] | None = None
        self._closer: asyncio.Task[None] | None = None

    @property
    def hashname(self) -> str:
        """Who is at the other end."""
        return self._channel.link.hashname

    async def read(self, n: int = -1) -> bytes:
        """Up to `n` bytes, as soon as there are any; all until the end if `n` is negative.

        Empty at the end of the stream. The peer decides how much "all" is.
        """
        if n == 0:
            return b""
        if n < 0:
            while await self._fill():
                pass
            return self._take(len(self._incoming))
        if not self._incoming:
            packet = await self._packet()
            if len(packet) <= n:
                return packet  # the common case, without another copy
            self._incoming += packet
        return self._take(n)

    async def readexactly(self, n: int) -> bytes:
        """Exactly `n` bytes, or asyncio.IncompleteReadError with what there was."""
        if n < 0:
            raise UsageError("readexactly needs a size of 0 or more")
        while len(self._incoming) < n:
            if not await self._fill():
                raise asyncio.IncompleteReadError(self._take(len(self._incoming)), n)
        return self._take(n)

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        """Up to and with `separator`; asyncio's two errors when it does not come.

        IncompleteReadError at the end of the stream, LimitOverrunError beyond LINE_SIZE_MAX.
        """
        if not separator:
            raise UsageError("the separator is empty")
        searched = 0
        while (found := self._incoming.find(separator, searched)) < 0:
            searched = max(0, len(self._incoming) - len(separator) + 1)
            if searched > LINE_SIZE_MAX:
                raise asyncio.LimitOverrunError("no separator within the limit", searched)
            if not await self._fill():
                raise asyncio.IncompleteReadError(self._take(len(self._incoming)), None)
        if found > LINE_SIZE_MAX:
            raise asyncio.LimitOverrunError("the separator is beyond the limit", found)
        return self._take(found + len(separator))

    async def readline(self) -> bytes:
        """One line with its newline; the last one may have none."""
        try:
            return await self.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial

    def at_eof(self) -> bool:
        """Whether the peer ended and everything was read."""
        return self._ended and not self._incoming

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.read(LINE_SIZE_MAX):
            yield chunk

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Queue `data`; it goes out by itself. Follow with drain() to keep the queue short."""
        self._check_writing()
        self._outgoing += data
        if len(self._outgoing) > OUTGOING_HIGH:
            self._writable.clear()
        self._wake_flusher()

    async def drain(self) -> None:
        """Wait until the queue is short enough to write more."""
        await self._writable.wait()
        if self._failure is not None:
            raise self._failure

    def write_eof(self) -> None:
        """End our direction once all is sent; the peer may go on."""
        if not self._ending:
            self._ending = True
            self._wake_flusher()

    def close(self) -> None:
        """Send what is queued, end, and drop what the peer may still send."""
        if self._closer is None:
            self.write_eof()
            self._closer = asyncio.get_running_loop().create_task(self._close())

    async def wait_closed(self) -> None:
        """Wait until both directions ended; raises what kept our bytes from arriving."""
        if self._closer is None:
            await self._channel.wait_closed()
        else:
            await asyncio.wait([self._closer])
        if self._failure is not None:
            raise self._failure

    def abort(self, text: str = "aborted") -> None:
        """Give the stream up at once; the peer is told why."""
        self._ending = True
        self._outgoing.clear()
        for task in (self._flusher, self._closer):
            if task is not None:
                task.cancel()
        self._channel.fail(text)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            # The peer must not take what it got so far for everything.
            self.abort(failure_text(error))
            return
        self.close()
        await self.wait_closed()

    def _check_writing(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._ending:
            raise UsageError("the stream is already ended on this side")

    async def _packet(self) -> bytes:
        """The next bytes of the peer, empty at the end."""
        while not self._ended:
            try:
                message = await self._channel.receive()
            except ChannelError as error:
                self._failure = error  # a writer need not try to know
                raise
            if message is None:
                self._ended = True
            elif message[1]:
                return message[1]
        return b""

    async def _fill(self) -> bool:
        packet = await self._packet()
        self._incoming += packet
        return bool(packet)

    def _take(self, n: int) -> bytes:
        return _split(self._incoming, n)

    def _wake_flusher(self) -> None:
        if self._flusher is None:
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._outgoing:
                fragment = _split(self._outgoing, self._channel.fragment_size)
                head = self._joints.head(len(fragment), more=bool(self._outgoing))
                await self._channel.send(head, fragment)
                if len(self._outgoing) <= OUTGOING_LOW:
                    self._writable.set()
            if self._ending:
                await self._channel.end()
        except RookeryError as error:
            self._failure = error
            self._outgoing.clear()
        finally:
            self._flusher = None
            self._writable.set()

    async def _close(self) -> None:
        try:
            if self._flusher is not None:
                await asyncio.wait([self._flusher])
            if self._failure is None:
                await linger(self._channel)
        except RookeryError as error:
            self._failure = error


def _split(buffer: bytearray, n: int) -> bytes:
    """Take `n` bytes off the front, in one copy."""
    taken = bytes(memoryview(buffer)[:n])
    del buffer[:n]
    return taken


def open_stream(link: ChannelOpener, options: JsonObject | None = None) -> LinkStream:
    """A stream to the other end of `link`; the options tell it what the stream is for."""
    return LinkStream(link.open(TYPE, body=serialize_options(options)))


def stream_handler(serve: Callable[[LinkStream], Awaitable[None]]) -> Handler:
    """A channel handler that gives each stream to `serve` and closes it afterwards."""

    async def handle(channel: ChannelInterface) -> None:
        async with LinkStream(channel) as stream:
            await serve(stream)

    return handle
