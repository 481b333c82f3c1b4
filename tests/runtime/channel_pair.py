"""Two ends of reliable channels without a network: a test double of the endpoint.

Packets wait in a queue of a few until the other side receives them, so back-pressure is real, and
`err` drops what is queued on both sides, as on the wire.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from rookery.errors import ChannelError, RookeryError
from rookery.runtime.endpoint.channels.interface import ChannelInterface, Handler
from rookery.wire.link.lob import JsonObject
from tests.runtime.ends import watchdog

WINDOW = 8
FRAGMENT_SIZE = 1000
ALICE, BOB = "a" * 52, "b" * 52


class Message(NamedTuple):
    head: JsonObject
    body: bytes


class End(NamedTuple):
    """Who is at the other end."""

    hashname: str


class PairedChannel:
    """One side of a channel."""

    def __init__(self, link: End, opening: Message) -> None:
        self.link = link
        self.opening = opening
        self.fragment_size = FRAGMENT_SIZE
        self.sent: list[Message] = []
        self.failure: str | None = None
        self.ended = False
        self._queue: deque[Message] = deque()
        self._changed = asyncio.Event()
        self.peer: PairedChannel

    async def send(
        self, head: JsonObject | None = None, body: bytes = b"", *, end: bool = False
    ) -> None:
        assert not self.ended, "sent after the end"
        assert len(body) <= self.fragment_size, "does not fit a packet"
        await self._until(lambda: len(self.peer._queue) < WINDOW)
        self._check()
        message = Message(dict(head or {}), body)
        self.sent.append(message)
        if message.head or body:
            self.peer._queue.append(message)
        self.ended = end
        self._wake()
        await asyncio.sleep(0)

    async def receive(self) -> Message | None:
        await self._until(lambda: bool(self._queue) or self.peer.ended)
        self._check()
        if not self._queue:
            return None
        message = self._queue.popleft()
        self._wake()
        return message

    async def end(self) -> None:
        self._check()
        self.ended = True
        self._wake()

    def fail(self, text: str) -> None:
        if self.failure is None and not self._closed():
            for side in (self, self.peer):
                side.failure = text
                side._queue.clear()
            self._wake()

    async def wait_closed(self) -> None:
        await self._until(self._closed)

    def _closed(self) -> bool:
        return self.ended and self.peer.ended and not self._queue and not self.peer._queue

    def _check(self) -> None:
        if self.failure is not None:
            raise ChannelError(self.failure)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while self.failure is None and not condition():
            await self._changed.wait()

    def _wake(self) -> None:
        for side in (self, self.peer):
            side._changed.set()
            side._changed = asyncio.Event()


class PairedLink:
    """Alice's link to Bob, or Bob's to Alice: opens channels, and serves those of the other."""

    def __init__(self, own: str, tasks: asyncio.TaskGroup) -> None:
        self.hashname = BOB if own == ALICE else ALICE
        self.opened: list[PairedChannel] = []
        self.peer: PairedLink
        self._own = own
        self._tasks = tasks
        self._handlers: dict[str, Handler] = {}

    def serve(self, kind: str, handler: Handler) -> None:
        self._handlers[kind] = handler

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> ChannelInterface:
        assert reliable
        assert len(body) <= FRAGMENT_SIZE, "does not fit the open packet"
        opening = Message({**(head or {}), "type": kind}, body)
        ours, theirs = (
            PairedChannel(End(self.hashname), opening),
            PairedChannel(End(self._own), opening),
        )
        ours.peer, theirs.peer, ours.ended = theirs, ours, end
        self.opened.append(ours)
        self._tasks.create_task(self.peer._handle(kind, theirs))
        return ours

    async def _handle(self, kind: str, channel: PairedChannel) -> None:
        handler = self._handlers.get(kind)
        if handler is None:
            channel.fail("unknown type")
            return
        try:
            await handler(channel)
            if not channel.ended and channel.failure is None:
                await channel.end()
        except RookeryError as error:
            channel.fail(str(error))


class Pair:
    """Both ends; leaving it waits for every handler, so none can be forgotten."""

    def __init__(self) -> None:
        self._tasks = asyncio.TaskGroup()
        self.alice = PairedLink(ALICE, self._tasks)
        self.bob = PairedLink(BOB, self._tasks)
        self.alice.peer, self.bob.peer = self.bob, self.alice

    @property
    def hashnames(self) -> tuple[str, str]:
        return ALICE, BOB

    async def __aenter__(self) -> Self:
        self._watchdog = watchdog()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._tasks.__aexit__(kind, error, trace)
        finally:
            self._watchdog.cancel()
