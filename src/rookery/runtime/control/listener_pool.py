"""The listeners of a node: opened for programs of this machine, closed when those are gone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.mesh.proxy.opening import net
from rookery.runtime.control.listeners import HeldListeners, ResolvedListener
from rookery.runtime.control.messages import ListenerRequest
from rookery.runtime.node.snapshot import ListenerKind, ListenerOpened, ListenerTrouble
from rookery.runtime.proxy.connector import AUTO, Connector
from rookery.runtime.proxy.forward import (
    UdpForward,
    reverse_forward,
    serial_forward,
    tcp_forward,
    udp_forward,
)
from rookery.runtime.proxy.listener import LocalListener
from rookery.runtime.proxy.remote_listener import RemoteListener
from rookery.runtime.proxy.socks_listener import socks_listener

LISTENERS_MAX = 64


class ListenerPool:
    """All listeners of a node share its one connector, which remembers what works."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._count = 0

    @asynccontextmanager
    async def open(self, wanted: Sequence[ResolvedListener]) -> AsyncIterator[HeldListeners]:
        if self._count + len(wanted) > LISTENERS_MAX:
            raise CongestionError(
                f"{LISTENERS_MAX} listeners of this node are open already; end one"
            )
        self._count += len(wanted)
        try:
            async with AsyncExitStack() as stack:
                yield _HeldListeners([await self._opened(stack, one) for one in wanted])
        finally:
            self._count -= len(wanted)

    async def _opened(self, stack: AsyncExitStack, wanted: ResolvedListener) -> "_HeldListener":
        request, exit_ = wanted
        if request.kind is ListenerKind.REVERSE:
            return await self._reversed(stack, wanted)
        opened = await self._open(request, AUTO if exit_ is None else exit_.hashname)
        stack.push_async_callback(opened.close)
        return _HeldListener(_row(wanted, opened.address), lambda: _error(opened))

    async def _open(self, request: ListenerRequest, exit_: str) -> LocalListener | UdpForward:
        connector, (host, port) = self._connector, (request.listen.host, request.listen.port)
        match request.kind:
            case ListenerKind.SOCKS:
                return await socks_listener(
                    connector, exit_, host=host, port=port, credentials=request.credentials
                )
            case ListenerKind.HTTP:
                # Most nodes never have one, and it takes memory.
                from rookery.runtime.proxy.connect_listener import connect_listener

                return await connect_listener(
                    connector, exit_, host=host, port=port, credentials=request.credentials
                )
            case ListenerKind.UDP:
                to = _target(request, SockProtocol.UDP)
                return await udp_forward(connector, to, exit_, host=host, port=port)
            case ListenerKind.SERIAL:
                return await serial_forward(connector, request.line, exit_, host=host, port=port)
            case _:
                to = _target(request, SockProtocol.TCP)
                return await tcp_forward(connector, to, exit_, host=host, port=port)

    async def _reversed(self, stack: AsyncExitStack, wanted: ResolvedListener) -> "_HeldListener":
        request, exit_ = wanted
        if exit_ is None:
            raise UsageError("a reverse forward listens at one node; name it instead of auto")
        to = _target(request, SockProtocol.TCP)
        port = request.listen.port
        try:
            listener = await reverse_forward(self._connector, exit_.hashname, port, to)
        except DeniedError as error:
            advice = f"its node allows it with --exit 'bind tcp 127.0.0.1:{port or '*'}'"
            raise DeniedError(f"{exit_} does not listen on port {port} for us; {advice}") from error
        stack.push_async_callback(listener.close)
        watching = asyncio.get_running_loop().create_task(_watched(listener, str(exit_)))
        stack.callback(watching.cancel)
        return _HeldListener(
            _row(wanted, listener.address), lambda: watching.result() if watching.done() else None
        )


class _HeldListener:
    """`last_error` returns the latest trouble, and raises once the listener is lost."""

    def __init__(self, row: ListenerOpened, last_error: Callable[[], RookeryError | None]) -> None:
        self.row = row
        self._last_error = last_error
        self._reported: RookeryError | None = None

    def trouble(self) -> str | None:
        error = self._last_error()
        if error is None or error is self._reported:
            return None
        self._reported = error
        through = "any exit" if self.row.exit is None else str(self.row.exit)
        advice = ""
        if isinstance(error, DeniedError):
            advice = "; an exit allows what its --exit RULE says"
        return f"{error}, through {through}{advice}"


class _HeldListeners:
    def __init__(self, listeners: Sequence[_HeldListener]) -> None:
        self._listeners = listeners

    @property
    def opened(self) -> Sequence[ListenerOpened]:
        return [listener.row for listener in self._listeners]

    def troubles(self) -> Iterator[ListenerTrouble]:
        for listener in self._listeners:
            if (problem := listener.trouble()) is not None:
                yield ListenerTrouble(listening=listener.row.listening, problem=problem)


def _row(wanted: ResolvedListener, address: SockAddress) -> ListenerOpened:
    request, exit_ = wanted
    to = "" if request.to is None else str(request.to)
    if request.kind is ListenerKind.SERIAL:
        to = request.line
    return ListenerOpened(kind=request.kind, listening=address, exit=exit_, to=to)


def _error(opened: LocalListener | UdpForward) -> RookeryError | None:
    return opened.last_error if isinstance(opened, LocalListener) else opened.flows.last_error


def _target(request: ListenerRequest, protocol: SockProtocol) -> SockAddress:
    """Where a forward leads; better refused now than with every connection."""
    if request.to is None:
        raise UsageError(f"a listener of kind {request.kind.value!r} needs a place to lead to")
    try:
        net(protocol, request.to.host, request.to.port)
    except DecodeError as error:
        raise UsageError(f"{request.to} is nowhere to connect to") from error
    return request.to


async def _watched(listener: RemoteListener, exit_: str) -> RookeryError:
    await listener.wait_closed()
    raise UnreachableError(f"{exit_} does not listen for us any more; forward again")
