"""A SOCKS5 door: any program that knows SOCKS gets out through an exit.

CONNECT, UDP ASSOCIATE, and BIND where one exit is named: a listener has to be somewhere.
"""

import asyncio
from ipaddress import ip_address

from rookery.errors import AuthenticationError, DecodeError, LocalError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.fault import fault_of
from rookery.mesh.proxy.opening import Accepted, parse_opening
from rookery.mesh.proxy.socks import (
    Command,
    Credentials,
    Negotiation,
    Reply,
    datagram,
    parse_datagram,
    reply,
)
from rookery.runtime.channels.datagrams import DatagramSocket
from rookery.runtime.proxy.byte_stream import READ_SIZE, ByteStream
from rookery.runtime.proxy.connector import AUTO, Connector, Proxy
from rookery.runtime.proxy.door import (
    CONNECTIONS_MAX,
    HANDSHAKE_S,
    LOOPBACK,
    Door,
    check_guarded,
    say_last,
)
from rookery.runtime.proxy.flows import Flows
from rookery.runtime.proxy.socket_stream import SocketStream
from rookery.runtime.proxy.splice import IdleLimits, splice

BIND_S = 60.0  # for the one connection that a BIND waits for
FLOWS_MAX = 64  # of one client

_STEP_SIZE = 512


async def socks_door(
    connector: Connector,
    proxy: Proxy = AUTO,
    *,
    host: str = LOOPBACK,
    port: int = 0,
    credentials: Credentials | None = None,
    connections_max: int = CONNECTIONS_MAX,
    idle: IdleLimits | None = None,
) -> Door:
    """Listen for SOCKS5 clients; beyond this machine only with credentials."""
    check_guarded(host, credentials)
    socks = _Socks(connector, proxy, credentials, idle or IdleLimits())
    return await Door.bind(socks.serve, host, port, connections_max)


class _Socks:
    def __init__(
        self, connector: Connector, proxy: Proxy, credentials: Credentials | None, idle: IdleLimits
    ) -> None:
        self._connector = connector
        self._proxy = proxy
        self._credentials = credentials
        self._idle = idle

    async def serve(self, stream: SocketStream) -> None:
        negotiation = Negotiation(self._credentials)
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await _negotiate(stream, negotiation)
        except (DecodeError, AuthenticationError):
            await say_last(stream, negotiation.take())
            raise
        request = negotiation.request
        if request is None:
            return  # went away
        match request.command:
            case Command.CONNECT:
                await self._connect(stream, request.address, negotiation.early)
            case Command.UDP_ASSOCIATE:
                await self._associate(stream, request.address.port)
            case Command.BIND:
                await self._bind(stream, request.address)

    async def _connect(self, stream: SocketStream, to: Address, early: bytes) -> None:
        try:
            connection = await self._connector.tcp_connect(to.host, to.port, self._proxy)
        except LocalError as error:
            await say_last(stream, reply(Reply.of(fault_of(error))))
            raise
        async with connection:
            await stream.write(reply(Reply.SUCCEEDED))
            if early:
                await connection.write(early)
            await splice(stream, connection, self._idle)

    async def _associate(self, stream: SocketStream, port: int) -> None:
        """Datagrams for as long as the client holds its connection."""
        socket = await DatagramSocket.bind(stream.local.host, 0)
        relay = _Relay(socket, stream.remote.host, port, self._connector, self._proxy)
        relaying = asyncio.get_running_loop().create_task(relay.run())
        try:
            await stream.write(reply(Reply.SUCCEEDED, Address(*socket.address)))
            while await stream.read(READ_SIZE):
                pass
        finally:
            relaying.cancel()
            await asyncio.gather(relaying, return_exceptions=True)
            await relay.flows.close()
            socket.close()

    async def _bind(self, stream: SocketStream, expected: Address) -> None:
        if not isinstance(self._proxy, str) or self._proxy == AUTO:
            await say_last(stream, reply(Reply.NO_SUCH_COMMAND))
            return
        first: asyncio.Future[ByteStream] = asyncio.get_running_loop().create_future()
        done = asyncio.Event()

        async def arrived(arrival: ByteStream) -> None:
            if first.done() or not _is_from(arrival, expected):
                raise DecodeError("somebody else than expected")
            first.set_result(arrival)
            await done.wait()

        try:
            listener = await self._connector.listen(self._proxy, 0, arrived)
        except LocalError as error:
            await say_last(stream, reply(Reply.of(fault_of(error))))
            raise
        try:
            async with listener:
                await stream.write(reply(Reply.SUCCEEDED, listener.address))
                async with asyncio.timeout(BIND_S):
                    arrival = await first
            await stream.write(reply(Reply.SUCCEEDED, _source(arrival)))
            await splice(stream, arrival, self._idle)
        except TimeoutError:
            await say_last(stream, reply(Reply.TTL_EXPIRED))
        finally:
            done.set()


class _Relay:
    """The datagrams of one client: nobody else's are passed on."""

    def __init__(
        self, socket: DatagramSocket, ip: str, port: int, connector: Connector, proxy: Proxy
    ) -> None:
        self._socket = socket
        self._ip = ip
        self._port = port  # 0: the first one to come
        self.flows: Flows[Address] = Flows(connector, proxy, self._deliver, flows_max=FLOWS_MAX)

    async def run(self) -> None:
        while True:
            data, ip, port = await self._socket.receive()
            if ip != self._ip or self._port not in (0, port):
                continue
            try:
                target, content = parse_datagram(data)
            except DecodeError:
                continue
            self._port = port
            self.flows.send(target, target, content)

    def _deliver(self, target: Address, source: Address, data: bytes) -> None:
        self._socket.send(datagram(source, data), (self._ip, self._port))


async def _negotiate(stream: SocketStream, negotiation: Negotiation) -> None:
    while negotiation.request is None and (data := await stream.read(_STEP_SIZE)):
        negotiation.feed(data)
        if answer := negotiation.take():
            await stream.write(answer)


def _source(arrival: ByteStream) -> Address:
    opening = parse_opening(arrival.meta)
    assert isinstance(opening, Accepted)
    return Address(opening.host, opening.port)


def _is_from(arrival: ByteStream, expected: Address) -> bool:
    """A client that names the address it waits for means it; a name or zeros mean anybody."""
    try:
        wanted = ip_address(expected.host)
        return wanted.is_unspecified or wanted == ip_address(_source(arrival).host)
    except ValueError:
        return True
