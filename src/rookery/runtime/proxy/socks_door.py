"""A SOCKS5 door: any program that knows SOCKS gets out through an exit.

CONNECT, UDP ASSOCIATE, and BIND where one exit is named: a listener has to be somewhere.
"""

import asyncio
from functools import partial
from ipaddress import ip_address

from rookery.errors import AuthenticationError, DecodeError, LocalError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.fault import Fault, fault_of
from rookery.mesh.proxy.opening import Accepted, parse_opening
from rookery.mesh.proxy.socks import (
    Command,
    Negotiation,
    Reply,
    datagram,
    parse_datagram,
    reply,
)
from rookery.runtime.channels.datagrams import DatagramSocket
from rookery.runtime.proxy.byte_stream import READ_SIZE, ByteStream
from rookery.runtime.proxy.connector import AUTO
from rookery.runtime.proxy.door import HANDSHAKE_S, say_last
from rookery.runtime.proxy.flows import Flows
from rookery.runtime.proxy.passage import Passage, passage_door
from rookery.runtime.proxy.socket_stream import SocketStream
from rookery.runtime.proxy.splice import splice

BIND_S = 60.0  # for the one connection that a BIND waits for
FLOWS_MAX = 64  # of one client

_STEP_SIZE = 512


async def _serve(passage: Passage, stream: SocketStream) -> None:
    negotiation = Negotiation(passage.credentials)
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
        case Command.CONNECT:
            await passage.connect(stream, to, reply(Reply.SUCCEEDED), _refusal, negotiation.early)
        case Command.UDP_ASSOCIATE:
            await _associate(passage, stream, to.port)
        case Command.BIND:
            await _bind(passage, stream, to)


socks_door = partial(passage_door, _serve)  # listens for SOCKS5 clients


def _refusal(fault: Fault) -> bytes:
    return reply(Reply.of(fault))


async def _associate(passage: Passage, stream: SocketStream, port: int) -> None:
    """Datagrams for as long as the client holds its connection."""
    socket = await DatagramSocket.bind(stream.local.host, 0)
    relay = _Relay(socket, stream.remote.host, port, passage)
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


async def _bind(passage: Passage, stream: SocketStream, expected: Address) -> None:
    if not isinstance(passage.proxy, str) or passage.proxy == AUTO:
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
        listener = await passage.connector.listen(passage.proxy, 0, arrived)
    except LocalError as error:
        await say_last(stream, _refusal(fault_of(error)))
        raise
    try:
        async with listener:
            await stream.write(reply(Reply.SUCCEEDED, listener.address))
            async with asyncio.timeout(BIND_S):
                arrival = await first
        await stream.write(reply(Reply.SUCCEEDED, _source(arrival)))
        await splice(stream, arrival, passage.idle)
    except TimeoutError:
        await say_last(stream, reply(Reply.TTL_EXPIRED))
    finally:
        done.set()


class _Relay:
    """The datagrams of one client: nobody else's are passed on."""

    def __init__(self, socket: DatagramSocket, ip: str, port: int, passage: Passage) -> None:
        self._socket = socket
        self._ip = ip
        self._port = port  # 0: the first one to come
        self.flows: Flows[Address] = Flows(
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
