"""The doors of a node: opened for programs of this machine, closed when those are gone."""

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

DOORS_MAX = 64


class ListenerPool:
    """All doors of a node lead through its one connector, which remembers what works."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._count = 0

    @asynccontextmanager
    async def open(self, wanted: Sequence[ResolvedListener]) -> AsyncIterator[HeldListeners]:
        if self._count + len(wanted) > DOORS_MAX:
            raise CongestionError(f"{DOORS_MAX} doors of this node are open already; end one")
        self._count += len(wanted)
        try:
            async with AsyncExitStack() as stack:
                yield _HeldListeners([await self._opened(stack, one) for one in wanted])
        finally:
            self._count -= len(wanted)

    async def _opened(self, stack: AsyncExitStack, wanted: ResolvedListener) -> "_HeldListener":
        door, exit_ = wanted
        if door.kind is ListenerKind.REVERSE:
            return await self._reversed(stack, wanted)
        opened = await self._open(door, AUTO if exit_ is None else exit_.hashname)
        stack.push_async_callback(opened.close)
        return _HeldListener(_row(wanted, opened.address), lambda: _error(opened))

    async def _open(self, door: ListenerRequest, exit_: str) -> LocalListener | UdpForward:
        connector, (host, port) = self._connector, (door.listen.host, door.listen.port)
        match door.kind:
            case ListenerKind.SOCKS:
                return await socks_listener(
                    connector, exit_, host=host, port=port, credentials=door.credentials
                )
            case ListenerKind.HTTP:
                # Most nodes never have one, and it takes memory.
                from rookery.runtime.proxy.connect_listener import connect_listener

                return await connect_listener(
                    connector, exit_, host=host, port=port, credentials=door.credentials
                )
            case ListenerKind.UDP:
                to = _target(door, SockProtocol.UDP)
                return await udp_forward(connector, to, exit_, host=host, port=port)
            case ListenerKind.SERIAL:
                return await serial_forward(connector, door.line, exit_, host=host, port=port)
            case _:
                to = _target(door, SockProtocol.TCP)
                return await tcp_forward(connector, to, exit_, host=host, port=port)

    async def _reversed(self, stack: AsyncExitStack, wanted: ResolvedListener) -> "_HeldListener":
        door, exit_ = wanted
        if exit_ is None:
            raise UsageError("a reverse forward listens at one node; name it instead of auto")
        to = _target(door, SockProtocol.TCP)
        port = door.listen.port
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
    """`last_error` is asked for trouble, and raises when there is no door any more."""

    def __init__(self, row: ListenerOpened, last_error: Callable[[], RookeryError | None]) -> None:
        self.row = row
        self._last_error = last_error
        self._told: RookeryError | None = None

    def trouble(self) -> str | None:
        error = self._last_error()
        if error is None or error is self._told:
            return None
        self._told = error
        through = "any exit" if self.row.exit is None else str(self.row.exit)
        advice = ""
        if isinstance(error, DeniedError):
            advice = "; an exit allows what its --exit RULE says"
        return f"{error}, through {through}{advice}"


class _HeldListeners:
    def __init__(self, doors: Sequence[_HeldListener]) -> None:
        self._doors = doors

    @property
    def opened(self) -> Sequence[ListenerOpened]:
        return [door.row for door in self._doors]

    def troubles(self) -> Iterator[ListenerTrouble]:
        for door in self._doors:
            if (problem := door.trouble()) is not None:
                yield ListenerTrouble(listening=door.row.listening, problem=problem)


def _row(wanted: ResolvedListener, address: SockAddress) -> ListenerOpened:
    door, exit_ = wanted
    to = "" if door.to is None else str(door.to)
    if door.kind is ListenerKind.SERIAL:
        to = door.line
    return ListenerOpened(kind=door.kind, listening=address, exit=exit_, to=to)


def _error(opened: LocalListener | UdpForward) -> RookeryError | None:
    return opened.last_error if isinstance(opened, LocalListener) else opened.flows.last_error


def _target(door: ListenerRequest, protocol: SockProtocol) -> SockAddress:
    """Where a forward leads; better refused now than with every connection."""
    if door.to is None:
        raise UsageError(f"a door of kind {door.kind.value!r} needs a place to lead to")
    try:
        net(protocol, door.to.host, door.to.port)
    except DecodeError as error:
        raise UsageError(f"{door.to} is nowhere to connect to") from error
    return door.to


async def _watched(listener: RemoteListener, exit_: str) -> RookeryError:
    await listener.wait_closed()
    raise UnreachableError(f"{exit_} does not listen for us any more; forward again")
