"""Members that reach each other by byte streams in memory: a window's worth waits, no more."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

from rookery.errors import ChannelError, UnreachableError
from rookery.mesh.services import PROXY
from rookery.runtime.tunnels.member_stream import OpenTunnelled, TunnelledStream
from rookery.wire import base32
from tests.patience import PATIENCE_S

WINDOW = 1 << 16
ALICE, BOB, CAROL, DAVE, EVE = (
    base32.encode(name * 8) for name in (b"alic", b"bobb", b"caro", b"dave", b"evee")
)

Handler = Callable[[TunnelledStream], Awaitable[None]]


class MemoryStream:
    """One side; `pair` makes both."""

    def __init__(self, peer: str, meta: Mapping[str, object], changed: asyncio.Event) -> None:
        self.peer = peer
        self.meta = meta
        self.other: MemoryStream
        self.aborted: int | None = None
        self.is_stalled = False
        self.has_finished = False
        self.inbox = bytearray()
        self._changed = changed

    async def read(self, size: int) -> bytes:
        await self._until(lambda: bool(self.inbox) or self.other.has_finished)
        data = bytes(self.inbox[:size])
        del self.inbox[:size]
        self._stir()
        return data

    async def write(self, data: bytes) -> None:
        assert not self.has_finished, "written after the end"
        while data:
            await self._until(lambda: len(self.other.inbox) < WINDOW)
            room = WINDOW - len(self.other.inbox)
            self.other.inbox += data[:room]
            data = data[room:]
            self._stir()
        await self._until(lambda: True)

    async def finish(self) -> None:
        await self._until(lambda: True)
        self.has_finished = True
        self._stir()

    def abort(self, code: int) -> None:
        if self.aborted is None and not (self.has_finished and self.other.has_finished):
            self.aborted = self.other.aborted = code
            self._stir()

    def _stir(self) -> None:
        self._changed.set()
        self._changed.clear()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while self.aborted is None and not condition():
            await self._changed.wait()
        if self.aborted is not None:
            raise ChannelError(f"aborted with {self.aborted}")


def pair(
    one: str = ALICE, other: str = BOB, meta: Mapping[str, object] | None = None
) -> tuple[MemoryStream, MemoryStream]:
    """What `one` holds, and what `other` holds."""
    changed = asyncio.Event()
    near, far = MemoryStream(other, meta or {}, changed), MemoryStream(one, meta or {}, changed)
    near.other, far.other = far, near
    return near, far


class Town:
    """Who serves what; everything that is under way ends with the block."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, MemoryStream]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.silent: set[str] = set()
        self._handlers: dict[str, Handler] = {}

    def serve(self, hashname: str, handler: Handler) -> None:
        self._handlers[hashname] = handler

    def leave(self, hashname: str) -> None:
        del self._handlers[hashname]

    def opener(self, own: str) -> OpenTunnelled:
        async def open_stream(
            hashname: str, service: str, meta: Mapping[str, object]
        ) -> TunnelledStream:
            assert service == PROXY
            near, far = pair(own, hashname, meta)
            self.opened.append((hashname, near))
            if hashname in self.silent:
                await asyncio.Event().wait()
            if hashname not in self._handlers:
                raise UnreachableError(f"no way to {hashname[:8]}")
            task = asyncio.get_running_loop().create_task(self._run(hashname, far))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            return near

        return open_stream

    async def _run(self, hashname: str, far: MemoryStream) -> None:
        await self._handlers[hashname](far)

    async def quiet(self) -> None:
        """Until no stream is being served."""
        async with asyncio.timeout(PATIENCE_S):
            while self.tasks:
                await asyncio.wait(self.tasks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self.tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self.tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
