"""TCP, TLS and WebSocket: everything that has connections, dialled or accepted, by path.

A listener serves all framings on one port (`framing` tells them apart). Sending to a path without a
connection dials it; meanwhile packets wait. Peers can make a gate hold no more than its limits say.
"""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, cast

import msgspec

from rookery.errors import CongestionError, DecodeError, RookeryError
from rookery.link.source_network import source_network
from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.runtime.endpoint.gates.connection import (
    GateConnection,
    InboundConnection,
    OutboundConnection,
)
from rookery.runtime.endpoint.gates.framing import AcceptedFraming, Framing, dialled
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, GateCounters, GateReceiver
from rookery.runtime.endpoint.gates.nonces import nonces
from rookery.runtime.endpoint.gates.tls import TlsLayer, client_context
from rookery.runtime.net.address import (
    BACKLOG,
    SocketAddress,
    advertised_ip,
    bound_socket,
)
from rookery.wire.link.framing import SpareBuffer
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import NetPath, Path, UrlPath, net_path
from rookery.wire.octets import Octets

RESOURCE: Final = "/"  # the path of WebSocket requests
READ_SIZE: Final = 1 << 18

LinkJson = Callable[[], JsonObject | None]

_KINDS: Final = frozenset({"tcp4", "tcp6", "tls4", "tls6", "ws4", "ws6", "http"})
_CLOSE_S: Final = 1.0  # for peers to receive what is still to be written


def _undiscoverable() -> JsonObject | None:
    return None


class TcpGate:
    """Dials from the beginning; accepts after `listen`, on any number of addresses."""

    def __init__(
        self,
        receiver: GateReceiver,
        *,
        limits: ConnectionLimits | None = None,
        tls: ssl.SSLContext | None = None,
        resource: str = RESOURCE,
        link_json: LinkJson = _undiscoverable,
    ) -> None:
        """`tls` is for dialling; without it any certificate will do.

        `resource` is what a WebSocket must ask for. `link_json` is asked at each `GET /`: it
        returns what strangers may know, or None.
        """
        self.kinds = _KINDS
        self.limits = limits or ConnectionLimits()
        self.counters = GateCounters()
        self.nonces = nonces()
        self.scratch = memoryview(bytearray(READ_SIZE))
        self._spare = SpareBuffer()
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._tls = tls
        self._resource = resource
        self._link_json = link_json
        self._listening: list[tuple[str, str, int]] = []  # carrier, address, port
        self._servers: list[asyncio.Server] = []
        self._connections: dict[Path, GateConnection] = {}
        self._inbound: set[InboundConnection] = set()
        self._outbound: set[OutboundConnection] = set()
        self._strangers: Counter[str] = (
            Counter()
        )  # inbound connections that were not sent to yet, by source network
        self._dials: set[asyncio.Task[None]] = set()
        self._unsent: list[GateConnection] = []
        self._closed = False

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
    ) -> NetPath:
        """Accept connections here, inside TLS if a context is given; UsageError if that fails."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        ip, bound_port, *_ = sock.getsockname()
        carrier = "tcp" if tls is None else "tls"

        def accept() -> asyncio.Protocol:
            layer = None if tls is None else TlsLayer.accepting(tls)
            connection = InboundConnection(
                self, carrier, AcceptedFraming(self._http, self._spare), layer
            )
            return cast(asyncio.Protocol, connection)

        self._servers.append(await self._loop.create_server(accept, sock=sock, backlog=BACKLOG))
        self._listening.append((carrier, ip, bound_port))
        return net_path(carrier, advertised_ip(ip), bound_port)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Our addresses now; those of a listener on all addresses may change at any time."""
        return tuple(
            net_path(carrier, advertised_ip(ip), port) for carrier, ip, port in self._listening
        )

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

    def hang_up_from(self, is_gone: Callable[[SocketAddress], bool]) -> None:
        """End the connections that came from, or led to, an address which is no longer ours."""
        known: dict[str, bool] = {}
        for connection in list(self._connections.values()):
            if (local := connection.local) is not None:
                if local[0] not in known:
                    known[local[0]] = is_gone(local)
                if known[local[0]]:
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
            connection, host, port = self._dialled(path, first_packet)
        except (RookeryError, ValueError):  # ValueError: TLS does not like the host's name
            self.counters.refused += 1
            self._loop.call_soon(self._receiver.lost, path)  # not while the receiver still sends
            return None
        self._connections[path] = connection
        self._outbound.add(connection)
        dial = self._loop.create_task(self._connect(connection, host, port))
        self._dials.add(dial)
        dial.add_done_callback(partial(self._dial_ended, connection))
        return connection

    def _dial_ended(self, connection: GateConnection, dial: asyncio.Task[None]) -> None:
        self._dials.discard(dial)
        if dial.cancelled():  # possibly before it began, and uvloop does not report the loss
            connection.connection_lost(None)

    def _dialled(self, path: Path, first_packet: Octets) -> tuple[OutboundConnection, str, int]:
        limits = self.limits
        if len(self._dials) >= limits.dials_max or len(self._outbound) >= limits.outbound_max:
            raise CongestionError("too many connections")
        framing: Framing
        match path:
            case UrlPath():
                from rookery.runtime.endpoint.gates.websocket import DialledWebSocket, split_url

                url, host, port = split_url(path.url)
                framing, inside_tls = DialledWebSocket(url), url.scheme == "https"
            case NetPath() if path.kind[:3] in ("tcp", "tls"):
                host, port = path.address
                inside_tls = path.kind.startswith("tls")
                framing = dialled(first_packet, self._spare)
            case _:
                raise DecodeError("nothing that can be dialled")
        layer = TlsLayer.dialling(self._client_tls(), host) if inside_tls else None
        return OutboundConnection(self, path, framing, layer), host, port

    def _client_tls(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = client_context()
        return self._tls

    async def _connect(self, connection: OutboundConnection, host: str, port: int) -> None:
        protocol = cast(asyncio.Protocol, connection)
        try:
            async with asyncio.timeout(self.limits.dial_s):
                await self._loop.create_connection(lambda: protocol, host, port)
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
