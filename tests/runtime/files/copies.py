"""Copies between two members in memory, with a stream that can be cut at any byte."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import blake2b
from pathlib import Path

from rookery.errors import ChannelError
from rookery.mesh.files.folder import FolderRules
from rookery.mesh.files.path import FilePath
from rookery.runtime.files.copy import MemberFile
from rookery.runtime.files.service import FileLimits, FileService
from tests.patience import PATIENCE_S
from tests.runtime.proxy.town import ALICE, MemoryStream, pair

LIMITS = FileLimits(reserve_size=0, idle_s=10.0)


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


def place(text: str) -> MemberFile:
    return MemberFile("bob", FilePath.parse(text))


def nobody(done: int, size: int) -> None:
    """Nobody watches."""


class Cut:
    """A stream that breaks once so many bytes went over it, both ways together."""

    def __init__(self, stream: MemoryStream, size: int) -> None:
        self.meta, self.peer = stream.meta, stream.peer
        self._stream = stream
        self._left = size

    async def read(self, size: int) -> bytes:
        data = await self._stream.read(size)
        return data[: self._passed(len(data))]

    async def write(self, data: bytes) -> None:
        passed = self._left
        await self._stream.write(data[:passed])
        self._passed(len(data))

    async def finish(self) -> None:
        await self._stream.finish()

    def abort(self, code: int) -> None:
        self._stream.abort(code)

    def _passed(self, size: int) -> int:
        if size > self._left:
            self._stream.abort(9)
            raise ChannelError("the way was cut")
        self._left -= size
        return size


class Bob:
    """Serves `inbox` to write, `docs` to read, and what only he names to others."""

    def __init__(self, folder: Path, limits: FileLimits = LIMITS) -> None:
        self.inbox, self.docs = folder / "inbox", folder / "docs"
        self.inbox.mkdir(exist_ok=True)
        self.docs.mkdir(exist_ok=True)
        rules = [f"inbox={self.inbox}:rw", f"docs={self.docs}", f"his={self.docs} from {'a' * 52}"]
        self.service = FileService(FolderRules.parse(rules), limits)
        self.tasks: set[asyncio.Task[None]] = set()
        self.cut_at: int | None = None

    def stream(self, meta: Mapping[str, object], member: str = ALICE) -> MemoryStream:
        near, far = pair(member, "bob", meta)
        task = asyncio.get_running_loop().create_task(self.service.handle(far))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return near

    async def open(self, meta: Mapping[str, object]) -> MemoryStream | Cut:
        stream = self.stream(meta)
        return stream if self.cut_at is None else Cut(stream, self.cut_at)

    async def quiet(self) -> None:
        """Until all that was asked for is done with."""
        async with asyncio.timeout(PATIENCE_S):
            while self.tasks:
                await asyncio.wait(self.tasks)


@asynccontextmanager
async def serving(folder: Path, limits: FileLimits = LIMITS) -> AsyncIterator[Bob]:
    bob = Bob(folder, limits)
    try:
        yield bob
    finally:
        for task in bob.tasks:
            task.cancel()
        await asyncio.gather(*bob.tasks, return_exceptions=True)
