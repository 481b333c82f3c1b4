"""A SOCKS5 listener: any program that knows SOCKS gets out through an exit.

CONNECT, UDP ASSOCIATE, and BIND where one exit is named: a listener has to be somewhere.
"""

import asyncio
from functools import partial
from ipaddress import ip_address

from rookery.errors import AuthenticationError, DecodeError, LocalError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.fault import ProxyFault, fault_of
from rookery.mesh.proxy.opening import AcceptedByExit, parse_opening
from rookery.mesh.proxy.socks import (
    SocksCommand,
    SocksNegotiation,
    SocksReply,
    datagram,
    parse_datagram,
    reply,
)
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy.connector import AUTO
from rookery.runtime.proxy.datagram_flows import DatagramFlows
from rookery.runtime.proxy.listener import HANDSHAKE_S, ListenerContext, client_listener, say_last
from rookery.runtime.proxy.splice import splice
from rookery.runtime.proxy.tcp_stream import TcpStream
from rookery.runtime.tunnels.member_stream import READ_SIZE, MemberStream

BIND_S = 60.0  # for the one connection that a BIND waits for
FLOWS_MAX = 64  # of one client

_STEP_SIZE = 512


async def _serve(passage: ListenerContext, stream: TcpStream) -> None:
    negotiation = SocksNegotiation(passage.credentials)
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            await _negotiate(stream, negotiation)
    except (DecodeError, AuthenticationError):
        await say_last(stream, negotiation.take())
        raise
    request = negotiation.request
    if request is None:
        return  # went away
    to = request.address
    match request.command:
        case SocksCommand.CONNECT:
            await passage.connect(
                stream, to, reply(SocksReply.SUCCEEDED), _refusal, negotiation.early
            )
        case SocksCommand.UDP_ASSOCIATE:
            await _associate(passage, stream, to.port)
        case SocksCommand.BIND:
            await _bind(passage, stream, to)


socks_listener = partial(client_listener, _serve)  # listens for SOCKS5 clients


def _refusal(fault: ProxyFault) -> bytes:
    return reply(SocksReply.of(fault))


async def _associate(passage: ListenerContext, stream: TcpStream, port: int) -> None:
    """Datagrams for as long as the client holds its connection."""
    socket = await QueuedDatagramSocket.bind(stream.local.host, 0)
    relay = _SocksDatagrams(socket, stream.remote.host, port, passage)
    relaying = asyncio.get_running_loop().create_task(relay.run())
    try:
        await stream.write(reply(SocksReply.SUCCEEDED, SockAddress(*socket.address)))
        while await stream.read(READ_SIZE):
            pass
    finally:
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
        await relay.flows.close()
        socket.close()


async def _bind(passage: ListenerContext, stream: TcpStream, expected: SockAddress) -> None:
    if not isinstance(passage.proxy, str) or passage.proxy == AUTO:
        await say_last(stream, reply(SocksReply.NO_SUCH_COMMAND))
        return
    first: asyncio.Future[MemberStream] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def arrived(arrival: MemberStream) -> None:
        if first.done() or not _is_from(arrival, expected):
            raise DecodeError("somebody else than expected")
        first.set_result(arrival)
        await done.wait()

    try:
        listener = await passage.connector.listen(passage.proxy, 0, arrived)
    except LocalError as error:
        await say_last(stream, _refusal(fault_of(error)))
        raise
    try:
        async with listener:
            await stream.write(reply(SocksReply.SUCCEEDED, listener.address))
            async with asyncio.timeout(BIND_S):
                arrival = await first
        await stream.write(reply(SocksReply.SUCCEEDED, _source(arrival)))
        await splice(stream, arrival, passage.idle)
    except TimeoutError:
        await say_last(stream, reply(SocksReply.TTL_EXPIRED))
    finally:
        done.set()


class _SocksDatagrams:
    """The datagrams of one client: nobody else's are passed on."""

    def __init__(
        self, socket: QueuedDatagramSocket, ip: str, port: int, passage: ListenerContext
    ) -> None:
        self._socket = socket
        self._ip = ip
        self._port = port  # 0: the first one to come
        self.flows: DatagramFlows[SockAddress] = DatagramFlows(
            passage.connector, passage.proxy, self._deliver, flows_max=FLOWS_MAX
        )

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

    def _deliver(self, target: SockAddress, source: SockAddress, data: bytes) -> None:
        self._socket.send(datagram(source, data), (self._ip, self._port))


async def _negotiate(stream: TcpStream, negotiation: SocksNegotiation) -> None:
    while negotiation.request is None and (data := await stream.read(_STEP_SIZE)):
        negotiation.feed(data)
        if answer := negotiation.take():
            await stream.write(answer)


def _source(arrival: MemberStream) -> SockAddress:
    opening = parse_opening(arrival.meta)
    assert isinstance(opening, AcceptedByExit)
    return SockAddress(opening.host, opening.port)


def _is_from(arrival: MemberStream, expected: SockAddress) -> bool:
    """A client that names the address it waits for means it; a name or zeros mean anybody."""
    try:
        wanted = ip_address(expected.host)
        return wanted.is_unspecified or wanted == ip_address(_source(arrival).host)
    except ValueError:
        return True
