"""One TCP connection: bytes through TLS, framing and cloak into packets, and back.

    socket ─▶ [TLS] ─▶ framing ─▶ reveal ──▶ owner.received
    socket ◀─ [TLS] ◀─ framing ◀─ [cloak] ◀─ send            one write per flush of the gate

It writes nothing before the first `send`, apart from what TLS and HTTP require of a server. Packets
are not cloaked until the peer's are: the public JavaScript peer does not understand cloaked packets
over TCP.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, cast

from rookery.errors import DecodeError
from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.runtime.endpoint.gates.framing import (
    PACKET_SIZE_MAX,
    AcceptedFraming,
    Framing,
    FramingKind,
)
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, GateCounters
from rookery.runtime.endpoint.gates.tcp_info import measure
from rookery.runtime.endpoint.gates.tls import TlsLayer
from rookery.runtime.net.address import SocketAddress, acknowledge_at_once, keep_alive
from rookery.wire.link.cloak import cloak, reveal
from rookery.wire.link.lob import NO_HEAD, Packet
from rookery.wire.link.path import Path, net_path
from rookery.wire.link.transport import WEB_SOCKET
from rookery.wire.octets import Octets, tail

_HEAD_SIZE: Final = 2
_TURN_SIZE: Final = 1 << 16  # bytes, after which other tasks of the loop have their turn


class ConnectionOwner(Protocol):
    """What connections need of their gate."""

    limits: ConnectionLimits
    counters: GateCounters
    nonces: Iterator[bytes]
    scratch: memoryview  # where connections read to, one at a time

    def connected(self, connection: "GateConnection") -> None:
        """The socket is connected."""

    def identified(self, connection: "GateConnection") -> None:
        """Its first packet is about to be reported."""

    def addressed(self, connection: "GateConnection") -> None:
        """The endpoint sends to it for the first time."""

    def received(self, path: Path, packet: Packet) -> None: ...

    def received_sealed(self, path: Path, body: Octets) -> None: ...

    def drained(self) -> None: ...

    def unsent(self, connection: "GateConnection") -> None:
        """It has data for the next `flush`."""

    def closed(self, connection: "GateConnection") -> None: ...


class GateConnection:
    """A stream to one peer: what accepted and dialled ones have in common.

    A protocol of asyncio by its methods, not by inheritance, so that it can be compiled.
    """

    def __init__(self, owner: ConnectionOwner, framing: Framing, tls: TlsLayer | None) -> None:
        self.has_received = False
        self.is_addressed = False
        self.path: Path | None = None
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self._owner = owner
        self._framing = framing
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._cloaked = False
        self._turn_size = 0  # bytes read since the last turn of the loop
        self._is_placed = False  # what is being read goes where the framing wants it
        self._waiting: list[Octets] = []  # packets, until the framing is ready
        self._waiting_size = 0
        self._outgoing: list[Octets] = []  # buffers, until `flush`
        self._outgoing_size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False

    def _stages(self) -> Iterator[tuple[float, Callable[[], bool]]]:
        """Deadlines of the connection: after so many more seconds this must be true, or it ends."""
        raise NotImplementedError

    def send(self, data: Octets) -> None:
        """Take one serialised packet to send, or drop it."""
        if not self.is_addressed:
            self.is_addressed = True
            self._owner.addressed(self)
        if self._closing:
            self._owner.counters.dropped += 1
        elif self._is_ready:
            self._write(data)
        elif self._waiting_size + len(data) > self._owner.limits.dial_queue_size_max:
            self._owner.counters.dropped += 1
        else:
            self._waiting.append(data)
            self._waiting_size += len(data)

    @property
    def local(self) -> SocketAddress | None:
        """The local address, once connected."""
        address: SocketAddress | None = None
        if self._transport is not None:
            address = self._transport.get_extra_info("sockname")
        return address

    @property
    def backlog(self) -> int:
        """Bytes that the system has not taken yet."""
        return self._waiting_size + (0 if self._transport is None else self._unwritten_size)

    def measure(self) -> StreamMeasure | None:
        """The kernel's measures of the connection, where available."""
        if self._transport is None:
            return None
        return measure(self._transport.get_extra_info("socket"))

    def flush(self) -> None:
        """Write everything that was sent since the last flush with one call."""
        buffers, self._outgoing, self._outgoing_size = self._outgoing, [], 0
        if not buffers or self._transport is None or self._transport.is_closing():
            return
        try:
            if self._tls is None:
                self._transport.writelines(buffers)
            else:  # joined, as TLS makes a record of each buffer
                self._transport.write(self._tls.seal(b"".join(buffers)))
        except (DecodeError, RuntimeError):  # the latter is uvloop's for a socket reset meanwhile
            self.abort()

    def close(self) -> None:
        """End the connection once what was sent is written."""
        if not self._closing and self._transport is not None:
            self.flush()
            self._closing = True
            self._transport.close()

    def abort(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio.Transport by inheritance.
        self._transport = cast(asyncio.Transport, transport)
        with contextlib.suppress(OSError):  # the peer may have left already
            keep_alive(transport.get_extra_info("socket"))
        self._owner.connected(self)
        if self._closing:  # by the owner, or before the dial had ended
            self._transport.abort()
            return
        self._watch(self._stages())
        self._settle()
        self.flush()

    def eof_received(self) -> bool:
        return False  # a peer that stops writing is gone

    def pause_writing(self) -> None:
        """Unwritten data has a limit of its own."""

    def resume_writing(self) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
        if not self.gone.done():
            self.gone.set_result(None)
            self._owner.closed(self)

    def get_buffer(self, size_hint: int) -> memoryview:
        """The buffer for uvloop; the rest of a large packet goes directly to its place.

        Strangers get no room of their own: they could ask for much more than they send.
        """
        is_placed = self.is_addressed and self._tls is None
        room = self._framing.room() if is_placed else None
        self._is_placed = room is not None
        return self._owner.scratch if room is None else room

    def buffer_updated(self, size: int) -> None:
        self._take_in(None if self._is_placed else self._owner.scratch[:size], size)

    def data_received(self, data: bytes) -> None:
        """For loops without buffered protocols."""
        self._take_in(data, len(data))

    def _take_in(self, data: Octets | None, size: int) -> None:
        """So many bytes came: these, or into the room of the framing."""
        counters = self._owner.counters
        counters.bytes_in += size
        before = counters.packets_in
        try:
            self._receive(data, size)
        except DecodeError:
            counters.malformed += 1
            self.abort()
        finally:
            if counters.packets_in == before:  # a part of a large one
                self.flush()
            else:
                self._owner.drained()
            self._turn_size += size
            if self._turn_size >= _TURN_SIZE:
                self._turn_size = 0
                self._let_others_go_on()
            if self._framing.is_public and self._transport is not None:
                with contextlib.suppress(OSError):
                    acknowledge_at_once(self._transport.get_extra_info("socket"))

    def _let_others_go_on(self) -> None:
        """Read on in the next turn: a busy peer could fill this one for a tenth of a second."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
            self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    @property
    def _is_ready(self) -> bool:
        connected = self._transport is not None and (self._tls is None or self._tls.ready)
        return connected and self._framing.ready

    def _receive(self, data: Octets | None, size: int) -> None:
        if self._tls is not None and data is not None:
            data = self._tls.feed(bytes(data))
        packets: Sequence[bytes | memoryview] = ()
        if data is None:
            packets = self._framing.placed(size)
        elif data:  # to be fed nothing is the end, for HTTP
            packets = self._framing.feed(data)
        for packet in packets:
            self._packet(packet)
            if self._closing:
                return
        self._settle()

    def _packet(self, data: bytes | memoryview) -> None:
        head = data[:_HEAD_SIZE] if isinstance(data, bytes) else bytes(data[:_HEAD_SIZE])
        if self.has_received and head == NO_HEAD:  # as nearly all are
            self._owner.counters.packets_in += 1
            if self.path is not None:
                self._owner.received_sealed(self.path, tail(data, _HEAD_SIZE))
            return
        packet = reveal(data)
        if not self._cloaked and data[0] != 0:
            # A plain packet with a long head begins with another byte, too, but loses none.
            self._cloaked = len(packet.head) + len(packet.body) + 2 < len(data)
        self._owner.counters.packets_in += 1
        if not self.has_received:
            self.has_received = True
            self._owner.identified(self)
        if self.path is not None and not self._closing:
            self._owner.received(self.path, packet)

    def _settle(self) -> None:
        """Write what TLS and the framing have to say, and what had to wait for them."""
        assert self._transport is not None
        if self._tls is not None:
            self._transport.write(self._tls.seal(b""))
            if not self._tls.ready:
                return
        if control := self._framing.control():
            if self._unwritten_size > self._owner.limits.write_queue_size_max:
                raise DecodeError("asks, but does not read the answers")
            self._append((control,))
        if self._waiting and self._framing.ready:
            waiting, self._waiting, self._waiting_size = self._waiting, [], 0
            for packet in waiting:
                self._write(packet)
        if self._framing.finished or (self._tls is not None and self._tls.finished):
            self._owner.counters.refused += not self.has_received
            self.close()

    @property
    def _unwritten_size(self) -> int:
        assert self._transport is not None
        return self._outgoing_size + self._transport.get_write_buffer_size()

    def _write(self, packet: Octets) -> None:
        counters = self._owner.counters
        if self._cloaked:
            packet = cloak(bytes(packet), next(self._owner.nonces))
        size = len(packet)
        if (
            size > PACKET_SIZE_MAX
            or self._unwritten_size + size > self._owner.limits.write_queue_size_max
        ):
            counters.dropped += 1
            return
        counters.packets_out += 1
        counters.bytes_out += size
        self._append(self._framing.encode(packet))

    def _append(self, buffers: tuple[Octets, ...]) -> None:
        if not self._outgoing:
            self._owner.unsent(self)
        self._outgoing += buffers
        for buffer in buffers:
            self._outgoing_size += len(buffer)

    def _watch(self, stages: Iterator[tuple[float, Callable[[], bool]]]) -> None:
        stage = next(stages, None)
        if stage is not None:
            self._timer = self._loop.call_later(stage[0], self._overdue, stage[1], stages)

    def _overdue(
        self, reached: Callable[[], bool], stages: Iterator[tuple[float, Callable[[], bool]]]
    ) -> None:
        if reached():
            self._watch(stages)
        else:
            self._owner.counters.refused += 1
            self.abort()


class InboundConnection(GateConnection):
    """A connection that a peer dialled. Its path is known once its framing is."""

    def __init__(
        self,
        owner: ConnectionOwner,
        carrier: str,
        framing: AcceptedFraming,
        tls: TlsLayer | None,
        known: Path | None = None,
    ) -> None:
        """`known` is its path where the peer has no address of its own."""
        super().__init__(owner, framing, tls)
        self._known = known
        self.ip = ""
        self._port = 0
        self._carrier = carrier
        self._accepted = framing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        if peer:  # None when it has left already
            self.ip, self._port = peer[0], peer[1]
        super().connection_made(transport)

    def identify(self) -> Path:
        """The path of the peer, now that its framing is known."""
        if self._known is not None:
            self.path = self._known
            return self._known
        is_http = self._accepted.dialect is FramingKind.HTTP
        carrier = WEB_SOCKET.carrier if is_http else self._carrier
        self.path = net_path(carrier, self.ip, self._port)
        return self.path

    def _stages(self) -> Iterator[tuple[float, Callable[[], bool]]]:
        yield self._owner.limits.first_packet_s, lambda: self.has_received
        yield self._owner.limits.answer_s, lambda: self.is_addressed


class OutboundConnection(GateConnection):
    """A connection that the endpoint dialled."""

    def __init__(
        self, owner: ConnectionOwner, path: Path, framing: Framing, tls: TlsLayer | None
    ) -> None:
        super().__init__(owner, framing, tls)
        self.path = path

    def _stages(self) -> Iterator[tuple[float, Callable[[], bool]]]:
        yield self._owner.limits.dial_s, lambda: self._is_ready
        yield self._owner.limits.answer_s, lambda: self.has_received
