"""`box`: leave messages with a keeper, look what is waiting, fetch and forget it.

    client = BoxClient(link, endpoint.hashname)      link: to the keeper
    await client.put(recipient, sealed)              sealed: `box_seal.seal`
    for box in await client.waiting(): …                boxes that hold something for us
    async with client.inbox(box) as inbox:
        async for message in inbox: …; await inbox.forget(message)

The other side of it is `box_keeper`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Self

from rookery.errors import ProtocolError, UnreachableError
from rookery.link.channels.box import (
    BoxMessageArrived,
    CommandReader,
    InboxOpening,
    OutboxOpening,
    box_id,
    clear_head,
    forget_head,
    message_id,
    parse_boxes,
    pieces,
)
from rookery.runtime.endpoint.channels.interface import (
    ChannelInterface,
    ChannelOpener,
    linger,
    send_message,
)
from rookery.wire.link.lob import JsonObject, integer

BOXES_MAX = 1 << 14  # what a keeper may make us remember
ANSWER_S = 30.0


class BoxClient:
    """Our dealings with one keeper."""

    def __init__(self, link: ChannelOpener, hashname: str) -> None:
        self._link = link
        self._hashname = hashname

    async def put(self, recipient: str, message: bytes, lifetime_s: int | None = None) -> bytes:
        """Leave a message; its id. That it arrived is certain, that it is kept is not."""
        box = box_id(self._hashname, recipient)
        channel = self._link.open("outbox", OutboxOpening(recipient).head())
        parts = pieces(message, channel.fragment_size, lifetime_s)
        await send_message(channel, ((piece.head, piece.body) for piece in parts))
        await _finish(channel)
        return await asyncio.to_thread(message_id, box, message)

    async def withdraw(self, recipient: str, ids: Iterable[bytes] | None = None) -> None:
        """Have the keeper forget messages that we left, or all of them."""
        channel = self._link.open("outbox", OutboxOpening(recipient).head())
        for head in _forgetting(ids):
            await channel.send(head)
        await _finish(channel)

    async def waiting(self) -> list[bytes]:
        """The ids of the boxes in which something waits for us."""
        channel = self._link.open("boxes")
        boxes: list[bytes] = []
        while (message := await _receive(channel)) is not None:
            boxes += parse_boxes(message[1])
            if len(boxes) > BOXES_MAX:
                channel.fail("too many boxes")
                raise ProtocolError("the keeper lists boxes without end")
        await _finish(channel)
        return boxes

    def inbox(self, box: bytes) -> "InboxReader":
        """The messages of one box, to read and forget one by one."""
        return InboxReader(self._link.open("inbox", InboxOpening(box).head()), box)

    async def get(self, box: bytes) -> list[bytes]:
        """All messages of one box, which stay there."""
        async with self.inbox(box) as inbox:
            return [message async for message in inbox]

    async def forget(self, box: bytes, ids: Iterable[bytes] | None = None) -> None:
        """Have messages for us forgotten, or all of a box."""
        async with self.inbox(box) as inbox:
            for head in _forgetting(ids):
                await inbox.command(head)


class InboxReader:
    """An open inbox: iterate for the messages, oldest first."""

    def __init__(self, channel: ChannelInterface, box: bytes) -> None:
        self.capacity: int | None = None  # bytes the keeper would still take for us, in the end
        self._channel = channel
        self._box = box
        self._reader = CommandReader()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[bytes]:
        while self.capacity is None:
            message = await _receive(self._channel)
            if message is None:
                return
            self.capacity = integer(message[0], "cap")
            for command in self._reader.feed(*message):
                if isinstance(command, BoxMessageArrived):
                    yield command.message

    async def forget(self, message: bytes) -> None:
        """Have the keeper forget a message that was dealt with."""
        id_ = await asyncio.to_thread(message_id, self._box, message)
        await self.command(forget_head(id_))

    async def clear(self) -> None:
        """Have the keeper forget all of the box."""
        await self.command(clear_head())

    async def command(self, head: JsonObject) -> None:
        await self._channel.send(head)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await _finish(self._channel)
        else:
            self._channel.fail("closed")


def _forgetting(ids: Iterable[bytes] | None) -> list[JsonObject]:
    return [clear_head()] if ids is None else [forget_head(id_) for id_ in ids]


async def _receive(channel: ChannelInterface) -> tuple[JsonObject, bytes] | None:
    try:
        async with asyncio.timeout(ANSWER_S):
            return await channel.receive()
    except TimeoutError as error:
        channel.fail("timeout")
        raise UnreachableError("the keeper does not answer") from error


async def _finish(channel: ChannelInterface) -> None:
    """End, and wait until the keeper did the same: then it has seen everything."""
    await channel.end()
    await linger(channel)
