"""Forwards: a local port that always leads to the same place, and a far port that leads here."""

import asyncio
import socket
from types import TracebackType
from typing import Self

from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.opening import SerialTarget
from rookery.runtime.net.address import bound_socket
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy
from rookery.runtime.proxy.datagram_flows import FLOWS_MAX, IDLE_S, DatagramFlows
from rookery.runtime.proxy.listener import CONNECTIONS_MAX, LOOPBACK, LocalListener
from rookery.runtime.proxy.remote_listener import RemoteListener
from rookery.runtime.proxy.roaming_serial import RoamingSerialStream
from rookery.runtime.proxy.splice import IdleLimits, splice
from rookery.runtime.proxy.tcp_stream import TcpStream
from rookery.runtime.tunnels.member_stream import MemberStream

HUNG_UP_S = 5.0  # a client that writes no more may still wait for an answer; then the line is free


async def tcp_forward(
    connector: Connector,
    target: SockAddress,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    connections_max: int = CONNECTIONS_MAX,
    idle: IdleLimits | None = None,
) -> LocalListener:
    """Forward every connection to `target`; it is reset if that fails."""

    async def serve(stream: TcpStream) -> None:
        async with await connector.tcp_connect(target.host, target.port, proxy) as connection:
            await splice(stream, connection, idle)

    return await LocalListener.bind(serve, host, port, connections_max)


async def serial_forward(
    connector: Connector,
    name: str,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    idle: IdleLimits | None = None,
) -> LocalListener:
    """A serial line as a TCP port; one client at a time has it, and keeps it wherever it moves."""
    limits = idle or IdleLimits(half_closed_s=HUNG_UP_S)

    async def serve(stream: TcpStream) -> None:
        async with await RoamingSerialStream.found_now(
            connector, SerialTarget(name), proxy
        ) as line:
            await splice(stream, line, limits)

    return await LocalListener.bind(serve, host, port, 1)


async def reverse_forward(
    connector: Connector,
    exit_: str,
    port: int,
    target: SockAddress,
    *,
    idle: IdleLimits | None = None,
) -> RemoteListener:
    """Forward connections to a port of `exit_` (0: any) to `target`, as seen from here."""

    async def serve(stream: MemberStream) -> None:
        async with await connector.tcp_connect(target.host, target.port) as connection:
            await splice(stream, connection, idle)

    return await connector.listen(exit_, port, serve)


class UdpForward:
    """Made by `udp_forward`: each local sender has a socket of its own at the other end."""

    def __init__(
        self,
        local: QueuedDatagramSocket,
        connector: Connector,
        target: SockAddress,
        proxy: Proxy,
        flows_max: int,
        idle_s: float,
    ) -> None:
        self.flows: DatagramFlows[tuple[str, int]] = DatagramFlows(
            connector, proxy, self._deliver, flows_max=flows_max, idle_s=idle_s
        )
        self._socket = local
        self._target = target
        self._carrying = asyncio.get_running_loop().create_task(self._carry())

    @property
    def address(self) -> SockAddress:
        return SockAddress(*self._socket.address)

    async def close(self) -> None:
        self._carrying.cancel()
        await asyncio.gather(self._carrying, return_exceptions=True)
        await self.flows.close()
        self._socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _carry(self) -> None:
        while True:
            data, ip, port = await self._socket.receive()
            self.flows.send((ip, port), self._target, data)

    def _deliver(self, sender: tuple[str, int], source: SockAddress, data: bytes) -> None:
        self._socket.send(data, sender)


async def udp_forward(
    connector: Connector,
    target: SockAddress,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    flows_max: int = FLOWS_MAX,
    idle_s: float = IDLE_S,
) -> UdpForward:
    """Forward every datagram to `target`, and replies back."""
    sock = await bound_socket(socket.SOCK_DGRAM, host, port)
    return UdpForward(
        await QueuedDatagramSocket.adopt(sock), connector, target, proxy, flows_max, idle_s
    )
