"""The service `files`: lets members copy from and to the folders that the rules name.

node.serve(FILES, FileService(FolderRules.parse(["inbox=/srv/inbox:rw"])).handle)
"""

import asyncio
import os
from collections import Counter
from functools import partial

import msgspec

from rookery.errors import CongestionError, DecodeError, RookeryError
from rookery.mesh.files.fault import CopyError, CopyRefusedError, FileFault
from rookery.mesh.files.folder import FolderRules
from rookery.mesh.files.receiver import FileReceiver
from rookery.mesh.files.request import GetFileRequest, PutFileRequest, parse_request
from rookery.runtime.files.disk_space import RESERVE_SIZE, DiskSpace
from rookery.runtime.files.part_file import PartFile
from rookery.runtime.files.safe_open import open_file, open_folder
from rookery.runtime.files.source_file import SourceFile
from rookery.runtime.files.transfer import (
    IDLE_S,
    FrameStream,
    hash_part,
    opened_file,
    receive_file,
    send_file,
)
from rookery.runtime.tunnels.member_stream import READ_SIZE, MemberStream
from rookery.runtime.tunnels.quota import MemberQuota
from rookery.wire.mesh.file_frames import TransferFailed, TransferStored

REFUSED_S = 5.0  # for a refused member to stop sending
BROKEN_CODE = 1


class FileLimits(msgspec.Struct, frozen=True):
    """Limits per member and in total."""

    member_copies_max: int = 4
    copies_max: int = 16
    reserve_size: int = RESERVE_SIZE
    idle_s: float = IDLE_S  # without anything from the other end


class FileService:
    """Without rules it refuses every request."""

    def __init__(self, rules: FolderRules | None = None, limits: FileLimits | None = None) -> None:
        self._limits = limits = limits or FileLimits()
        self.rules = rules or FolderRules()
        self.refused: Counter[FileFault] = Counter()
        self._seats = MemberQuota(limits.member_copies_max, limits.copies_max)
        self._room = DiskSpace(limits.reserve_size)
        self._mode = file_mode()

    async def handle(self, stream: MemberStream) -> None:
        """Serve one stream that a member opened, to its end."""
        frames = FrameStream(stream, self._limits.idle_s)
        try:
            await self._serve(stream, frames)
        except CopyRefusedError:
            stream.abort(BROKEN_CODE)
        except CopyError as error:
            await self._refuse(stream, frames, error.fault)
        except CongestionError:
            await self._refuse(stream, frames, FileFault.BUSY)
        except DecodeError:
            await self._refuse(stream, frames, FileFault.INVALID)
        except RookeryError:
            stream.abort(BROKEN_CODE)  # it was lost; what has arrived is kept

    async def _serve(self, stream: MemberStream, frames: FrameStream) -> None:
        request = parse_request(stream.meta)
        with self._seats.take(stream.peer):
            match request:
                case GetFileRequest():
                    await self._give(frames, request, stream.peer)
                case PutFileRequest():
                    await self._take(frames, request, stream.peer)
        await stream.finish()

    async def _give(self, frames: FrameStream, request: GetFileRequest, member: str) -> None:
        path = request.path
        directory = self.rules.directory(path.folder, member, to_write=False)
        async with opened_file(partial(_source, directory, path.parts)) as source:
            await send_file(frames, source, request.have, _no_progress)

    async def _take(self, frames: FrameStream, request: PutFileRequest, member: str) -> None:
        path = request.path
        directory = self.rules.directory(path.folder, member, to_write=True)
        async with opened_file(partial(_part, directory, path.parts, self._mode)) as part:
            have = await hash_part(part)
            await frames.send(have)
            receiving = FileReceiver(have.size, request.size)
            await receive_file(frames, part, receiving, self._room, _no_progress)
        await frames.send(TransferStored())

    async def _refuse(self, stream: MemberStream, frames: FrameStream, fault: FileFault) -> None:
        """Send the reason, and let the other side read it before the stream ends."""
        self.refused[fault] += 1
        try:
            async with asyncio.timeout(REFUSED_S):
                await frames.send(TransferFailed(fault.value))
                await stream.finish()
                while await stream.read(READ_SIZE):
                    pass
        except TimeoutError:
            stream.abort(BROKEN_CODE)
        except RookeryError:
            return  # it has read the reason and ended the stream


def _no_progress(done: int, size: int) -> None:
    """Ignore progress."""


def file_mode() -> int:
    """The permissions of a new file under this process's umask.

    To be called while no other thread makes files: the umask can only be read by changing it.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _source(directory: str, parts: tuple[str, ...]) -> SourceFile:
    folder = open_folder(directory, parts[:-1])
    try:
        return SourceFile(open_file(folder, parts[-1]))
    finally:
        os.close(folder)


def _part(directory: str, parts: tuple[str, ...], mode: int) -> PartFile:
    folder = open_folder(directory, parts[:-1])
    try:
        return PartFile(folder, parts[-1], mode)
    except BaseException:
        os.close(folder)
        raise
