"""Connectors: TCP, UDP and serial lines, each with `proxy=` (M8).

    connector = Connector(node.open, exits)
    async with await connector.tcp_connect("www.example.org", 443, proxy="auto") as connection: …

`proxy` is None (from here), a hashname, a list of hashnames in order of preference, or "auto": the
first exit that connects.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from rookery.errors import DecodeError, RookeryError, UnreachableError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.sock import PORT_MAX, SockAddress, SockProtocol
from rookery.link.channels.sock_rules import plain_address
from rookery.mesh.proxy.answer import ProxyAnswer
from rookery.mesh.proxy.exit_memory import Exit, ExitMemory
from rookery.mesh.proxy.fault import ProxyConnectError, ProxyFault
from rookery.mesh.proxy.opening import (
    BAUDRATE,
    ListenRequest,
    NetTarget,
    Parity,
    SerialTarget,
    Target,
    net,
)
from rookery.mesh.proxy.opening import parse_opening as checked
from rookery.mesh.proxy.race import (
    BeginAttempt,
    CancelAttempt,
    ExitAttempts,
    RaceOrder,
    RaceSettings,
)
from rookery.runtime.endpoint.channels.sock_server import Resolve, resolve
from rookery.runtime.proxy.answers import ask
from rookery.runtime.proxy.connection import ProxyConnection
from rookery.runtime.proxy.datagrams import ProxyDatagrams, SocketDatagrams, StreamDatagrams
from rookery.runtime.proxy.dialler import DIAL_S, dial, open_datagrams, resolved
from rookery.runtime.proxy.remote_listener import ExpectedConnections, RemoteListener
from rookery.runtime.proxy.serial_devices import SerialDevices, open_path
from rookery.runtime.tunnels.member_stream import OpenTunnelled, Serve, TunnelledStream

Attempt = asyncio.Task[tuple[TunnelledStream, ProxyAnswer]]


class ExitRace:
    """The attempts of one connection; all but the winner are closed when `run` returns."""

    def __init__(self, race: ExitAttempts, target: Target, open_stream: OpenTunnelled) -> None:
        self._race = race
        self._target = target
        self._open = open_stream
        self._loop = asyncio.get_running_loop()
        self._attempts: dict[str, Attempt] = {}
        self._abandoned: set[Attempt] = set()

    async def run(self) -> tuple[str, TunnelledStream, SockAddress | None]:
        """The exit, its stream and the address it reached; LocalError if every exit failed."""
        try:
            self._obey(self._race.tick(self._loop.time()))
            while not self._race.is_over:
                await self._step()
            winner = self._race.winner
            if winner is None:
                raise self._race.fault.error(self._target)
            stream, answer = self._attempts.pop(winner).result()
            return winner, stream, answer.reached
        finally:
            await self._clear()

    async def _step(self) -> None:
        deadline = self._race.deadline
        assert deadline is not None
        done, _ = await asyncio.wait(
            self._attempts.values(),
            timeout=max(0.0, deadline - self._loop.time()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for exit_ in [exit_ for exit_, attempt in self._attempts.items() if attempt in done]:
            if exit_ in self._attempts and not self._race.is_over:
                self._obey(self._judged(exit_, self._attempts[exit_]))
        self._obey(self._race.tick(self._loop.time()))

    def _judged(self, exit_: str, attempt: Attempt) -> list[RaceOrder]:
        now = self._loop.time()
        try:
            _, answer = attempt.result()
        except (RookeryError, OSError):
            del self._attempts[exit_]
            return self._race.unreached(exit_, now)
        if answer.fault is None:
            return self._race.succeeded(exit_, answer.load, now)
        del self._attempts[exit_]
        return self._race.failed(exit_, answer.fault, answer.load, now)

    def _obey(self, orders: list[RaceOrder]) -> None:
        for order in orders:
            match order:
                case BeginAttempt(exit_):
                    work = ask(self._open, exit_, self._target.meta())
                    self._attempts[exit_] = self._loop.create_task(work)
                case CancelAttempt(exit_):
                    self._abandoned.add(self._attempts.pop(exit_))

    async def _clear(self) -> None:
        leftover = [*self._abandoned, *self._attempts.values()]
        for attempt in leftover:
            attempt.cancel()
        for outcome in await asyncio.gather(*leftover, return_exceptions=True):
            if isinstance(outcome, tuple):
                outcome[0].abort(ProxyFault.GONE.code)  # too late, or cancelled


AUTO = "auto"

Proxy = str | Sequence[str] | None
Exits = Callable[[], Iterable[Exit]]

STRANDED_S = 1.0  # without a path to an exit, before another is tried; a change of paths takes less


def has_choice(proxy: Proxy) -> bool:
    """True if another exit can be tried when one is out of reach."""
    return proxy == AUTO or (not isinstance(proxy, str | None) and len(proxy) > 1)


def no_exits() -> Iterable[Exit]:
    return ()


class Connector:
    """Shared by all connections of a node: it remembers which exits work."""

    def __init__(
        self,
        open_stream: OpenTunnelled | None = None,
        exits: Exits = no_exits,
        *,
        devices: SerialDevices | None = None,
        arrivals: ExpectedConnections | None = None,
        memory: ExitMemory | None = None,
        settings: RaceSettings | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self.memory = memory or ExitMemory()
        self._open = open_stream
        self._exits = exits
        self._devices = devices or SerialDevices()
        self._arrivals = arrivals or ExpectedConnections()
        self._settings = settings or RaceSettings()
        self._resolve = resolve

    async def tcp_connect(self, host: str, port: int, proxy: Proxy = None) -> ProxyConnection:
        """Connect; a LocalError says why not, and its `fault` what failed at the exit."""
        target = _net(SockProtocol.TCP, host, port)
        if proxy is not None:
            return await self._through(target, proxy)
        stream = await dial(target, await self._addresses(target))
        return ProxyConnection(stream, stream.remote, owned=stream)

    async def udp_connect(self, host: str, port: int, proxy: Proxy = None) -> ProxyDatagrams:
        target = _net(SockProtocol.UDP, host, port)
        if proxy is not None:
            exit_, stream, reached = await self._race(target, proxy)
            return StreamDatagrams(stream, reached, exit_)
        address, *_ = await self._addresses(target)
        return SocketDatagrams(await open_datagrams(target, address), SockAddress(address, port))

    async def serial_open(
        self,
        name: str,
        proxy: Proxy = None,
        *,
        baudrate: int = BAUDRATE,
        bits: int = 8,
        parity: Parity = Parity.NONE,
        stop: int = 1,
    ) -> ProxyConnection:
        """A line by name; without a proxy also by its path. "auto" looks at this host first."""
        line = SerialTarget(name, baudrate, bits, parity, stop)
        if proxy is None and "/" in name:
            stream = open_path(name, line)
            return ProxyConnection(stream, owned=stream)
        try:
            checked(line.meta())
        except DecodeError as error:
            raise UsageError(f"serial {name!r}: {error}") from error
        if proxy is None:
            return self._line(line)
        if proxy == AUTO:
            try:
                return self._line(line)
            except ProxyConnectError as error:
                if error.fault is not ProxyFault.GONE:
                    raise
        return await self._through(line, proxy)

    async def listen(self, exit_: str, port: int, serve: Serve) -> RemoteListener:
        """Have an exit listen on a TCP port (0: any); `serve` gets each connection's stream."""
        if not 0 <= port <= PORT_MAX:
            raise UsageError(f"{port} is not a port")
        open_stream = self._opener()
        expecting = self._arrivals.expect(_hashname(exit_), serve)
        request = ListenRequest(port, expecting.__enter__())
        try:
            async with asyncio.timeout(self._settings.attempt_s):
                stream, answer = await ask(open_stream, exit_, request.meta())
            if answer.fault is not None:
                raise answer.fault.error(request)
            if answer.reached is None:
                stream.abort(ProxyFault.GONE.code)
                raise ProxyFault.UNREACHABLE.error(request)
        except BaseException as error:
            expecting.__exit__(None, None, None)
            if isinstance(error, TimeoutError):
                raise ProxyFault.TIMEOUT.error(request) from error
            raise
        return RemoteListener(stream, answer.reached, exit_, expecting)

    def out_of_reach(self, target: Target, exit_: str) -> None:
        """An exit that connected has fallen silent: prefer others for a while."""
        self.memory.silent(target, exit_, asyncio.get_running_loop().time())

    def _line(self, line: SerialTarget) -> ProxyConnection:
        stream = self._devices.open(line)
        return ProxyConnection(stream, owned=stream)

    async def _through(self, target: Target, proxy: str | Sequence[str]) -> ProxyConnection:
        exit_, stream, reached = await self._race(target, proxy)
        return ProxyConnection(stream, reached, exit_)

    async def _race(
        self, target: Target, proxy: str | Sequence[str]
    ) -> tuple[str, TunnelledStream, SockAddress | None]:
        open_stream, now = self._opener(), asyncio.get_running_loop().time()
        if proxy == AUTO:
            exits = self.memory.order(target, self._exits(), now)
            if not exits:
                raise UnreachableError(f"{target}: no exit offers that")
        else:
            named = [proxy] if isinstance(proxy, str) else proxy
            if not named:
                raise UsageError("a list of exits without any")
            exits = self.memory.arrange(target, list(map(_hashname, named)), now)
        race = ExitAttempts(target, exits, self.memory, now, self._settings)
        return await ExitRace(race, target, open_stream).run()

    async def _addresses(self, target: NetTarget) -> list[str]:
        if plain_address(target.host) is not None:
            return [target.host]
        found = await resolved(target, DIAL_S, self._resolve)
        if not found:
            raise ProxyFault.DNS.error(target)
        return found

    def _opener(self) -> OpenTunnelled:
        if self._open is None:
            raise UsageError("there is no node here to reach an exit with")
        return self._open


def _net(protocol: SockProtocol, host: str, port: int) -> NetTarget:
    try:
        return net(protocol, host, port)
    except DecodeError as error:
        raise UsageError(f"{protocol} {host!r}:{port} is nowhere to connect to") from error


def _hashname(text: str) -> str:
    if not is_hashname(text):
        raise UsageError(f"{text!r} is not a hashname")
    return text
