"""An asyncio transport over a stream of a tunnel, so that any asyncio protocol runs unchanged.

    protocol ◀── data_received, eof_received ── reading task ◀── stream
    protocol ──▶ write ──▶ buffer ── writing task ──▶ stream

The protocol is told to pause while the buffer is more than full, as with any transport.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from rookery.errors import RookeryError
from rookery.runtime.tunnels.stream import READ_SIZE, TunnelStream

HIGH_WATER = 1 << 18
LOW_WATER = 1 << 16

Buffer = bytes | bytearray | memoryview


class TunnelTransport(asyncio.Transport):
    """Connects one protocol with one stream; made by `attach`."""

    def __init__(self, stream: TunnelStream, protocol: asyncio.Protocol) -> None:
        super().__init__({"peername": (stream.peer, 0), "meta": dict(stream.meta)})
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._stream = stream
        self._protocol = protocol
        self._buffer: deque[bytes] = deque()
        self._size = 0
        self._high, self._low = HIGH_WATER, LOW_WATER
        self._is_paused = False  # the protocol, by us
        self._is_closing = False
        self._ends = False  # write no more once the buffer is empty
        self._is_written = False  # and that is so
        self._there_is_more = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._tasks: set[asyncio.Task[None]] = set()
        for work in (self._read(), self._write()):
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    # --- as protocols know it ---

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._may_read.is_set()

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def write(self, data: Buffer) -> None:
        if self._is_closing or self._ends or not data:
            return
        self._buffer.append(bytes(data))
        self._size += len(data)
        self._there_is_more.set()
        if self._size > self._high and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._ends = True
        self._there_is_more.set()

    def get_write_buffer_size(self) -> int:
        return self._size

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = HIGH_WATER if high is None else high
        self._low = self._high // 4 if low is None else low

    def close(self) -> None:
        """End once everything is written; nothing is read from now on."""
        if not self._is_closing:
            self._is_closing = self._ends = True
            self._there_is_more.set()
            if self._is_written:
                self._end()

    def abort(self) -> None:
        self._stream.abort()
        self._lost(None)

    # --- the two directions ---

    async def _read(self) -> None:
        try:
            while not self._is_closing:
                await self._may_read.wait()
                data = await self._stream.read(READ_SIZE)
                if self._is_closing:
                    return
                if not data:
                    if not self._protocol.eof_received():
                        self.close()
                    return
                self._protocol.data_received(data)
        except RookeryError as error:
            self._lost(ConnectionResetError(str(error)))

    async def _write(self) -> None:
        try:
            while True:
                while self._buffer:
                    data = self._buffer.popleft()
                    await self._stream.write(data)
                    self._written(len(data))
                if self._ends:
                    await self._stream.finish()
                    break
                self._there_is_more.clear()
                await self._there_is_more.wait()
        except RookeryError as error:
            self._lost(ConnectionResetError(str(error)))
            return
        self._is_written = True
        if self._is_closing:
            self._end()

    def _end(self) -> None:
        self._stream.stop()
        self._lost(None)

    def _written(self, size: int) -> None:
        self._size -= size
        if self._is_paused and self._size <= self._low:
            self._is_paused = False
            self._protocol.resume_writing()

    def _lost(self, error: Exception | None) -> None:
        if self.closed.done():
            return
        self._is_closing = True
        self.closed.set_result(None)
        self._loop.call_soon(self._protocol.connection_lost, error)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()


def attach(
    stream: TunnelStream, factory: Callable[[], asyncio.Protocol]
) -> tuple[TunnelTransport, asyncio.Protocol]:
    """Have a new protocol run over this stream."""
    protocol = factory()
    transport = TunnelTransport(stream, protocol)
    protocol.connection_made(transport)
    return transport, protocol
