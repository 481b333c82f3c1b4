"""Copies files from and to a member: the client of the service `files`.

    remote = MemberFile("bob", FilePath.parse("inbox/a.txt"))
    copied = await put(opener, Path("a.txt"), remote, on_progress)

`opener` opens a stream to the service `files` of that member.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rookery.errors import ChannelError, DecodeError, ProtocolError, UnreachableError
from rookery.mesh.files.fault import CopyError, CopyRefusedError, FileFault
from rookery.mesh.files.path import FilePath, is_name
from rookery.mesh.files.receiver import FileReceiver
from rookery.mesh.files.request import GetFileRequest, PutFileRequest
from rookery.runtime.files.disk_space import DiskSpace
from rookery.runtime.files.part_file import PartFile
from rookery.runtime.files.safe_open import check_plain, faults, open_folder
from rookery.runtime.files.service import BROKEN_CODE, file_mode
from rookery.runtime.files.source_file import SourceFile
from rookery.runtime.files.transfer import (
    IDLE_S,
    FrameStream,
    OnProgress,
    hash_part,
    hashing_s,
    opened_file,
    receive_file,
    send_file,
)
from rookery.runtime.tunnels.member_stream import MemberStream
from rookery.wire.mesh.file_frames import TransferHave, TransferStored

TRIES = 2

Opener = Callable[[Mapping[str, object]], Awaitable[MemberStream]]  # with this metadata


class MemberFile(NamedTuple):
    """A file of another member, and what people call that."""

    node: str
    path: FilePath

    def __str__(self) -> str:
        return f"{self.node}:{self.path}"


class CopyResult(NamedTuple):
    """What came of it; `kept` bytes were there before."""

    size: int
    kept: int
    digest: str


class _CopyProgress:
    """Remembers how far it got, for what there is to say at the end."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self.kept: int | None = None
        self.done = self.size = 0

    def __call__(self, done: int, size: int) -> None:
        if self.kept is None:
            self.kept = done
        self.done, self.size = done, size
        self._on_progress(done, size)


async def put(
    opener: Opener, local: Path, remote: MemberFile, on_progress: OnProgress
) -> CopyResult:
    """Bring a file of ours to a folder of the member."""
    watched = _CopyProgress(on_progress)
    with _sentences(local, remote, watched):
        async with opened_file(partial(_source, local)) as source:
            frames = await _answered(
                opener, PutFileRequest(remote.path, source.size).meta(), source.size
            )
            with _given_up(frames):
                digest = await _put(frames, source, watched)
    return CopyResult(watched.size, watched.kept or 0, digest)


async def _put(frames: FrameStream, source: SourceFile, on_progress: OnProgress) -> str:
    have = await frames.message()
    if not isinstance(have, TransferHave):
        raise DecodeError("it does not say what it has")
    loop = asyncio.get_running_loop()
    sending = loop.create_task(send_file(frames, source, have, on_progress))
    answering = loop.create_task(frames.message(None))
    try:
        # A member that refuses says so while we still send, and reads no more.
        await asyncio.wait([sending, answering], return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            await answering
            raise DecodeError("it has what we have not sent")
        digest = await _sent(sending, answering)
        async with asyncio.timeout(IDLE_S):
            stored = await answering
    except TimeoutError as error:
        raise CopyError(FileFault.TIMEOUT) from error
    finally:
        sending.cancel()
        answering.cancel()
        await asyncio.gather(sending, answering, return_exceptions=True)
    if not isinstance(stored, TransferStored):
        raise DecodeError("it does not say that it has the file")
    await frames.finish()
    return digest


async def _sent(sending: "asyncio.Task[str]", answering: "asyncio.Task[object]") -> str:
    """A stream that broke may have said why before."""
    try:
        return await sending
    except ChannelError:
        if answering.done():
            await answering
        raise


async def get(
    opener: Opener, remote: MemberFile, local: Path, on_progress: OnProgress
) -> CopyResult:
    """Fetch a file of the member, to this very place."""
    watched, mode = _CopyProgress(on_progress), file_mode()
    with _sentences(local, remote, watched):
        async with opened_file(partial(_part, local, mode)) as part:
            have = await hash_part(part)
            frames = await _answered(opener, GetFileRequest(remote.path, have).meta(), have.size)
            with _given_up(frames):
                digest = await receive_file(
                    frames,
                    part,
                    FileReceiver(have.size),
                    DiskSpace(reserve_size=0),  # it is the user's own disk
                    watched,
                )
                await frames.finish()
    return CopyResult(watched.size, watched.kept or 0, digest)


async def _answered(opener: Opener, meta: Mapping[str, object], hashed: int) -> FrameStream:
    """A stream that the member has begun to answer, after hashing so much at most.

    A tunnel with a member that has just restarted ends with the first stream that is opened in it,
    so another one is tried.
    """
    for tries_left in reversed(range(TRIES)):
        frames = FrameStream(await opener(meta))
        with _given_up(frames):
            try:
                await frames.begun(hashing_s(hashed))
            except ChannelError:
                if tries_left:
                    frames.abort(BROKEN_CODE)
                    continue
                raise
        return frames
    raise AssertionError("the last try returns or raises")


@contextmanager
def _given_up(frames: FrameStream) -> Iterator[None]:
    try:
        yield
    except BaseException:
        frames.abort(BROKEN_CODE)
        raise


@contextmanager
def _sentences(local: Path, remote: MemberFile, watched: _CopyProgress) -> Iterator[None]:
    """Errors as the user understands them: whose file, what is wrong, what to do."""
    try:
        yield
    except CopyRefusedError as error:
        raise error.fault.error(remote) from error
    except CopyError as error:
        if error.fault is FileFault.TIMEOUT:
            raise UnreachableError(_broken_off(remote, "no answer", watched)) from error
        raise error.fault.error(local) from error
    except DecodeError as error:
        raise ProtocolError(f"{remote}: the other side makes no sense: {error}") from error
    except ChannelError as error:
        raise UnreachableError(_broken_off(remote, str(error), watched)) from error


def _broken_off(remote: MemberFile, why: str, watched: _CopyProgress) -> str:
    if watched.kept is None:
        return f"{remote}: {why}"
    return (
        f"{remote}: {why} after {watched.done} of {watched.size} bytes; "
        "copy once more to go on from there"
    )


def _source(local: Path) -> SourceFile:
    with faults():
        check_plain(os.stat(local))
        file = os.open(local, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        check_plain(os.fstat(file))
        return SourceFile(file)
    except BaseException:
        os.close(file)
        raise


def _part(local: Path, mode: int) -> PartFile:
    if not is_name(local.name):
        raise CopyError(FileFault.PATH)
    folder = open_folder(os.fspath(local.parent))
    try:
        return PartFile(folder, local.name, mode)
    except BaseException:
        os.close(folder)
        raise
