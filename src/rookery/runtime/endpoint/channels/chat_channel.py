"""One `chat` channel in use: messages in order both ways, the sending side never waited for.

A conversation must not stall because one participant reads slowly, so each line has a queue of its
own; one that cannot keep up is broken off and catches up by `last` when it comes back.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from rookery.errors import RookeryError
from rookery.link.channels.chat_message import MESSAGE_SIZE_MAX
from rookery.link.channels.stream import StreamReassembler, pieces
from rookery.runtime.endpoint.channels.interface import ChannelInterface, linger, send_message
from rookery.wire.link.lob import JsonObject, Packet

# A whole history may have to be repeated at once.
QUEUE_MAX = 2048


class ChatChannel:
    """Built around an open channel; `run` carries it until either side ends."""

    def __init__(self, channel: ChannelInterface) -> None:
        self._channel = channel
        self._queue: asyncio.Queue[JsonObject | Packet | None] = asyncio.Queue(QUEUE_MAX)

    @property
    def hashname(self) -> str:
        return self._channel.link.hashname

    def post(self, item: JsonObject | Packet | None) -> None:
        """Queue a bare head, a message, or None for the end."""
        try:
            self._queue.put_nowait(item)
        except asyncio.QueueFull:
            self._channel.fail("too slow")

    async def run(self, received: Callable[[Packet], None]) -> None:
        """Until the peer ends; ChannelError when the line breaks, as when `received` refuses."""
        sender = asyncio.get_running_loop().create_task(self._send())
        try:
            async with aclosing(packets(self._channel)) as incoming:
                async for packet in incoming:
                    received(packet)
            await self._channel.end()
        except RookeryError as error:
            self._channel.fail(str(error))
            raise
        finally:
            sender.cancel()
            await asyncio.wait([sender])

    async def _send(self) -> None:
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, Packet):
                    await send_message(self._channel, _pieces(item, self._channel.fragment_size))
                else:
                    await self._channel.send(item)
            await self._channel.end()
        except RookeryError:
            return  # whoever receives from the channel hears of it


async def packets(channel: ChannelInterface) -> AsyncGenerator[Packet, None]:
    """The packets that a channel carries as `lob` messages; anything else is passed over."""
    reassembler = StreamReassembler(MESSAGE_SIZE_MAX)
    while (message := await channel.receive()) is not None:
        content = reassembler.feed(*message)
        if isinstance(content, Packet):
            yield content


async def deliver(channel: ChannelInterface, packet: Packet) -> None:
    """Send one packet as a message, end, and wait until the peer has it."""
    await send_message(channel, _pieces(packet, channel.fragment_size))
    # An end of its own: the JavaScript peer overlooks one beside a message.
    await channel.end()
    await linger(channel)


def _pieces(packet: Packet, size: int) -> list[tuple[JsonObject, bytes]]:
    return [(piece.head, piece.body) for piece in pieces(packet, size)]
