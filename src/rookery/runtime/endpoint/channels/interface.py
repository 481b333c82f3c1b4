"""What services need of a channel, and the helpers that they share.

The shells of `stream`, `thtp` and `ws` use a channel only through this interface, so they run
over an endpoint and over a pair of queues alike.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from rookery.errors import RookeryError
from rookery.link.channels.stream import MessageBoundaries
from rookery.wire.link.lob import JsonObject

LINGER_S = 30.0  # longer than a channel itself waits for an acknowledgement


class ChannelPeer(Protocol):
    """The link of a channel."""

    @property
    def hashname(self) -> str: ...


class ChannelInterface(Protocol):
    """One reliable channel."""

    @property
    def link(self) -> ChannelPeer: ...

    @property
    def opening(self) -> tuple[JsonObject, bytes]: ...

    @property
    def fragment_size(self) -> int: ...

    async def send(
        self, head: JsonObject | None = None, body: bytes = b"", *, end: bool = False
    ) -> None: ...

    async def receive(self) -> tuple[JsonObject, bytes] | None: ...

    async def end(self) -> None: ...

    def fail(self, text: str) -> None: ...

    async def wait_closed(self) -> None: ...


class ChannelOpener(Protocol):
    """What services need of a link: opening channels."""

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> ChannelInterface: ...


Handler = Callable[[ChannelInterface], Awaitable[None]]


async def send_message(
    channel: ChannelInterface, pieces: Iterable[tuple[JsonObject, bytes]]
) -> None:
    """Send all pieces of one message, or none, or give the channel up.

    What follows half a message would be read as its rest, so an interruption ends the channel.
    """
    begun = complete = False
    try:
        for head, body in pieces:
            await channel.send(head, body)
            begun = True
        complete = True
    finally:
        if begun and not complete:
            channel.fail("a message was cut short")


async def send_bytes(channel: ChannelInterface, data: bytes, *, end: bool = False) -> None:
    """Send `data` in packets; the last of them ends our direction if `end`."""
    joints = MessageBoundaries()
    start = 0
    while True:
        piece = data[start : start + channel.fragment_size]
        start += len(piece)
        last = start >= len(data)
        await channel.send(joints.head(len(piece), more=not last), piece, end=end and last)
        if last:
            return


async def linger(channel: ChannelInterface) -> None:
    """After our own `end`: drop what still arrives until the peer ends too, but not forever.

    ChannelError when the channel failed, for then the peer may not have everything we sent.
    """
    try:
        async with asyncio.timeout(LINGER_S):
            while await channel.receive() is not None:
                pass
    except TimeoutError:
        channel.fail("closed")
        return
    await channel.wait_closed()
    await channel.receive()  # raises if what closed it was a failure


def failure_text(error: BaseException) -> str:
    """The error text for the peer; an unexpected error may contain private data."""
    return str(error) if isinstance(error, RookeryError) else "aborted"
