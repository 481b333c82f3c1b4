"""Outboxes that meet over TCP on loopback, through streams that can be made to break."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from rookery.errors import ChannelError
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.outbox import LIMITS
from rookery.runtime.outbox.handling import Handler
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.runtime.outbox.socket_stream import OutboxSocketStream
from tests.patience import PATIENCE_S

ALICE, BOB, CAROL = "a" * 51 + "a", "b" * 51 + "a", "c" * 51 + "a"  # alice dials


async def until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Until it holds; TimeoutError when it never does."""
    async with asyncio.timeout(patience_s):
        while not condition():  # noqa: ASYNC110 - what it waits for rings no bell
            await asyncio.sleep(0.005)


class FragileStream:
    """A socket that breaks after so many bytes, whichever way they went."""

    def __init__(self, stream: OutboxSocketStream, bytes_left: int) -> None:
        self._stream = stream
        self._bytes_left = bytes_left

    def _spend(self, size: int) -> None:
        self._bytes_left -= size
        if self._bytes_left < 0:
            self._stream.abort(0)
            raise ChannelError("it broke")

    async def read(self, size: int) -> bytes:
        data = await self._stream.read(size)
        self._spend(len(data))
        return data

    async def write(self, data: bytes) -> None:
        if self._bytes_left < len(data):  # some of it still gets out
            await self._stream.write(data[: self._bytes_left])
        self._spend(len(data))
        await self._stream.write(data)

    async def finish(self) -> None:
        await self._stream.finish()

    def abort(self, code: int) -> None:
        self._stream.abort(code)


class Street:
    """Where bob listens, and how alice gets there."""

    def __init__(self) -> None:
        self.port = 0
        self.is_open = True
        self.break_after: Callable[[], int] | None = None
        self.streams: set[OutboxSocketStream] = set()
        self.dials = 0

    async def dial(self, _: str) -> OutboxSocketStream | FragileStream:
        if not self.is_open:
            raise ChannelError("the street is closed")
        self.dials += 1
        stream = await OutboxSocketStream.connect("127.0.0.1", self.port)
        self.streams.add(stream)
        if self.break_after is None:
            return stream
        return FragileStream(stream, self.break_after())

    def cut(self) -> None:
        """Whoever uses it now loses its connection."""
        for stream in self.streams:
            stream.abort(0)
        self.streams.clear()

    @asynccontextmanager
    async def listening(self, bob: AsyncOutbox) -> AsyncIterator[None]:
        serving: set[asyncio.Task[None]] = set()

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            serving.add(task)
            stream = OutboxSocketStream(reader, writer)
            self.streams.add(stream)
            with suppress(asyncio.CancelledError):
                await bob.serve(stream)
            serving.discard(task)

        server = await asyncio.start_server(accepted, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*serving, return_exceptions=True)


class Town:
    """Alice and bob, and what bob was asked for."""

    def __init__(
        self, alice: AsyncOutbox, bob: AsyncOutbox, street: Street, seen: list[IncomingRequest]
    ) -> None:
        self.alice = alice
        self.bob = bob
        self.street = street
        self.seen = seen


@asynccontextmanager
async def town(
    *, limits: OutboxLimits = LIMITS, handler: Handler | None = None, is_met: bool = True
) -> AsyncIterator[Town]:
    street, seen = Street(), []
    street.is_open = is_met

    async def note(arrival: IncomingRequest) -> bytes:
        seen.append(arrival)
        return b"re:" + arrival.payload

    alice = AsyncOutbox(ALICE, handler=note, dial=street.dial, limits=limits)
    bob = AsyncOutbox(BOB, handler=handler or note, limits=limits)
    bob.add_peer(ALICE)
    async with street.listening(bob):
        alice.add_peer(BOB)
        try:
            yield Town(alice, bob, street, seen)
        finally:
            await alice.close()
            await bob.close()
    assert not alice.core.pool.requests
    assert not bob.core.pool.requests
    assert not alice.core.pool.bytes_used


def sizes(seed: int, least: int, most: int) -> Callable[[], int]:
    chance = random.Random(seed)
    return lambda: chance.randrange(least, most)
