"""`sock` for one endpoint: tunnels through the other end of a link, and for it.

sock = Sock(Rules.parse(["tcp 127.0.0.1:8080"]))
endpoint.serve("sock", sock.handle)                           for others, as far as rules go
stream = await sock.connect(link, "192.0.2.1", 80)            a connection made over there
async with await sock.forward(link, "127.0.0.1", 8000, "192.0.2.1", 80): …
async with await sock.bind(link, 8000, on_accept): …          a listener over there
"""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from rookery.errors import ChannelError, DecodeError, RookeryError, UsageError
from rookery.link.channels.sock import (
    PORT_MAX,
    SockAccept,
    SockAddress,
    SockBind,
    SockConnect,
    SockFault,
    parse_address,
    parse_bound,
    parse_open,
)
from rookery.link.channels.sock_rules import Rules
from rookery.runtime.endpoint.channels.interface import ChannelInterface
from rookery.runtime.endpoint.channels.sock_relay import (
    PrefilledChannel,
    SockChannel,
    SockLink,
    carry,
    close,
    prefilled,
    reset,
)
from rookery.runtime.endpoint.channels.sock_server import (
    Resolve,
    SockLimits,
    SockServer,
    refusal,
    resolve,
)
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.wire.link.lob import JsonObject

# A JavaScript peer confirms nothing and loses what comes before its own socket is connected, so
# an unconfirmed connection counts as made after this long. Ours keeps what comes early.
CONFIRM_S = 0.5
ANSWER_S = 10.0
FORWARDED_MAX = 256

OnAccept = Callable[[LinkStream, SockAddress | None], Awaitable[None]]


class SockBinding:
    """A port that the peer listens on for us, until closed."""

    def __init__(
        self, channel: ChannelInterface, address: SockAddress, forget: Callable[[], None]
    ) -> None:
        self.address = address
        self._channel = channel
        self._forget = forget

    async def close(self) -> None:
        self._forget()
        try:
            await self._channel.end()
        except RookeryError:
            return  # the link went down, and the listener with it

    async def wait_closed(self) -> None:
        """Until the peer stops listening; ChannelError when the link was lost."""
        while await self._channel.receive() is not None:
            pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class SockDatagrams:
    """A UDP socket at the other end of a link."""

    def __init__(self, channel: ChannelInterface, address: SockAddress | None) -> None:
        self.address = address  # reached by `udp`, bound by `udp_bind`; None if not confirmed
        self._channel = channel

    async def send(self, data: bytes, to: SockAddress | None = None) -> None:
        """Send one datagram; `to` only for a bound socket. UDP may lose it."""
        if len(data) > self._channel.fragment_size:
            raise UsageError(f"a datagram of {len(data)} bytes does not fit one packet")
        await self._channel.send(None if to is None else {"dst": to.json()}, data)

    async def receive(self) -> tuple[bytes, SockAddress | None] | None:
        """The next datagram and whom it is from; None once the peer closed the socket."""
        while (message := await self._channel.receive()) is not None:
            try:
                source = parse_address(message[0], "src")
            except DecodeError:
                continue
            if source is not None or message[1]:
                return message[1], source
        return None

    async def close(self) -> None:
        await self._channel.end()


class SockForward:
    """A local listener whose connections go on from the other end of a link."""

    def __init__(self, link: SockLink, target: SockAddress) -> None:
        self._link = link
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.last_error: RookeryError | None = None

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def listen(self, host: str, port: int) -> None:
        try:
            self._server = await asyncio.start_server(self._connected, host, port)
        except (OSError, OverflowError) as error:
            raise UsageError(f"cannot listen on {SockAddress(host, port)}: {error}") from error

    async def close(self) -> None:
        """Stop listening and break off what is still carried."""
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= FORWARDED_MAX:
            reset(writer)
            return
        connection = asyncio.get_running_loop().create_task(self._forward(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = SockAddress(*writer.get_extra_info("peername")[:2])
        try:
            channel, _ = await _connect(self._link, SockConnect(self._target, source))
            await carry(channel, reader, writer)
        except RookeryError as error:
            self.last_error = error
            reset(writer)
        finally:
            await close(writer)


class Sock:
    """Both sides of the channel: what peers ask of us, and what we ask of them."""

    def __init__(
        self,
        rules: Rules | None = None,
        limits: SockLimits | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self._server = SockServer(rules or Rules(), limits, resolve)
        self._accepting: dict[tuple[str, int], OnAccept] = {}

    async def handle(self, channel: SockChannel) -> None:
        """Serve one channel that a peer opened."""
        try:
            request = parse_open(channel.opening[0])
        except DecodeError as error:
            raise DecodeError(SockFault.INVALID.value) from error
        match request:
            case SockConnect():
                await self._server.connect(channel, request)
            case SockBind():
                await self._server.bind(channel, request)
            case SockAccept(dst, src):
                key = channel.link.hashname, dst.port
                if not channel.reliable or (on_accept := self._accepting.get(key)) is None:
                    raise refusal(SockFault.DENIED)
                async with LinkStream(prefilled(channel)) as stream:
                    await on_accept(stream, src)

    async def connect(self, link: SockLink, host: str, port: int) -> LinkStream:
        """A TCP connection from the other end of `link`; the name is resolved over there."""
        channel, _ = await _connect(link, SockConnect(_address(host, port)))
        return LinkStream(channel)

    async def forward(
        self, link: SockLink, local_host: str, local_port: int, host: str, port: int
    ) -> SockForward:
        """Listen here; every connection goes on from the other end of `link`."""
        forward = SockForward(link, _address(host, port))
        await forward.listen(local_host, local_port)
        return forward

    async def bind(self, link: SockLink, port: int, on_accept: OnAccept) -> SockBinding:
        """Have the peer listen (0 = any port it likes); `on_accept` serves each connection."""
        channel, bound = await _bind(link, port, reliable=True)
        # The JavaScript peer names the port that was asked for, not the one it got.
        keys = [(link.hashname, bound.port), (link.hashname, port)]
        for key in keys:
            self._accepting[key] = on_accept

        def forget() -> None:
            for key in keys:
                self._accepting.pop(key, None)

        return SockBinding(channel, bound, forget)

    async def udp(self, link: SockLink, host: str, port: int) -> SockDatagrams:
        """A UDP socket over there that talks to one address."""
        channel, reached = await _connect(link, SockConnect(_address(host, port)), reliable=False)
        return SockDatagrams(channel, reached)

    async def udp_bind(self, link: SockLink, port: int = 0) -> SockDatagrams:
        """A UDP socket over there that talks to whom its rules let us."""
        channel, bound = await _bind(link, port, reliable=False)
        return SockDatagrams(channel, bound)


async def _connect(
    link: SockLink, request: SockConnect, *, reliable: bool = True
) -> tuple[PrefilledChannel, SockAddress | None]:
    channel = link.open("sock", request.head(), reliable=reliable)
    try:
        first = await _first(channel, request.dst, CONFIRM_S)
    except TimeoutError:
        return PrefilledChannel(channel), None
    if first is None:
        return PrefilledChannel(channel, None), None
    try:
        reached = parse_address(first[0], "dst")
    except DecodeError:
        reached = None
    return (PrefilledChannel(channel, first) if first[1] else PrefilledChannel(channel)), reached


async def _bind(
    link: SockLink, port: int, *, reliable: bool
) -> tuple[ChannelInterface, SockAddress]:
    if not 0 <= port <= PORT_MAX:
        raise UsageError(f"{port} is not a port")
    channel = link.open("sock", SockBind(port).head(), reliable=reliable)
    wanted = f"bind of port {port}"
    try:
        first = await _first(channel, wanted, ANSWER_S)
        bound = None if first is None else parse_bound(first[0])
    except (TimeoutError, DecodeError):
        bound = None
    if bound is None:
        channel.fail("closed")
        raise SockFault.UNREACHABLE.error(wanted)
    return channel, bound


async def _first(
    channel: ChannelInterface, wanted: object, timeout_s: float
) -> tuple[JsonObject, bytes] | None:
    """The first packet of the answer, with the peer's refusal as our own kind of error."""
    try:
        async with asyncio.timeout(timeout_s):
            return await channel.receive()
    except ChannelError as error:
        fault = SockFault.of(str(error))
        if fault is None:
            raise
        raise fault.error(wanted) from error
    except asyncio.CancelledError:
        channel.fail("closed")
        raise


def _address(host: str, port: int) -> SockAddress:
    """What a caller asked for, checked as strictly as if a peer had sent it."""
    try:
        request = parse_open(SockConnect(SockAddress(host, port)).head())
    except DecodeError as error:
        raise UsageError(f"{host}:{port} is not a host and port") from error
    assert isinstance(request, SockConnect)
    return request.dst
