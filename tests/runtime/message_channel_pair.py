"""Any number of ends with links between them, in memory: reliable and unreliable channels.

A reliable channel holds back its sender while a few packets wait, an unreliable one drops them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NamedTuple, Self

from rookery.errors import ChannelError, RookeryError, UnreachableError
from rookery.wire import base32
from rookery.wire.link.lob import JsonObject
from tests.patience import PATIENCE_S

WINDOW = 8
FRAGMENT_SIZE = 1000
ALICE, BOB, CAROL = (base32.encode(name * 8) for name in (b"alic", b"bobb", b"caro"))


class Message(NamedTuple):
    head: JsonObject
    body: bytes


class BoardChannel:
    """One side of a channel."""

    def __init__(self, link: "BoardLink", opening: Message, *, reliable: bool) -> None:
        self.link = link
        self.opening = opening
        self.reliable = reliable
        self.fragment_size = FRAGMENT_SIZE
        self.failure: str | None = None
        self.ended = False
        self.sent: list[Message] = []
        self.peer: BoardChannel
        self._queue: deque[Message] = deque()
        self._changed = asyncio.Event()

    async def send(
        self, head: JsonObject | None = None, body: bytes = b"", *, end: bool = False
    ) -> None:
        assert not self.ended, "sent after the end"
        assert len(body) <= self.fragment_size, "does not fit a packet"
        if self.reliable:
            await self._until(lambda: len(self.peer._queue) < WINDOW)
        self._check()
        message = Message(dict(head or {}), body)
        self.sent.append(message)
        if len(self.peer._queue) < WINDOW and (message.head or body):
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
        if self.failure is None and not (self.ended and self.peer.ended):
            for side in (self, self.peer):
                side.failure = text
                side._queue.clear()
            self._wake()

    async def wait_closed(self) -> None:
        await self._until(lambda: self.ended and self.peer.ended)

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


Handler = Callable[[BoardChannel], Awaitable[None]]


class BoardLink:
    """One end's link to another."""

    def __init__(self, board: "Switchboard", own: str, hashname: str) -> None:
        self.hashname = hashname
        self.opened: list[BoardChannel] = []
        self._board = board
        self._own = own

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> BoardChannel:
        return self._board.connect(
            self._own, self.hashname, kind, Message(dict(head or {}), body), reliable, end
        )


class Switchboard:
    """Serves the handlers of every end; leaving it cancels what still runs."""

    def __init__(self) -> None:
        self.channels: list[BoardChannel] = []
        self.down: set[frozenset[str]] = set()
        self._links: dict[tuple[str, str], BoardLink] = {}
        self._handlers: dict[tuple[str, str], Handler] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def serving(self) -> int:
        """Handlers that still run."""
        return sum(not task.done() for task in self._tasks)

    def link(self, own: str, to: str) -> BoardLink:
        return self._links.setdefault((own, to), BoardLink(self, own, to))

    def serve(self, own: str, kind: str, handler: Handler) -> None:
        self._handlers[own, kind] = handler

    def cut(self, one: str, other: str) -> None:
        """The link between the two goes down."""
        self.down.add(frozenset([one, other]))
        for channel in self.channels:
            if {channel.link.hashname, channel.link._own} == {one, other}:
                channel.fail("link down")

    def restore(self, one: str, other: str) -> None:
        self.down.discard(frozenset([one, other]))

    def connect(
        self, own: str, to: str, kind: str, opening: Message, reliable: bool, end: bool
    ) -> BoardChannel:
        if frozenset([own, to]) in self.down:
            raise UnreachableError("the link is down")
        ours = BoardChannel(self.link(own, to), opening, reliable=reliable)
        theirs = BoardChannel(self.link(to, own), opening, reliable=reliable)
        ours.peer, theirs.peer, ours.ended = theirs, ours, end
        ours.link.opened.append(ours)
        self.channels += [ours]
        task = asyncio.get_running_loop().create_task(self._handle(to, kind, theirs))
        self._tasks.add(task)
        return ours

    async def _handle(self, own: str, kind: str, channel: BoardChannel) -> None:
        handler = self._handlers.get((own, kind))
        if handler is None:
            channel.fail("unknown type")
            return
        try:
            await handler(channel)
            if channel.failure is None:
                await channel.end()
        except RookeryError as error:
            channel.fail(str(error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result


async def until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Let the others run until something is so."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 (a condition over several objects)
            await asyncio.sleep(0.001)
