"""Crow to named hosts through a SOCKS5 proxy, such as Tor's hidden services.

    hop      | id | count | host  | port |            port big-endian
             | 1  |   1   | count |  2   |

    stream   | count | host  | port | frames …        the dialler's own name, count 0 if it has none
             |   1   | count |  2   |                 then as over TCP, both ways

The return hop must be as long as the hop. The dialling side knows what it dialled. The other side
sees only its proxy, so it makes up a name: a `~` for every letter that the dialler used,
and the number of the connection as the port. It is good for as long as the connection, like the
ephemeral port of a TCP hop. A dialler's own name is used instead if it is listed in `believe` and
as long, as the names of hidden services are among each other. Such a return hop outlives the
connection, but nothing proves the name: the mesh gate is for where that matters.
"""

import asyncio
import socket
from collections.abc import Iterable

from rookery.errors import UsageError
from rookery.runtime.crow.gates import socks5
from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.connection import (
    CrowConnection,
    CrowConnectionOwner,
    CrowConnections,
    CrowStreamLimits,
)
from rookery.runtime.crow.gates.gate import (
    LOOPBACK,
    CrowAllowList,
    CrowDropReason,
    CrowReceiver,
    checked_id,
)
from rookery.runtime.net.address import BACKLOG, bound_socket
from rookery.wire.crow.packet import CrowPacket

ID = 14
TOR = ("127.0.0.1", 9050)

_NAMELESS = bytes(3)
_NUMBER_MAX = 0xFFFF


def argument(name: str) -> bytes:
    """What leads a hop to `host:port`; UsageError when that is no name."""
    host, _, port = name.rpartition(":")
    if not (
        socks5.is_host(host.encode()) and port.isascii() and port.isdecimal() and len(port) < 6
    ):
        raise UsageError(f"{name!r} is not a name: use HOST:PORT")
    number = int(port)
    if not 0 < number <= 0xFFFF:
        raise UsageError(f"{number} is not a port: use 1 to 65535")
    return bytes([len(host)]) + host.encode() + number.to_bytes(2, "big")


class _AcceptedCrowConnection(CrowConnection):
    """An inbound connection; it begins with the name that the peer claims."""

    def __init__(self, owner: CrowConnectionOwner) -> None:
        super().__init__(owner)
        self.number = 0
        self.name: bytes | None = None  # None until received
        self._hello = b""

    def _take(self, data: bytes) -> Iterable[bytes]:
        if self.name is None:
            self._hello += data
            size = self._hello[0] + 3
            if len(self._hello) < size:
                return ()
            self.name, data = self._hello[:size], self._hello[size:]
            self._hello = b""
        return super()._take(data)


class CrowSocksGate:
    """Dials from the beginning; accepts after `listen`, where the proxy brings connections."""

    def __init__(
        self,
        receiver: CrowReceiver,
        *,
        proxy: tuple[str, int] = TOR,
        name: str = "",
        believe: Iterable[str] = (),
        gate_id: int = ID,
        allow: Iterable[str] = LOOPBACK,
        limits: CrowStreamLimits | None = None,
    ) -> None:
        """`name` is `host:port` where others can dial us, `believe` those of peers.

        `allow` are the networks that the proxy's connections come from.
        """
        self.id = checked_id(gate_id)
        self.limits = limits or CrowStreamLimits()
        self.codec = CrowGateCodec(receiver)
        self._receiver = receiver
        self._proxy = proxy
        self._hello = argument(name) if name else _NAMELESS
        self._believed = frozenset(argument(peer) for peer in believe)
        self._allow = CrowAllowList(allow)
        self._loop = asyncio.get_running_loop()
        self._servers: list[asyncio.Server] = []
        self._connections = CrowConnections(self.limits, self.codec)
        self._numbered: dict[int, _AcceptedCrowConnection] = {}
        self._number = 0

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Accept connections here, on the port returned; UsageError if that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        bound_port: int = sock.getsockname()[1]
        server = await self._loop.create_server(
            lambda: _AcceptedCrowConnection(self), sock=sock, backlog=BACKLOG
        )
        self._servers.append(server)
        return bound_port

    @property
    def counters(self) -> CrowGateCounters:
        return self.codec.counters

    def send(self, packet: CrowPacket) -> None:
        connection = self._to(packet)
        if connection is not None and (data := self.codec.leave(packet)) is not None:
            connection.send(data)

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        await self._connections.close()
        for server in self._servers:
            await server.wait_closed()

    # What connections report.

    def connected(self, connection: CrowConnection) -> None:
        if not isinstance(connection, _AcceptedCrowConnection):
            return
        if not self._allow.allows(connection.peer_address[0]):
            self.codec.drop(CrowDropReason.DENIED)
            connection.abort()
        elif self._connections.accept(connection):
            self._enumerate(connection)
        else:
            connection.abort()

    def received(self, connection: CrowConnection, packet: bytes) -> bool:
        arrived = self.codec.read(packet)
        if arrived is None:
            return False
        count = arrived.address[arrived.stage + 1 : arrived.stage + 2]
        return_hop = self._peer(connection, count[0]) if count else None
        if return_hop is None:
            self.codec.drop(CrowDropReason.MALFORMED)
            return False
        self._receiver.received([arrived], return_hop[::-1] + bytes([self.id]))
        return True

    def drained(self) -> None:
        self._receiver.drained()

    def closed(self, connection: CrowConnection) -> None:
        self._connections.discard(connection)
        if isinstance(connection, _AcceptedCrowConnection):
            self._numbered.pop(connection.number, None)

    def _peer(self, connection: CrowConnection, count: int) -> bytes | None:
        """The peer's name, written with so many letters."""
        if not isinstance(connection, _AcceptedCrowConnection):
            return connection.peer if connection.peer[0] == count else None
        name = connection.name
        if name in self._believed and name is not None and name[0] == count:
            self._connections.name(connection, name)
            return name
        return bytes([count]) + b"~" * count + connection.number.to_bytes(2, "big")

    def _enumerate(self, connection: _AcceptedCrowConnection) -> None:
        while True:  # ends: there are far more numbers than connections
            self._number = self._number % _NUMBER_MAX + 1
            if self._number not in self._numbered:
                break
        connection.number = self._number
        self._numbered[self._number] = connection

    def _to(self, packet: CrowPacket) -> CrowConnection | None:
        start = packet.stage + 1
        count = packet.address[start : start + 1]
        end = start + 1 + count[0] + 2 if count else 0
        peer = packet.address[start:end]
        if not count or end > len(packet.address):
            self.codec.drop(CrowDropReason.UNFIT)
            return None
        host, port = peer[1:-2], int.from_bytes(peer[-2:], "big")
        if not host.strip(b"~"):
            connection: CrowConnection | None = self._numbered.get(port)
            if connection is None:
                self.codec.drop(CrowDropReason.UNREACHABLE)
            return connection
        return self._connections.to(peer) or self._dial(peer, host, port)

    def _dial(self, peer: bytes, host: bytes, port: int) -> CrowConnection | None:
        if not port or not socks5.is_host(host):
            self.codec.drop(CrowDropReason.UNFIT)
            return None

        async def connect(connection: CrowConnection) -> None:
            sock = await socks5.connect(self._proxy, host, port)
            try:
                await self._loop.sock_sendall(sock, self._hello)
                await self._loop.create_connection(lambda: connection, sock=sock)
            except BaseException:
                sock.close()
                raise

        connection = CrowConnection(self, peer)
        return connection if self._connections.dial(connection, connect) else None
