"""The service `proxy`: makes connections for members as far as the rules go.

    node.serve(PROXY, ProxyService(ProxyRules.parse(["tcp *:443"])).handle)

Each stream is one connection: the answer first, then bytes both ways until both are done.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from errno import EADDRINUSE

import msgspec

from rookery.errors import ChannelError, CongestionError, DecodeError, LocalError, RookeryError
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.link.channels.sock_rules import SockListener
from rookery.mesh.proxy.answer import ProxyAnswer
from rookery.mesh.proxy.datagram_frame import DATAGRAM_SIZE_MAX
from rookery.mesh.proxy.fault import ProxyFault, fault_of
from rookery.mesh.proxy.opening import (
    AcceptedByExit,
    ListenRequest,
    NetTarget,
    ProxyOpening,
    SerialTarget,
    parse_opening,
)
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.endpoint.channels.sock_server import Resolve, resolve
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy.answers import ask, refuse
from rookery.runtime.proxy.connection import Closable
from rookery.runtime.proxy.datagrams import StreamDatagrams
from rookery.runtime.proxy.dialler import DIAL_S, Dialler
from rookery.runtime.proxy.idle_timeout import IdleTimeout
from rookery.runtime.proxy.remote_listener import ExpectedConnections
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.splice import IdleLimits, splice
from rookery.runtime.proxy.tcp_stream import TcpStream
from rookery.runtime.tunnels.member_stream import (
    READ_SIZE,
    MemberStream,
    OpenTunnelled,
    Serve,
    TunnelledStream,
)
from rookery.runtime.tunnels.quota import MemberQuota

PORTS_TRIED_MAX = 64

OnConnection = Callable[[TcpStream], None]


class ProxyLimits(msgspec.Struct, frozen=True):
    """How much one member, and all together, may have of us."""

    member_connections_max: int = 256
    connections_max: int = 1024
    refusals_max: int = 256  # that are being told at the same time
    dial_s: float = DIAL_S
    idle: IdleLimits = msgspec.field(default_factory=IdleLimits)


class ProxyService:
    """`open_stream` is needed for listeners only: what reaches them is carried back with it."""

    def __init__(
        self,
        rules: ProxyRules | None = None,
        *,
        open_stream: OpenTunnelled | None = None,
        devices: SerialDevices | None = None,
        arrivals: ExpectedConnections | None = None,
        limits: ProxyLimits | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self.limits = limits or ProxyLimits()
        self.seats = MemberQuota(self.limits.member_connections_max, self.limits.connections_max)
        self.refused: Counter[ProxyFault] = Counter()
        self._dialler = Dialler(
            rules or ProxyRules(), devices, dial_s=self.limits.dial_s, resolve=resolve
        )
        self._open = open_stream
        self._arrivals = arrivals or ExpectedConnections()
        self._refusing = 0

    @property
    def rules(self) -> ProxyRules:
        return self._dialler.rules

    def services(self) -> tuple[str, ...]:
        """What our record should say that we offer now; changes as lines come and go."""
        return self.rules.services(self._dialler.devices.plugged())

    async def handle(self, stream: TunnelledStream) -> None:
        """Serve one stream that a member opened, to its end."""
        try:
            opening = parse_opening(stream.meta)
            if isinstance(opening, AcceptedByExit):
                await self._hand_over(stream, self._arrivals.server(stream.peer, opening))
                return
            with self.seats.take(stream.peer):
                await self._carry_out(stream, opening)
        except DecodeError:
            await self._refuse(stream, ProxyFault.INVALID)
        except LocalError as error:
            await self._refuse(stream, fault_of(error))
        except RookeryError:
            return  # the stream was lost
        except BaseException:
            stream.abort(ProxyFault.GONE.code)
            raise

    async def _hand_over(self, stream: MemberStream, serve: Serve) -> None:
        try:
            await self._connected(stream, None)
            await serve(stream)
        except RookeryError:  # there was an answer, so there is nothing more to say
            stream.abort(ProxyFault.GONE.code)

    async def _carry_out(self, stream: TunnelledStream, opening: ProxyOpening) -> None:
        match opening:
            case NetTarget(protocol=SockProtocol.TCP):
                physical = await self._dialler.tcp(opening, stream.peer)
                await self._join(stream, physical, physical.remote)
            case NetTarget():
                socket, reached = await self._dialler.udp(opening, stream.peer)
                await self._exchange(stream, socket, reached)
            case SerialTarget():
                await self._join(stream, self._dialler.serial(opening, stream.peer), None)
            case ListenRequest():
                await self._listen(stream, opening)
            case _:
                raise AssertionError(opening)

    async def _refuse(self, stream: MemberStream, fault: ProxyFault) -> None:
        self.refused[fault] += 1
        if self._refusing >= self.limits.refusals_max:
            stream.abort(fault.code)
            return
        self._refusing += 1
        try:
            await refuse(stream, fault, self.seats.load)
        finally:
            self._refusing -= 1

    async def _connected(self, stream: MemberStream, reached: SockAddress | None) -> None:
        """A member that leaves no room even for the answer does not keep its seat."""
        try:
            async with asyncio.timeout(self.limits.dial_s):
                await stream.write(ProxyAnswer(None, reached, self.seats.load).serialize())
        except TimeoutError as error:
            stream.abort(ProxyFault.TIMEOUT.code)
            raise ChannelError("nobody takes the answer") from error

    async def _join(
        self, stream: MemberStream, physical: Closable, reached: SockAddress | None
    ) -> None:
        try:
            await self._connected(stream, reached)
            await splice(stream, physical, self.limits.idle)
        except BaseException:
            physical.abort(ProxyFault.GONE.code)
            raise
        finally:
            await physical.close()

    # --- datagrams ---

    async def _exchange(
        self, stream: TunnelledStream, socket: QueuedDatagramSocket, reached: SockAddress
    ) -> None:
        """Until the member ends, or nothing moved for long."""
        datagrams, limit_s = StreamDatagrams(stream), self.limits.idle.udp_s
        try:
            await self._connected(stream, reached)
            async with asyncio.timeout(limit_s) as timeout, asyncio.TaskGroup() as tasks:
                idle = IdleTimeout(timeout, limit_s)
                inward = tasks.create_task(_inward(datagrams, socket, idle))
                while (data := await datagrams.receive()) is not None:
                    idle.moved()
                    socket.send(data)
                inward.cancel()
            await stream.finish()
        except TimeoutError:
            stream.abort(ProxyFault.TIMEOUT.code)
        except ExceptionGroup as group:
            if group.split(RookeryError)[1] is not None:
                raise
            stream.abort(ProxyFault.GONE.code)
        finally:
            socket.close()

    # --- listeners ---

    async def _listen(self, stream: MemberStream, opening: ListenRequest) -> None:
        """Until the member ends the stream; connections that were let in may finish."""
        if self._open is None:
            raise ProxyFault.POLICY.error(opening)
        listener = self._dialler.listener(opening.port, stream.peer)
        loop, connections = asyncio.get_running_loop(), set[asyncio.Task[None]]()

        def accepted(physical: TcpStream) -> None:
            connection = loop.create_task(self._arrived(stream.peer, opening.token, physical))
            connections.add(connection)
            connection.add_done_callback(connections.discard)

        server = await _first_free(listener, opening, accepted)
        try:
            ip, port = server.sockets[0].getsockname()[:2]
            await self._connected(stream, SockAddress(ip, port))
            while await stream.read(READ_SIZE):
                pass
            server.close()
            await stream.finish()
            while connections:
                await asyncio.wait(connections)
        finally:
            server.close()
            for connection in connections:
                connection.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def _arrived(self, hashname: str, token: str, physical: TcpStream) -> None:
        assert self._open is not None
        source = physical.remote
        try:
            with self.seats.take(hashname):
                meta = AcceptedByExit(token, source.host, source.port).meta()
                async with asyncio.timeout(self.limits.dial_s):
                    stream, answer = await ask(self._open, hashname, meta)
                if answer.fault is not None:
                    raise answer.fault.error(source)
                await splice(stream, physical, self.limits.idle)
        except (RookeryError, TimeoutError) as error:
            if isinstance(error, CongestionError):
                self.refused[ProxyFault.BUSY] += 1
            physical.abort(ProxyFault.GONE.code)
        finally:
            await physical.close()


async def _inward(
    datagrams: StreamDatagrams, socket: QueuedDatagramSocket, idle: IdleTimeout
) -> None:
    while True:
        data, _, _ = await socket.receive()
        idle.moved()
        if len(data) <= DATAGRAM_SIZE_MAX:  # IPv6 could carry a few bytes more
            await datagrams.send(data)


async def _first_free(
    listener: SockListener, opening: ListenRequest, accepted: OnConnection
) -> asyncio.Server:
    for port in listener.ports[:PORTS_TRIED_MAX]:
        try:
            return await asyncio.get_running_loop().create_server(
                lambda: TcpStream.accepting(accepted), listener.ip, port
            )
        except OSError as error:
            if error.errno != EADDRINUSE:
                raise ProxyFault.UNREACHABLE.error(opening) from error
    raise ProxyFault.IN_USE.error(opening)
