"""Crow over TCP: frames of packets under a v1 header, IPv4 only.

    hop   | id | ip | port |     port big-endian
          | 1  | 4  |  2   |

A packet takes any open connection with that peer, inbound or outbound, or a new one. A peer that
dialled is named by its source port, so its address is valid for as long as the connection.
"""

import asyncio
import socket
from collections.abc import Iterable

from rookery.errors import UsageError
from rookery.runtime.crow.gates.codec import CrowGateCodec, CrowGateCounters
from rookery.runtime.crow.gates.connection import CrowConnection, CrowConnections, CrowStreamLimits
from rookery.runtime.crow.gates.gate import (
    LOOPBACK,
    CrowAllowList,
    CrowDropReason,
    CrowReceiver,
    checked_id,
)
from rookery.runtime.net.address import BACKLOG, advertised_ip, bound_socket
from rookery.wire.crow.address import udp_hop
from rookery.wire.crow.packet import CrowPacket

ID = 13

_ARGUMENT_SIZE = 6


class CrowTcpGate:
    """Dials from the beginning; accepts after `listen`."""

    def __init__(
        self,
        receiver: CrowReceiver,
        *,
        gate_id: int = ID,
        allow: Iterable[str] = LOOPBACK,
        limits: CrowStreamLimits | None = None,
        gap_s: float = 0.0,
    ) -> None:
        """`allow` are the networks whose hosts the gate talks with.

        `gap_s` is left between frames, for peers that read no more than one at a time.
        """
        self.id = checked_id(gate_id)
        self.limits = limits or CrowStreamLimits()
        self.codec = CrowGateCodec(receiver)
        self.address = b""  # a hop to this gate, once it listens
        self._receiver = receiver
        self._allow = CrowAllowList(allow)
        self._gap_s = gap_s
        self._loop = asyncio.get_running_loop()
        self._servers: list[asyncio.Server] = []
        self._connections = CrowConnections(self.limits, self.codec)

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Accept connections here, on the port returned; UsageError if that cannot be."""
        sock = await bound_socket(socket.SOCK_STREAM, host, port)
        if sock.family != socket.AF_INET:
            sock.close()
            raise UsageError(f"cannot listen on {host!r}: crow knows IPv4 only")
        ip, bound_port = sock.getsockname()
        self._servers.append(
            await self._loop.create_server(self._accepted, sock=sock, backlog=BACKLOG)
        )
        self.address = udp_hop(advertised_ip(ip), bound_port, self.id)
        return int(bound_port)

    @property
    def counters(self) -> CrowGateCounters:
        return self.codec.counters

    def send(self, packet: CrowPacket) -> None:
        start = packet.stage + 1
        peer = packet.address[start : start + _ARGUMENT_SIZE]
        connection = self._connections.to(peer) or self._dial(peer)
        if connection is not None and (data := self.codec.leave(packet)) is not None:
            connection.send(data)

    async def close(self) -> None:
        """End everything; what was sent is still written to peers that read."""
        for server in self._servers:
            server.close()
        await self._connections.close()
        for server in self._servers:
            await server.wait_closed()

    # What connections report.

    def connected(self, connection: CrowConnection) -> None:
        if connection.is_dialled:
            return
        ip, port = connection.peer_address
        if not self._allow.allows(ip):
            self.codec.drop(CrowDropReason.DENIED)
            connection.abort()
        elif self._connections.accept(connection):
            self._connections.name(connection, udp_hop(ip, port, self.id)[1:])
        else:
            connection.abort()

    def received(self, connection: CrowConnection, packet: bytes) -> bool:
        return self.codec.enter(packet, connection.peer[::-1] + bytes([self.id]))

    def drained(self) -> None:
        self._receiver.drained()

    def closed(self, connection: CrowConnection) -> None:
        self._connections.discard(connection)

    def _accepted(self) -> CrowConnection:
        return CrowConnection(self, gap_s=self._gap_s)

    def _dial(self, peer: bytes) -> CrowConnection | None:
        if len(peer) != _ARGUMENT_SIZE:
            self.codec.drop(CrowDropReason.UNFIT)
            return None
        ip, port = socket.inet_ntoa(peer[:4]), int.from_bytes(peer[4:], "big")
        if not port or not self._allow.allows(ip):
            self.codec.drop(CrowDropReason.DENIED)
            return None
        connection = CrowConnection(self, peer, gap_s=self._gap_s)

        async def connect(connection: CrowConnection) -> None:
            await self._loop.create_connection(lambda: connection, ip, port)

        return connection if self._connections.dial(connection, connect) else None
