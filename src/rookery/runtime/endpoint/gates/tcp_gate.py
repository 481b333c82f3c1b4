"""TCP, TLS and WebSocket: connections between IP addresses."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final, cast

from rookery.errors import DecodeError
from rookery.runtime.endpoint.gates.connection import InboundConnection, OutboundConnection
from rookery.runtime.endpoint.gates.framing import Framing, dialled
from rookery.runtime.endpoint.gates.gate import ConnectionLimits, GateReceiver
from rookery.runtime.endpoint.gates.stream_gate import (
    RESOURCE,
    Dial,
    LinkJson,
    StreamGate,
    undiscoverable,
)
from rookery.runtime.endpoint.gates.tls import TlsLayer, client_context
from rookery.runtime.net.address import (
    BACKLOG,
    SocketAddress,
    advertised_ip,
    bound_socket,
)
from rookery.wire.link.path import NetPath, Path, UrlPath, net_path
from rookery.wire.link.transport import TCP, TLS, URL, WEB_SOCKET
from rookery.wire.octets import Octets

_KINDS: Final = frozenset((*TCP.kinds, *TLS.kinds, *WEB_SOCKET.kinds, URL))


class TcpGate(StreamGate):
    """Accepts after `listen`, on any number of addresses."""

    def __init__(
        self,
        receiver: GateReceiver,
        *,
        limits: ConnectionLimits | None = None,
        tls: ssl.SSLContext | None = None,
        resource: str = RESOURCE,
        link_json: LinkJson = undiscoverable,
    ) -> None:
        """`tls` is for dialling; without it any certificate will do.

        `resource` is what a WebSocket must ask for. `link_json` is asked at each `GET /`: it
        returns what strangers may know, or None.
        """
        super().__init__(receiver, _KINDS, limits, resource, link_json)
        self._tls = tls
        self._listening: list[tuple[str, str, int]] = []  # carrier, address, port

    async def listen(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
    ) -> NetPath:
        """Accept connections here, inside TLS if a context is given; UsageError if that fails."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        ip, bound_port, *_ = sock.getsockname()
        carrier = (TCP if tls is None else TLS).carrier

        def accept() -> asyncio.Protocol:
            layer = None if tls is None else TlsLayer.accepting(tls)
            connection = InboundConnection(self, carrier, self._accepting(), layer)
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

    def hang_up_from(self, is_gone: Callable[[SocketAddress], bool]) -> None:
        """End the connections that came from, or led to, an address which is no longer ours."""
        known: dict[str, bool] = {}
        for connection in list(self._connections.values()):
            if (local := connection.local) is not None:
                if local[0] not in known:
                    known[local[0]] = is_gone(local)
                if known[local[0]]:
                    connection.abort()

    def _dialled(self, path: Path, first_packet: Octets) -> tuple[OutboundConnection, Dial]:
        framing: Framing
        match path:
            case UrlPath():
                from rookery.runtime.endpoint.gates.websocket import DialledWebSocket, split_url

                url, host, port = split_url(path.url)
                framing, inside_tls = DialledWebSocket(url), url.scheme == "https"
            case NetPath() if path.kind in TCP.kinds or path.kind in TLS.kinds:
                host, port = path.address
                inside_tls = path.kind in TLS.kinds
                framing = dialled(first_packet, self._spare)
            case _:
                raise DecodeError("nothing that can be dialled")
        layer = TlsLayer.dialling(self._client_tls(), host) if inside_tls else None
        connection = OutboundConnection(self, path, framing, layer)
        protocol = cast(asyncio.Protocol, connection)
        return connection, lambda: self._loop.create_connection(lambda: protocol, host, port)

    def _client_tls(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = client_context()
        return self._tls
