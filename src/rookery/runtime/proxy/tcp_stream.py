"""A TCP connection as a byte stream.

A protocol of its own rather than asyncio's streams: received buffers are passed on as they are,
where a `StreamReader` would copy them twice.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, cast

from rookery.errors import ChannelError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.tunnel.streams.receive_half import Chunk
from rookery.runtime.endpoint.channels.sock_relay import LINGER_NOT
from rookery.runtime.net.address import keep_alive

HELD_MAX: Final = 1 << 18  # bytes received but not read yet, and as many written but not sent

_TURN_SIZE: Final = 1 << 16  # bytes, after which other tasks have their turn
_NO_META: dict[str, object] = {}


class TcpStream:
    """One connection; `connected` is told once it is there.

    A protocol of asyncio by its methods, not by inheritance, so that it can be compiled.
    """

    peer = ""
    is_stalled = False

    def __init__(self, connected: Callable[["TcpStream"], None] | None = None) -> None:
        self._connected = connected
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._chunks: deque[bytes | memoryview] = deque()
        self._held = 0
        self._is_paused = False  # reading, until buffered data is read
        self._is_resting = False  # reading, until the next turn of the loop
        self._is_ended = False
        self._is_lost = False
        self._is_broken = False
        self._on_readable: Callable[[], None] | None = None
        self._on_writable: Callable[[], None] | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] | None = (
            None  # waiting writers; None: there is room
        )
        self._gone: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def connect(cls, ip: str, port: int) -> "TcpStream":
        """Connect to this address; OSError when that fails."""
        stream = cls()
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: cast(asyncio.Protocol, stream), ip, port)
        return stream

    @classmethod
    def accepting(cls, connected: Callable[["TcpStream"], None]) -> asyncio.Protocol:
        """The protocol of an inbound connection; calls its owner once it is connected."""
        return cast(asyncio.Protocol, cls(connected))

    @property
    def meta(self) -> Mapping[str, object]:
        return _NO_META

    @property
    def remote(self) -> SockAddress:
        return self._address("peername")

    @property
    def local(self) -> SockAddress:
        return self._address("sockname")

    async def read(self, size: int) -> bytes:
        while (chunk := self.take(size)) is None:
            self._reader = self._loop.create_future()
            await self._reader
        return chunk if isinstance(chunk, bytes) else bytes(chunk)

    def take(self, size: int) -> bytes | memoryview | None:
        """What `read` would return, or None where it would wait: `when_readable` calls then."""
        if not self._chunks:
            if self._is_broken:
                raise ChannelError(ProxyFault.GONE.value)
            return b"" if self._is_ended else None
        chunk = self._chunks.popleft()
        if len(chunk) > size:
            rest = memoryview(chunk)
            self._chunks.appendleft(rest[size:])
            chunk = rest[:size]
        self._held -= len(chunk)
        if self._is_paused and self._held <= HELD_MAX // 2:
            self._is_paused = False
            self._read_on()
        return chunk

    def put(self, data: Chunk) -> int:
        """Write all or nothing; returns how much. After nothing, `when_writable` calls."""
        if self._is_lost or self._open.is_closing():
            raise ChannelError(ProxyFault.GONE.value)
        if self._writers is not None:
            return 0
        try:
            self._open.write(data)
        except (OSError, RuntimeError) as error:  # the latter is uvloop's
            raise ChannelError(ProxyFault.GONE.value) from error
        return len(data)

    def when_readable(self, call: Callable[[], None] | None) -> None:
        self._on_readable = call

    def when_writable(self, call: Callable[[], None] | None) -> None:
        self._on_writable = call

    async def write(self, data: bytes) -> None:
        if self._is_lost or self._open.is_closing():
            raise ChannelError(ProxyFault.GONE.value)
        self._open.write(data)
        if self._writers is not None:
            room = self._loop.create_future()
            self._writers.append(room)
            await room
            if self._is_lost:
                raise ChannelError(ProxyFault.GONE.value)

    async def finish(self) -> None:
        if not self._open.is_closing():
            try:
                self._open.write_eof()
            except (OSError, RuntimeError) as error:  # the latter is uvloop's
                raise ChannelError(ProxyFault.GONE.value) from error

    def abort(self, code: int) -> None:
        """Send a TCP reset, which cannot be mistaken for an orderly end."""
        self._is_broken = True
        sock = self._open.get_extra_info("socket")
        if sock is not None and not self._open.is_closing():
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._open.abort()

    async def close(self) -> None:
        """Let go of the socket; what was written still goes out."""
        self._open.close()
        await asyncio.shield(self._gone)

    # --- callbacks of the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio.Transport by inheritance.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=HELD_MAX)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            keep_alive(sock)
        if self._connected is not None:
            self._connected(self)

    def data_received(self, data: bytes) -> None:
        self._chunks.append(data)
        self._held += len(data)
        if self._held >= HELD_MAX:
            self._is_paused = True
        if len(data) >= _TURN_SIZE:
            self._is_resting = True
            self._loop.call_soon(self._rested)
        if self._is_paused or self._is_resting:
            self._open.pause_reading()
        self._wake_reader()

    def eof_received(self) -> bool:
        self._is_ended = True
        self._wake_reader()
        return True  # our half goes on

    def pause_writing(self) -> None:
        self._writers = []

    def resume_writing(self) -> None:
        writers, self._writers = self._writers or [], None
        for writer in writers:
            if not writer.done():
                writer.set_result(None)
        if self._on_writable is not None:
            self._on_writable()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._is_broken |= exc is not None
        self._is_ended = True
        self.resume_writing()
        self._wake_reader()
        if not self._gone.done():
            self._gone.set_result(None)

    # --- inside ---

    @property
    def _open(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _rested(self) -> None:
        self._is_resting = False
        self._read_on()

    def _read_on(self) -> None:
        is_over = self._is_lost or self._open.is_closing()
        if not (self._is_paused or self._is_resting or is_over):
            self._open.resume_reading()

    def _wake_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)
        if self._on_readable is not None:
            self._on_readable()

    def _address(self, key: str) -> SockAddress:
        name = self._open.get_extra_info(key)
        return SockAddress(str(name[0]), int(name[1])) if name else SockAddress("0.0.0.0", 0)  # noqa: S104
