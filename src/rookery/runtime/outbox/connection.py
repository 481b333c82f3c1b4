"""A session over one byte stream, from the introduction to the end.

Reading and writing wait for each other nowhere: answers are read while a large request is written.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rookery.errors import DecodeError, ProtocolError, RemoteError, RookeryError
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.peer import OutboxPeer
from rookery.outbox.session import OutboxSession
from rookery.wire import base32
from rookery.wire.outbox.frames import (
    FRAME_SIZE_MAX,
    LENGTH_SIZE,
    ErrorFrame,
    IntroductionFrame,
    OutboxErrorCode,
)
from rookery.wire.outbox.reader import parse_frame

if TYPE_CHECKING:
    from rookery.runtime.net.byte_stream import ByteStream

READ_SIZE: Final = 1 << 16
INTRODUCTION_S_MAX: Final = 30.0
_FAREWELL_S: Final = 1.0  # for the other side to read the reason


class OutboxConnection:
    """Runs until the stream is lost, a side breaks the protocol, or a newer session replaces it."""

    def __init__(
        self,
        peer: OutboxPeer,
        stream: "ByteStream",
        now: Callable[[], float],
        arrived: Callable[[OutboxPeer, list[IncomingRequest]], None],
        happened: Callable[[], None],
    ) -> None:
        self._peer = peer
        self._stream = stream
        self._now = now
        self._arrived = arrived
        self._happened = happened  # something may have ended
        self._stirred = asyncio.Event()
        self._session = OutboxSession(peer, self._stirred.set, hashname=base32.decode(peer.host))
        self.error: RookeryError | None = None  # why it ended

    async def run(self, first: bytes = b"") -> None:
        """`first` was read already. The stream is released however the session ends."""
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write())
                await self._read(first)
                writing.cancel()
        except BaseExceptionGroup as group:
            errors = group.split((RookeryError, OSError, TimeoutError))
            if errors[1] is not None:
                raise
            self.error = _first_error(group)
        finally:
            self._session.close(self._now())
            self._stream.abort(0)

    async def _read(self, first: bytes) -> None:
        try:
            async with asyncio.timeout(INTRODUCTION_S_MAX) as limit:
                data = first or await self._stream.read(READ_SIZE)
                while data and not self._session.is_closed:
                    arrivals = self._session.receive(data, self._now())
                    if self._session.sending is not None:
                        limit.reschedule(None)
                    if arrivals:
                        self._arrived(self._peer, arrivals)
                    self._happened()
                    data = await self._stream.read(READ_SIZE)
        except (DecodeError, ProtocolError) as error:
            await self._say_why(error)
            raise

    async def _write(self) -> None:
        session, stirred = self._session, self._stirred
        while not session.is_closed:
            stirred.clear()
            data = session.take(self._now())
            if data:
                await self._stream.write(data)
            else:
                await stirred.wait()
        self._stream.abort(0)  # a newer session has replaced it; readers get an error

    async def _say_why(self, error: RemoteError) -> None:
        farewell = self._session.refuse(OutboxErrorCode.PROTOCOL, str(error))
        self._session.close(self._now())
        await part(self._stream, farewell)


async def part(stream: "ByteStream", farewell: bytes) -> None:
    """Send the last frames, and leave the other side a moment to read them."""
    with suppress(RookeryError, OSError, TimeoutError):
        async with asyncio.timeout(_FAREWELL_S):
            await stream.write(farewell)
            await stream.finish()
            while await stream.read(READ_SIZE):
                pass


async def read_introduction(stream: "ByteStream") -> tuple[IntroductionFrame, bytes]:
    """The peer's introduction and its bytes; RemoteError when none comes."""
    data = b""
    size = LENGTH_SIZE
    async with asyncio.timeout(INTRODUCTION_S_MAX):
        while len(data) < size:
            more = await stream.read(size - len(data))
            if not more:
                raise DecodeError("the stream ends before an introduction")
            data += more
            if len(data) == LENGTH_SIZE:
                size += int.from_bytes(data, "big")
                if size > FRAME_SIZE_MAX:
                    raise DecodeError("no introduction is so long")
    frame = parse_frame(data)
    if not isinstance(frame, IntroductionFrame):
        raise ProtocolError("a session begins with an introduction")
    return frame, data


def unknown_peer(text: str) -> bytes:
    return ErrorFrame(0, OutboxErrorCode.UNKNOWN_PEER, text).serialize()


def _first_error(group: BaseExceptionGroup[BaseException]) -> RookeryError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RookeryError):
        return error
    return ProtocolError(f"the stream was lost: {error}")
