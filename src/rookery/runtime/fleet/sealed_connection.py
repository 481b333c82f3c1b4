"""A TCP connection with a sealed stream on it: sealed messages in, sealed messages out.

Everything is bounded: messages that nobody takes stop the reading, bytes that the peer does not
take end the line, and one that stays silent where it should speak is given up by its owner.
"""

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Collection, Mapping
from typing import Protocol, Self, cast

import msgspec

from rookery.errors import RemoteError, UnreachableError
from rookery.fleet.sealed_stream import SealedStream
from rookery.identity.identity import Identity
from rookery.runtime.net.address import keep_alive
from rookery.wire.fleet.tlv import Tlv


class SealedConnectionOwner(Protocol):
    """The listener of inbound connections, which counts them."""

    def connected(self, line: "SealedConnection") -> None:
        """A connection was made, not authenticated yet; `abort` it to refuse."""

    def lost(self, line: "SealedConnection") -> None:
        """The connection is gone."""


class SealedConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one connection."""

    waiting_max: int = 64  # messages that were not received by the program
    unsent_bytes_max: int = 4 << 20
    received_bytes_max: int | None = None  # in all


class SealedConnection(asyncio.Protocol):
    """Made by `dial`, or for each connection that a listener accepts."""

    def __init__(
        self,
        stream: SealedStream,
        limits: SealedConnectionLimits | None = None,
        owner: SealedConnectionOwner | None = None,
    ) -> None:
        self._stream = stream
        self._limits = limits or SealedConnectionLimits()
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._received: deque[Tlv] = deque()
        self._received_bytes = 0
        self._changed = asyncio.Event()  # set when `receive` or `authenticated` may go on
        self._closed = asyncio.Event()
        self._writable = asyncio.Event()  # or gone
        self._writable.set()
        self.error: RemoteError | None = None  # how the peer broke the protocol
        self.address: tuple[str, int] = ("", 0)
        self.received_at = 0.0  # loop time of the last bytes
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def dial(
        cls,
        identity: Identity,
        hashname: str,
        keys: Mapping[int, bytes],
        host: str,
        port: int,
        *,
        timeout_s: float,
        limits: SealedConnectionLimits | None = None,
    ) -> Self:
        """Connect to `hashname`; UnreachableError unless it answers there in time.

        `keys` as in `SealedStream.dial`.
        """
        now_ms = time.time_ns() // 1_000_000
        stream = SealedStream.dial(identity, hashname, keys, now_ms, os.urandom)
        line = cls(stream, limits)
        try:
            async with asyncio.timeout(timeout_s):
                await line._loop.create_connection(lambda: line, host, port)
                await line.authenticated()
        except (OSError, TimeoutError) as error:
            line.abort()
            why = "did not answer in time" if isinstance(error, TimeoutError) else str(error)
            raise UnreachableError(f"{host}:{port} {why}") from error
        except BaseException:
            line.abort()
            raise
        return line

    @classmethod
    def accept(
        cls,
        identity: Identity,
        limits: SealedConnectionLimits | None = None,
        owner: SealedConnectionOwner | None = None,
        insisted: Collection[str] = (),
    ) -> Self:
        """The protocol of an inbound connection; `insisted` as in `SealedStream.accept`."""
        return cls(SealedStream.accept(identity, os.urandom, insisted), limits, owner)

    @property
    def peer(self) -> str | None:
        """The hashname at the other end, once it is proved."""
        return self._stream.peer

    @property
    def csid(self) -> int | None:
        """The cipher set that it is sealed with, once the peer is proved."""
        return self._stream.csid

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def trust(self, limits: SealedConnectionLimits) -> None:
        """Set the limits of a peer that is authenticated."""
        self._limits = limits

    async def authenticated(self) -> str:
        """Wait until the peer has proved who it is; UnreachableError when it goes first."""
        while (peer := self._stream.peer) is None:
            if self.is_closed:
                raise UnreachableError(f"the connection ended: {self.error or 'closed'}")
            self._changed.clear()
            await self._changed.wait()
        return peer

    async def receive(self) -> Tlv | None:
        """The next message; None once there is none to come."""
        while not self._received:
            if self.is_closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        if len(self._received) == self._limits.waiting_max:
            self._resume()
        return self._received.popleft()

    def send(self, *messages: Tlv) -> None:
        """Seal and send these; does nothing on a closed connection."""
        if self._transport is None or self._transport.is_closing():
            return
        self._stream.send(*messages)
        self._flush()

    async def drained(self) -> None:
        """Wait until the peer has taken most of what was sent, or is gone."""
        await self._writable.wait()

    def close(self) -> None:
        """End it once what was sent has left."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it now."""
        if self._transport is not None:
            self._transport.abort()

    async def wait_closed(self, timeout_s: float = 1.0) -> None:
        """Wait until it is gone; a peer that does not take its bytes is not waited for."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._closed.wait()
        except TimeoutError:
            self.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's is not one
        self.address = transport.get_extra_info("peername", ("", 0))[:2]
        self.received_at = self._loop.time()
        with contextlib.suppress(OSError):
            keep_alive(transport.get_extra_info("socket"))
        if self._owner is not None:
            self._owner.connected(self)
        if not transport.is_closing():
            self._flush()

    def data_received(self, data: bytes) -> None:
        self.received_at = self._loop.time()
        self._received_bytes += len(data)
        bound = self._limits.received_bytes_max
        if bound is not None and self._received_bytes > bound:
            self.abort()
            return
        try:
            messages = self._stream.feed(data)
        except RemoteError as error:
            self.error = error
            self.abort()
            return
        was_full = len(self._received) >= self._limits.waiting_max
        self._received += messages
        self._flush()
        self._changed.set()
        if not was_full and len(self._received) >= self._limits.waiting_max:
            assert self._transport is not None
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        self._writable.set()
        self._changed.set()
        if self._owner is not None:
            self._owner.lost(self)

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _flush(self) -> None:
        assert self._transport is not None
        if data := self._stream.take():
            self._transport.write(data)
        if self._transport.get_write_buffer_size() > self._limits.unsent_bytes_max:
            self.abort()
