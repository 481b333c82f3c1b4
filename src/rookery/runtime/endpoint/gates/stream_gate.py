"""Stream gates: what gates with connections share, dialled or accepted, by path.

A listener serves all framings on one socket (`framing` tells them apart). Sending to a path without
a connection dials it; meanwhile packets wait. Peers can make a gate hold no more than its
limits say.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec

from rookery.errors import CongestionError, RookeryError
from rookery.link.source_network import source_network
from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.runtime.endpoint.gates.connection import (
    GateConnection,
    InboundConnection,
    OutboundConnection,
)
from rookery.runtime.endpoint.gates.framing import AcceptedFraming, Framing
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, GateCounters, GateReceiver
from rookery.runtime.endpoint.gates.nonces import nonces
from rookery.wire.link.framing import SpareBuffer
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import Path
from rookery.wire.octets import Octets

RESOURCE: Final = "/"  # the path of WebSocket requests
READ_SIZE: Final = 1 << 18

LinkJson = Callable[[], JsonObject | None]
Dial = Callable[[], Awaitable[object]]  # makes the socket of an outbound connection

_CLOSE_S: Final = 1.0  # for peers to receive what is still to be written


def undiscoverable() -> JsonObject | None:
    return None


class StreamGate:
    """Dials from the beginning; accepts once a gate of its transport listens."""

    def __init__(
        self,
        receiver: GateReceiver,
        kinds: frozenset[str],
        limits: ConnectionLimits | None,
        resource: str,
        link_json: LinkJson,
    ) -> None:
        """`resource` is what a WebSocket must ask for. `link_json` is asked at each `GET /`: it
        returns what strangers may know, or None.
        """
        self.kinds = kinds
        self.limits = limits or ConnectionLimits()
        self.counters = GateCounters()
        self.nonces = nonces()
        self.scratch = memoryview(bytearray(READ_SIZE))
        self._spare = SpareBuffer()
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._resource = resource
        self._link_json = link_json
        self._servers: list[asyncio.Server] = []
        self._connections: dict[Path, GateConnection] = {}
        self._inbound: set[InboundConnection] = set()
        self._outbound: set[OutboundConnection] = set()
        # Inbound connections that were not sent to yet, by source network.
        self._strangers: Counter[str] = Counter()
        self._dials: set[asyncio.Task[None]] = set()
        self._unsent: list[GateConnection] = []
        self._closed = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where others can reach this gate."""
        raise NotImplementedError

    def _dialled(self, path: Path, first_packet: Octets) -> tuple[OutboundConnection, Dial]:
        """A connection to `path`, and how to make its socket; RookeryError where there is none."""
        raise NotImplementedError

    def _accepting(self) -> AcceptedFraming:
        return AcceptedFraming(self._http, self._spare)

    def send(self, path: Path, data: Octets) -> None:
        """Take one packet for the connection to `path`, dialling if there is none."""
        connection = self._connections.get(path) or self._dial(path, data)
        if connection is None:
            self.counters.dropped += 1
        else:
            connection.send(data)

    def flush(self) -> None:
        """Each connection writes its packets with one system call."""
        unsent, self._unsent = self._unsent, []
        for connection in unsent:
            connection.flush()

    def hang_up(self, path: Path) -> None:
        """End the connection to `path` without waiting for what is unwritten."""
        connection = self._connections.get(path)
        if connection is not None:
            connection.abort()

    def backlog(self, path: Path) -> int:
        """Bytes for `path` that are not written to the socket yet."""
        connection = self._connections.get(path)
        return 0 if connection is None else connection.backlog

    def measure(self, path: Path) -> StreamMeasure | None:
        """The kernel's measures of the connection to `path`, where available.

        What the system has not even taken yet is unsent as well.
        """
        connection = self._connections.get(path)
        measure = None if connection is None else connection.measure()
        if connection is None or measure is None or not (backlog := connection.backlog):
            return measure
        return msgspec.structs.replace(measure, unsent=measure.unsent + backlog)

    async def close(self) -> None:
        """End everything; what was sent is still written to peers that read."""
        self._closed = True
        for server in self._servers:
            server.close()
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        connections = [*self._inbound, *self._outbound]
        if connections:
            for connection in connections:
                connection.close()
            gone = [connection.gone for connection in connections]
            await asyncio.wait(gone, timeout=_CLOSE_S)
            for connection in connections:
                connection.abort()
            await asyncio.wait(gone)
        for server in self._servers:
            await server.wait_closed()

    def _http(self) -> Framing:
        # Most gates never see one, and it takes memory.
        from rookery.runtime.endpoint.gates.websocket import AcceptedWebSocket

        return AcceptedWebSocket(self._resource, self._link_json)

    def _dial(self, path: Path, first_packet: Octets) -> GateConnection | None:
        if self._closed:
            return None
        try:
            if (
                len(self._dials) >= self.limits.dials_max
                or len(self._outbound) >= self.limits.outbound_max
            ):
                raise CongestionError("too many connections")
            connection, dial = self._dialled(path, first_packet)
        except (RookeryError, ValueError):  # ValueError: TLS does not like the host's name
            self.counters.refused += 1
            self._loop.call_soon(self._receiver.lost, path)  # not while the receiver still sends
            return None
        self._connections[path] = connection
        self._outbound.add(connection)
        task = self._loop.create_task(self._connect(connection, dial))
        self._dials.add(task)
        task.add_done_callback(partial(self._dial_ended, connection))
        return connection

    def _dial_ended(self, connection: GateConnection, dial: asyncio.Task[None]) -> None:
        self._dials.discard(dial)
        if dial.cancelled():  # possibly before it began, and uvloop does not report the loss
            connection.connection_lost(None)

    async def _connect(self, connection: OutboundConnection, dial: Dial) -> None:
        try:
            async with asyncio.timeout(self.limits.dial_s):
                await dial()
        except (OSError, ValueError, OverflowError):  # no answer, no such name, no such port
            self.counters.refused += 1
            connection.connection_lost(None)

    # --- `ConnectionOwner` ---

    def connected(self, connection: GateConnection) -> None:
        if not isinstance(connection, InboundConnection):
            return
        source = source_network(connection.ip)
        if (
            self._closed
            or len(self._inbound) >= self.limits.inbound_max
            or self._strangers[source] >= self.limits.inbound_max // 2
        ):
            self.counters.refused += 1
            connection.abort()
        else:
            self._inbound.add(connection)
            self._strangers[source] += 1

    def identified(self, connection: GateConnection) -> None:
        if isinstance(connection, InboundConnection):
            path = connection.identify()
            if self._connections.setdefault(path, connection) is not connection:
                self.counters.refused += 1  # the same peer port, through another listener of ours
                connection.abort()

    def addressed(self, connection: GateConnection) -> None:
        if isinstance(connection, InboundConnection):
            self._no_stranger(connection)

    def received(self, path: Path, packet: Packet) -> None:
        self._receiver.received(path, packet)

    def received_sealed(self, path: Path, body: Octets) -> None:
        self._receiver.received_sealed(path, body)

    def drained(self) -> None:
        self._receiver.drained()
        self.flush()

    def unsent(self, connection: GateConnection) -> None:
        self._unsent.append(connection)

    def closed(self, connection: GateConnection) -> None:
        if isinstance(connection, InboundConnection) and connection in self._inbound:
            self._inbound.remove(connection)
            if not connection.is_addressed:
                self._no_stranger(connection)
        elif isinstance(connection, OutboundConnection):
            self._outbound.discard(connection)
        path = connection.path
        if path is not None and self._connections.get(path) is connection:
            del self._connections[path]
            self._receiver.lost(path)

    def _no_stranger(self, connection: InboundConnection) -> None:
        source = source_network(connection.ip)
        self._strangers[source] -= 1
        if not self._strangers[source]:
            del self._strangers[source]
