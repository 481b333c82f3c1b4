"""Bytes between a channel and a socket, both ways, until both directions have ended.

    socket ──read──▶ channel.send      the end of one becomes the end of the other,
    socket ◀──write── channel.receive  and a slow side slows the other down

A failure of either side breaks the other off, so that nobody takes half for the whole.
"""

import asyncio
import struct
from collections import deque
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Protocol

from rookery.errors import ChannelError, RookeryError
from rookery.link.channels.sock import SockFault
from rookery.runtime.endpoint.channels.interface import ChannelInterface, ChannelPeer, send_bytes
from rookery.wire.link.lob import JsonObject

READ_SIZE = 1 << 16
LINGER_NOT = struct.pack("ii", 1, 0)  # asyncio's abort alone would still say goodbye (FIN)


class SockLink(ChannelPeer, Protocol):
    """A link that opens `sock` channels."""

    def open(
        self,
        kind: str,
        /,
        head: JsonObject | None = None,
        body: bytes = b"",
        *,
        reliable: bool = True,
        end: bool = False,
    ) -> "SockChannel": ...


class SockChannel(ChannelInterface, Protocol):
    """A channel that may be TCP or UDP, and whose link can open others back."""

    @property
    def reliable(self) -> bool: ...

    @property
    def link(self) -> SockLink: ...


class PrefilledChannel:
    """A channel some of whose packets were already taken off, to look at; they come first."""

    def __init__(self, channel: ChannelInterface, *first: tuple[JsonObject, bytes] | None) -> None:
        self._channel = channel
        self._first = deque(first)

    @property
    def link(self) -> ChannelPeer:
        return self._channel.link

    @property
    def opening(self) -> tuple[JsonObject, bytes]:
        return self._channel.opening[0], b""

    @property
    def fragment_size(self) -> int:
        return self._channel.fragment_size

    async def send(
        self, head: JsonObject | None = None, body: bytes = b"", *, end: bool = False
    ) -> None:
        await self._channel.send(head, body, end=end)

    async def receive(self) -> tuple[JsonObject, bytes] | None:
        return self._first.popleft() if self._first else await self._channel.receive()

    async def end(self) -> None:
        await self._channel.end()

    def fail(self, text: str) -> None:
        self._channel.fail(text)

    async def wait_closed(self) -> None:
        await self._channel.wait_closed()


def prefilled(channel: ChannelInterface) -> PrefilledChannel:
    """The channel with the body of its opening packet as the first data."""
    body = channel.opening[1]
    return PrefilledChannel(channel, ({}, body)) if body else PrefilledChannel(channel)


async def carry(
    channel: ChannelInterface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Join the two; returns when both are done with, raises nothing of theirs."""
    try:
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(_to_socket(channel, writer))
            pumps.create_task(_to_channel(reader, channel))
    except* (RookeryError, OSError) as group:
        reset(writer)
        if not any(isinstance(error, ChannelError) for error in group.exceptions):
            channel.fail(SockFault.RESET.value)
    finally:
        await close(writer)


async def _to_socket(channel: ChannelInterface, writer: asyncio.StreamWriter) -> None:
    while (message := await channel.receive()) is not None:
        if message[1]:
            writer.write(message[1])
            await writer.drain()
    if writer.can_write_eof() and not writer.is_closing():
        writer.write_eof()


async def _to_channel(reader: asyncio.StreamReader, channel: ChannelInterface) -> None:
    while data := await reader.read(READ_SIZE):
        await send_bytes(channel, data)
    await channel.end()


def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection off so that the other end cannot take it for an orderly end."""
    socket = writer.get_extra_info("socket")
    if socket is not None and not writer.is_closing():
        socket.setsockopt(SOL_SOCKET, SO_LINGER, LINGER_NOT)
    writer.transport.abort()


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
