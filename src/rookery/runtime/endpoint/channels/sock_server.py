"""Opens sockets for peers as far as the rules allow: the serving side of `sock`.

All other peers get `denied`. Whether a name resolves, a port is open or a host exists is revealed
only to peers that a rule allows to try.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from errno import EADDRINUSE
from socket import SOCK_DGRAM, SOCK_STREAM, gaierror
from typing import TypeVar

import msgspec

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    LocalError,
    RookeryError,
    UnreachableError,
)
from rookery.link.channels.sock import (
    SockAccept,
    SockAddress,
    SockBind,
    SockConnect,
    SockFault,
    SockProtocol,
    parse_address,
)
from rookery.link.channels.sock_rules import Rules, SockListener, plain_address
from rookery.runtime.endpoint.channels.sock_relay import (
    SockChannel,
    SockLink,
    carry,
    close,
    prefilled,
    reset,
)
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.net.local_networks import LocalNetworks, local_networks

Opened = TypeVar("Opened")
Resolve = Callable[[str, int, SockProtocol], Awaitable[list[str]]]

PORTS_TRIED_MAX = 64


class SockLimits(msgspec.Struct, frozen=True):
    """How much one link, and all together, may hold open."""

    link_sockets_max: int = 64
    sockets_max: int = 1024
    dial_timeout_s: float = 10.0
    udp_idle_s: float = 120.0


async def resolve(host: str, port: int, protocol: SockProtocol) -> list[str]:
    """The addresses of a host name, best first; empty when it has none."""
    kind = SOCK_STREAM if protocol is SockProtocol.TCP else SOCK_DGRAM
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=kind)
    except (gaierror, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class SockServer:
    """Carries out `connect` and `bind` as far as the rules allow."""

    def __init__(
        self,
        rules: Rules,
        limits: SockLimits | None = None,
        resolve: Resolve = resolve,
        own: LocalNetworks = local_networks,
    ) -> None:
        self.rules = rules
        self._limits = limits or SockLimits()
        self._resolve = resolve
        self._own = own
        self._sockets: Counter[str] = Counter()

    async def connect(self, channel: SockChannel, request: SockConnect) -> None:
        """Dial for the peer; the answer tells the address that was reached."""
        protocol = SockProtocol.of(reliable=channel.reliable)
        with self._seat(channel.link.hashname):
            ip = await self._admit(channel.link.hashname, protocol, request.dst)
            reached = SockAddress(ip, request.dst.port)
            if protocol is SockProtocol.UDP:
                await self._connect_udp(channel, reached)
                return
            reader, writer = await self._dial(reached)
            try:
                await channel.send({"dst": reached.json()})
            except BaseException:
                reset(writer)
                raise
            await carry(prefilled(channel), reader, writer)

    async def bind(self, channel: SockChannel, request: SockBind) -> None:
        """Listen for the peer until it ends the channel."""
        protocol = SockProtocol.of(reliable=channel.reliable)
        peer = channel.link.hashname
        with self._seat(peer):
            try:
                listener = self.rules.listener(protocol, request.port, peer)
            except DeniedError as error:
                raise refusal(SockFault.DENIED) from error
            if protocol is SockProtocol.UDP:
                await self._bind_udp(channel, listener)
            else:
                await self._bind_tcp(channel, listener)

    @contextmanager
    def _seat(self, peer: str) -> Iterator[None]:
        limits = self._limits
        if (
            self._sockets[peer] >= limits.link_sockets_max
            or self._sockets.total() >= limits.sockets_max
        ):
            raise refusal(SockFault.BUSY)
        self._sockets[peer] += 1
        try:
            yield
        finally:
            self._sockets[peer] -= 1
            if not self._sockets[peer]:
                del self._sockets[peer]

    async def _admit(self, peer: str, protocol: SockProtocol, wanted: SockAddress) -> str:
        """The address to dial, decided after resolving; nothing is resolved for strangers."""
        host, port = wanted.host, wanted.port
        if not self.rules.admits_question(protocol, port, peer):
            raise refusal(SockFault.DENIED)
        if plain_address(host) is not None:
            addresses = [host]
        else:
            addresses = await self._resolved(host, port, protocol)
            if not addresses and self.rules.admits_name(protocol, host, port, peer):
                raise refusal(SockFault.UNREACHABLE)
        try:
            return self.rules.choose(protocol, host, addresses, port, peer, self._own())
        except DeniedError as error:
            raise refusal(SockFault.DENIED) from error

    async def _resolved(self, host: str, port: int, protocol: SockProtocol) -> list[str]:
        try:
            async with asyncio.timeout(self._limits.dial_timeout_s):
                return await self._resolve(host, port, protocol)
        except TimeoutError:
            return []

    async def _dial(self, to: SockAddress) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(self._limits.dial_timeout_s):
                return await asyncio.open_connection(to.host, to.port)
        except ConnectionRefusedError as error:
            raise refusal(SockFault.REFUSED) from error
        except OSError as error:  # a timeout is one too
            raise refusal(SockFault.UNREACHABLE) from error

    async def _connect_udp(self, channel: SockChannel, to: SockAddress) -> None:
        try:
            socket = await QueuedDatagramSocket.connect(to.host, to.port)
        except UnreachableError as error:
            raise refusal(SockFault.UNREACHABLE) from error
        try:
            await channel.send({"dst": to.json()})
            if channel.opening[1]:
                socket.send(channel.opening[1])
            await self._exchange(channel, socket, self._forward_connected)
        finally:
            socket.close()

    async def _bind_udp(self, channel: SockChannel, listener: SockListener) -> None:
        socket = await _first_free(listener, QueuedDatagramSocket.bind)
        try:
            await channel.send({"dst": SockAddress(*socket.address).json()})
            await self._exchange(channel, socket, self._forward_bound)
        finally:
            socket.close()

    async def _exchange(
        self,
        channel: SockChannel,
        socket: QueuedDatagramSocket,
        outward: Callable[[SockChannel, QueuedDatagramSocket, asyncio.Timeout], Awaitable[None]],
    ) -> None:
        """Datagrams both ways until the peer ends, or nothing moved for long."""
        idle_s = self._limits.udp_idle_s
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(idle_s) as idle:
                inward = loop.create_task(self._inward(channel, socket, idle))
                try:
                    await outward(channel, socket, idle)
                finally:
                    inward.cancel()
                    await asyncio.wait([inward])
        except TimeoutError:
            return

    async def _forward_connected(
        self, channel: SockChannel, socket: QueuedDatagramSocket, idle: asyncio.Timeout
    ) -> None:
        while (message := await channel.receive()) is not None:
            self._moved(idle)
            socket.send(message[1])

    async def _forward_bound(
        self, channel: SockChannel, socket: QueuedDatagramSocket, idle: asyncio.Timeout
    ) -> None:
        """Every datagram names its target, and every target is asked of the rules."""
        peer = channel.link.hashname
        while (message := await channel.receive()) is not None:
            self._moved(idle)
            try:
                to = parse_address(message[0], "dst")
                # No names here: resolving one per datagram could be abused.
                if to is None or plain_address(to.host) is None:
                    continue
                self.rules.choose(SockProtocol.UDP, to.host, [to.host], to.port, peer, self._own())
            except (DecodeError, DeniedError):
                continue
            socket.send(message[1], (to.host, to.port))

    async def _inward(
        self, channel: SockChannel, socket: QueuedDatagramSocket, idle: asyncio.Timeout
    ) -> None:
        try:
            while True:
                data, ip, port = await socket.receive()
                self._moved(idle)
                if len(data) <= channel.fragment_size:
                    await channel.send({"src": SockAddress(ip, port).json()}, data)
        except RookeryError:
            return  # the channel is gone, and its reader gets the same error

    def _moved(self, idle: asyncio.Timeout) -> None:
        idle.reschedule(asyncio.get_running_loop().time() + self._limits.udp_idle_s)

    async def _bind_tcp(self, channel: SockChannel, listener: SockListener) -> None:
        loop = asyncio.get_running_loop()
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = loop.create_task(self._accepted(channel.link, reader, writer))
            connections.add(connection)
            connection.add_done_callback(connections.discard)

        def listen(ip: str, port: int) -> Awaitable[asyncio.Server]:
            return asyncio.start_server(connected, ip, port)

        server = await _first_free(listener, listen)
        try:
            ip, port = server.sockets[0].getsockname()[:2]
            await channel.send({"dst": SockAddress(ip, port).json()})
            while await channel.receive() is not None:
                pass
            server.close()
            await channel.end()
            while connections:  # accepted connections may finish, as with any listener
                await asyncio.wait(connections)
        finally:
            server.close()
            for connection in connections:
                connection.cancel()

    async def _accepted(
        self, link: SockLink, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        local, remote = (writer.get_extra_info(key) for key in ("sockname", "peername"))
        try:
            with self._seat(link.hashname):
                request = SockAccept(SockAddress(*local[:2]), SockAddress(*remote[:2]))
                await carry(link.open("sock", request.head()), reader, writer)
        except RookeryError:
            reset(writer)
            await close(writer)


async def _first_free(
    listener: SockListener, listen: Callable[[str, int], Awaitable[Opened]]
) -> Opened:
    for port in listener.ports[:PORTS_TRIED_MAX]:
        try:
            return await listen(listener.ip, port)
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise refusal(SockFault.UNREACHABLE) from error
    raise refusal(SockFault.IN_USE)


def refusal(fault: SockFault) -> LocalError:
    """An error whose text is sent to the peer as it is."""
    match fault:
        case SockFault.DENIED:
            return DeniedError(fault.value)
        case SockFault.BUSY:
            return CongestionError(fault.value)
        case _:
            return UnreachableError(fault.value)
