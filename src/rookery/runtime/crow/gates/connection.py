"""One stream that carries crow packets: a TCP connection, straight or through a proxy.

    | length | packet | length | packet | …      length big-endian
    |   4    | length |   4    | length | …

The public C++ tower loses its place in the stream when one of its reads does not hold exactly one
frame. So each frame is written by itself, never together with another, and a gap can be left
between them.
"""

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from rookery.errors import DecodeError, UnreachableError
from rookery.runtime.crow.gates.codec import CrowGateCodec
from rookery.runtime.crow.gates.gate import CrowDropReason
from rookery.runtime.net.address import keep_alive
from rookery.wire.link.framing import Deframer, frame

_CLOSE_S = 1.0  # for peers to receive what is still to be written


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowStreamLimits:
    """Limits on the resources of a gate's connections."""

    dial_s: float = 10.0
    first_packet_s: float = 10.0  # until an accepted connection has brought a packet
    dials_max: int = 32
    inbound_max: int = 256
    outbound_max: int = 256
    queue_size_max: int = 1 << 18  # bytes that wait for one connection


class CrowConnectionOwner(Protocol):
    """What connections need of their gate."""

    limits: CrowStreamLimits
    codec: CrowGateCodec

    def connected(self, connection: "CrowConnection") -> None:
        """The socket is there."""

    def received(self, connection: "CrowConnection", packet: bytes) -> bool:
        """One frame came in; whether it held a packet."""

    def drained(self) -> None: ...

    def closed(self, connection: "CrowConnection") -> None: ...


Connect = Callable[["CrowConnection"], Awaitable[object]]


class CrowConnection(asyncio.Protocol):
    """A stream to one peer, from before it is dialled until it is gone."""

    def __init__(
        self, owner: CrowConnectionOwner, peer: bytes = b"", *, gap_s: float = 0.0
    ) -> None:
        """`peer` is the argument of a hop to whoever was dialled; empty when accepted."""
        self.peer = peer
        self.is_dialled = bool(peer)
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._owner = owner
        self._gap_s = gap_s
        self._transport: asyncio.Transport | None = None
        self._deframer = Deframer()
        self._queue: deque[bytes] = deque()
        self._queue_size = 0
        self._is_full = False  # the socket takes no more for now
        self._gap: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._is_closing = False

    @property
    def peer_address(self) -> tuple[str, int]:
        """Where the other end of the socket is; an empty ip when it has left already."""
        name = self._transport.get_extra_info("peername") if self._transport else None
        return (str(name[0]), int(name[1])) if name else ("", 0)

    def send(self, packet: bytes) -> None:
        """Send one packet as soon as may be, or drop it."""
        data = frame(packet)
        if self._is_closing:
            self._owner.codec.drop(CrowDropReason.UNREACHABLE)
        elif self._queue_size + len(data) > self._owner.limits.queue_size_max:
            self._owner.codec.drop(CrowDropReason.FULL)
        else:
            self._queue.append(data)
            self._queue_size += len(data)
            self._flush()

    def close(self) -> None:
        """End once what the socket has taken is written."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # What the transport reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio.Transport by inheritance.
        self._transport = cast(asyncio.Transport, transport)
        if self._is_closing:
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(0)  # what waits, waits here, frame by frame
        with contextlib.suppress(OSError):  # the peer may have left already
            sock: socket.socket = transport.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(sock)
        if not self.is_dialled:
            self._silence = self._loop.call_later(self._owner.limits.first_packet_s, self._silent)
        self._owner.connected(self)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.gone.done():
            return
        self._is_closing = True
        for timer in (self._gap, self._silence):
            if timer is not None:
                timer.cancel()
        for _ in self._queue:
            self._owner.codec.drop(CrowDropReason.UNREACHABLE)
        self._queue.clear()
        self.gone.set_result(None)
        self._owner.closed(self)

    def data_received(self, data: bytes) -> None:
        try:
            for packet in self._take(data):
                if self._owner.received(self, packet):
                    self._clear_silence()
                if self._is_closing:
                    break
        except DecodeError:  # out of step: nothing that follows could be trusted
            self._owner.codec.drop(CrowDropReason.MALFORMED)
            self.abort()
        finally:
            self._owner.drained()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._flush()

    def _take(self, data: bytes) -> Iterable[bytes]:
        return map(bytes, self._deframer.feed(data))

    def _clear_silence(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _silent(self) -> None:
        self._owner.codec.drop(CrowDropReason.REFUSED)
        self.abort()

    def _flush(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        while self._queue and not self._is_full and self._gap is None:
            data = self._queue.popleft()
            self._queue_size -= len(data)
            try:
                transport.write(data)
            except RuntimeError:  # uvloop's, for a socket that was reset meanwhile
                self.abort()
                return
            self._owner.codec.sent(len(data))
            if self._gap_s:
                self._gap = self._loop.call_later(self._gap_s, self._rested)

    def _rested(self) -> None:
        self._gap = None
        self._flush()


class CrowConnections:
    """All connections of a gate, by whom they lead to; bounded, and closed together."""

    def __init__(self, limits: CrowStreamLimits, codec: CrowGateCodec) -> None:
        self._limits = limits
        self._codec = codec
        self._loop = asyncio.get_running_loop()
        self._by_peer: dict[bytes, CrowConnection] = {}
        self._inbound: set[CrowConnection] = set()
        self._outbound: set[CrowConnection] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def to(self, peer: bytes) -> CrowConnection | None:
        """An open connection with this peer, whoever dialled it."""
        return self._by_peer.get(peer)

    def dial(self, connection: CrowConnection, connect: Connect) -> bool:
        """Have `connect` make this connection; False when there are too many."""
        limits = self._limits
        if (
            self._is_closed
            or len(self._dials) >= limits.dials_max
            or len(self._outbound) >= limits.outbound_max
        ):
            self._codec.drop(CrowDropReason.REFUSED)
            return False
        self._outbound.add(connection)
        self._by_peer[connection.peer] = connection
        dial = self._loop.create_task(self._connect(connection, connect))
        self._dials.add(dial)
        dial.add_done_callback(partial(self._dial_ended, connection))
        return True

    def accept(self, connection: CrowConnection) -> bool:
        """Keep a connection that somebody made; False when there are too many, or it is closed."""
        if self._is_closed or len(self._inbound) >= self._limits.inbound_max:
            self._codec.drop(CrowDropReason.REFUSED)
            return False
        self._inbound.add(connection)
        return True

    def name(self, connection: CrowConnection, peer: bytes) -> None:
        """What is sent to this peer takes this connection from now on."""
        connection.peer = peer
        self._by_peer[peer] = connection

    def discard(self, connection: CrowConnection) -> None:
        self._inbound.discard(connection)
        self._outbound.discard(connection)
        if self._by_peer.get(connection.peer) is connection:
            del self._by_peer[connection.peer]

    async def close(self) -> None:
        """End all; what the sockets have taken is still written to peers that read."""
        self._is_closed = True
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        connections = [*self._inbound, *self._outbound]
        if not connections:
            return
        for connection in connections:
            connection.close()
        gone = [connection.gone for connection in connections]
        await asyncio.wait(gone, timeout=_CLOSE_S)
        for connection in connections:
            connection.abort()
        await asyncio.wait(gone)

    async def _connect(self, connection: CrowConnection, connect: Connect) -> None:
        try:
            async with asyncio.timeout(self._limits.dial_s):
                await connect(connection)
        except (OSError, ValueError, UnreachableError):  # nobody there, no such name or port
            connection.connection_lost(None)

    def _dial_ended(self, connection: CrowConnection, dial: asyncio.Task[None]) -> None:
        self._dials.discard(dial)
        if dial.cancelled():  # possibly before it began, and uvloop does not report the loss
            connection.connection_lost(None)
