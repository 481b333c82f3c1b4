"""Sends or receives one file over a stream.

Access to the disk happens in a thread, and waiting for the other end has a time limit.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

from rookery.errors import ChannelError, DecodeError
from rookery.mesh.files.fault import CopyError, CopyRefusedError, FileFault
from rookery.mesh.files.receiver import FileReceiver, FinishFile, StoreChunk
from rookery.runtime.files.disk_space import DiskSpace, SpaceReservation
from rookery.runtime.files.part_file import PartFile
from rookery.runtime.files.source_file import SourceFile
from rookery.runtime.tunnels.member_stream import MemberStream
from rookery.wire.mesh.file_frames import (
    Frame,
    FrameReader,
    Message,
    TransferFailed,
    TransferHave,
    TransferStart,
    TransferWhole,
    data_header,
    message_frame,
)

IDLE_S = 30.0  # without anything from the other end
HASH_RATE = 100e6  # bytes a second that the slowest of us hashes
BLOCK_SIZE = 1 << 18  # read and written at a time

LocalFile = TypeVar("LocalFile", SourceFile, PartFile)
OnProgress = Callable[[int, int], None]  # bytes that are there, of how many


def hashing_s(size: int) -> float:
    """How long it may take the other end to hash so much."""
    return size / HASH_RATE


@asynccontextmanager
async def opened_file(opening: Callable[[], LocalFile]) -> AsyncIterator[LocalFile]:
    """A file of ours, opened in a thread; closed after whatever a thread still does with it."""
    loop = asyncio.get_running_loop()
    opened = loop.run_in_executor(None, opening)
    try:
        file = await asyncio.shield(opened)
    except asyncio.CancelledError:
        # The thread goes on, and a lock that nobody knows of would last as long as we do.
        opened.add_done_callback(_close)
        raise
    try:
        yield file
    finally:
        await asyncio.shield(loop.run_in_executor(None, file.close))


def _close(opened: "asyncio.Future[LocalFile]") -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()


class FrameStream:
    """A stream as frames; CopyError for one that stands still, ChannelError for one that broke."""

    def __init__(self, stream: MemberStream, idle_s: float = IDLE_S) -> None:
        self._stream = stream
        self._idle_s = idle_s
        self._reader = FrameReader()
        self._frames: deque[Frame] = deque()

    async def begun(self, longer_s: float | None) -> None:
        """Until there is a frame, within the usual time and so much longer; None: whenever."""
        limit_s = None if longer_s is None else self._idle_s + longer_s
        while not self._frames:
            try:
                async with asyncio.timeout(limit_s):
                    data = await self._stream.read(BLOCK_SIZE)
            except TimeoutError as error:
                raise CopyError(FileFault.TIMEOUT) from error
            if not data:
                raise ChannelError("the stream ends too soon")
            self._frames.extend(self._reader.feed(data))

    async def next(self, longer_s: float | None = 0.0) -> Frame:
        await self.begun(longer_s)
        frame = self._frames.popleft()
        if not isinstance(frame, bytes):
            return frame
        pieces = [frame]  # however small they were cut, they are written at once
        while self._frames and isinstance(piece := self._frames[0], bytes):
            pieces.append(piece)
            self._frames.popleft()
        return b"".join(pieces)

    async def message(self, longer_s: float | None = 0.0) -> Message:
        """The next frame, which is to be a message; CopyRefusedError when it says no."""
        frame = await self.next(longer_s)
        if isinstance(frame, TransferFailed):
            raise CopyRefusedError(FileFault.of_word(frame.fault))
        if isinstance(frame, bytes):
            raise DecodeError("bytes of a file where there is none")
        return frame

    async def send(self, message: Message) -> None:
        await self.write(message_frame(message))

    async def finish(self) -> None:
        await self._stream.finish()

    def abort(self, code: int) -> None:
        self._stream.abort(code)

    async def write(self, data: bytes) -> None:
        try:
            async with asyncio.timeout(self._idle_s):
                await self._stream.write(data)
        except TimeoutError as error:
            raise CopyError(FileFault.TIMEOUT) from error


async def send_file(
    frames: FrameStream, source: SourceFile, have: TransferHave, on_progress: OnProgress
) -> str:
    """All that the other end has not got yet; the digest of the whole."""
    while await asyncio.to_thread(source.skip, have):
        pass
    offset = source.agree(have)
    await frames.send(TransferStart(source.size, offset))
    on_progress(offset, source.size)
    while data := await asyncio.to_thread(source.read, BLOCK_SIZE):
        await frames.write(data_header(len(data)) + data)
        on_progress(source.position, source.size)
    digest = await asyncio.to_thread(source.whole)
    await frames.send(TransferWhole(digest))
    return digest


async def hash_part(part: PartFile) -> TransferHave:
    """What is here already."""
    while await asyncio.to_thread(part.hash_more):
        pass
    return part.have


async def receive_file(
    frames: FrameStream,
    part: PartFile,
    receiving: FileReceiver,
    room: DiskSpace,
    on_progress: OnProgress,
) -> str:
    """Until it is in its place; its digest. It may go on behind what was hashed of the part."""
    promise: SpaceReservation | None = None
    with ExitStack() as stack:
        while True:
            longer_s = hashing_s(part.hashed) if promise is None else 0.0
            match receiving.handle(await frames.next(longer_s)):
                case TransferStart(size, offset):
                    await asyncio.to_thread(part.begin, offset)
                    promise = stack.enter_context(room.promise(part.folder, size - offset))
                    on_progress(offset, size)
                case StoreChunk(data):
                    assert promise is not None
                    assert receiving.announced is not None
                    await asyncio.to_thread(part.write, data)
                    promise.written(len(data))
                    on_progress(receiving.received, receiving.announced)
                case FinishFile(digest):
                    await asyncio.to_thread(part.finish, digest)
                    return digest
