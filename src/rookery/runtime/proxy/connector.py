"""Connectors: TCP, UDP and serial lines, each with `proxy=` (M8).

    connector = Connector(node.open, exits)
    async with await connector.tcp_connect("www.example.org", 443, proxy="auto") as connection: …

`proxy` is None (from here), a hashname, a list of them in the order of liking, or "auto": whoever
among the exits gets through.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from rookery.errors import DecodeError, UnreachableError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.link.channels.sock import PORT_MAX, Address, Protocol
from rookery.link.channels.sock_rules import plain_address
from rookery.mesh.proxy.exit_memory import Exit, ExitMemory
from rookery.mesh.proxy.fault import ConnectError, Fault
from rookery.mesh.proxy.opening import BAUDRATE, Listen, Net, Parity, Serial, Target, net
from rookery.mesh.proxy.opening import parse_opening as checked
from rookery.mesh.proxy.race import Race, RaceSettings
from rookery.runtime.channels.sock_server import Resolve, resolve
from rookery.runtime.proxy.answering import ask
from rookery.runtime.proxy.arrivals import Arrivals
from rookery.runtime.proxy.byte_stream import OpenTunnelled, Serve, TunnelledStream
from rookery.runtime.proxy.connection import Connection
from rookery.runtime.proxy.datagrams import Datagrams, SocketDatagrams, StreamDatagrams
from rookery.runtime.proxy.devices import Devices, open_path
from rookery.runtime.proxy.dialler import DIAL_S, dial, open_datagrams, resolved
from rookery.runtime.proxy.exit_race import ExitRace
from rookery.runtime.proxy.remote_listener import RemoteListener

AUTO = "auto"

Proxy = str | Sequence[str] | None
Exits = Callable[[], Iterable[Exit]]

STRANDED_S = 1.0  # without a way to an exit, before another is asked; a change of paths takes less


def has_choice(proxy: Proxy) -> bool:
    """Whether another exit can be asked when one is out of reach."""
    return proxy == AUTO or (not isinstance(proxy, str | None) and len(proxy) > 1)


def no_exits() -> Iterable[Exit]:
    return ()


class Connector:
    """Shared by everything on a node that connects: it remembers which exits work."""

    def __init__(
        self,
        open_stream: OpenTunnelled | None = None,
        exits: Exits = no_exits,
        *,
        devices: Devices | None = None,
        arrivals: Arrivals | None = None,
        memory: ExitMemory | None = None,
        settings: RaceSettings | None = None,
        resolve: Resolve = resolve,
    ) -> None:
        self.memory = memory or ExitMemory()
        self._open = open_stream
        self._exits = exits
        self._devices = devices or Devices()
        self._arrivals = arrivals or Arrivals()
        self._settings = settings or RaceSettings()
        self._resolve = resolve

    async def tcp_connect(self, host: str, port: int, proxy: Proxy = None) -> Connection:
        """LocalError says why there is no connection; its `fault` what failed, if one did."""
        target = _net(Protocol.TCP, host, port)
        if proxy is not None:
            return await self._through(target, proxy)
        stream = await dial(target, await self._addresses(target))
        return Connection(stream, stream.remote, owned=stream)

    async def udp_connect(self, host: str, port: int, proxy: Proxy = None) -> Datagrams:
        target = _net(Protocol.UDP, host, port)
        if proxy is not None:
            exit_, stream, reached = await self._race(target, proxy)
            return StreamDatagrams(stream, reached, exit_)
        address, *_ = await self._addresses(target)
        return SocketDatagrams(await open_datagrams(target, address), Address(address, port))

    async def serial_open(
        self,
        name: str,
        proxy: Proxy = None,
        *,
        baudrate: int = BAUDRATE,
        bits: int = 8,
        parity: Parity = Parity.NONE,
        stop: int = 1,
    ) -> Connection:
        """A line by name; without a proxy also by its path. "auto" looks at this host first."""
        line = Serial(name, baudrate, bits, parity, stop)
        if proxy is None and "/" in name:
            stream = open_path(name, line)
            return Connection(stream, owned=stream)
        try:
            checked(line.meta())
        except DecodeError as error:
            raise UsageError(f"serial {name!r}: {error}") from error
        if proxy is None:
            return self._line(line)
        if proxy == AUTO:
            try:
                return self._line(line)
            except ConnectError as error:
                if error.fault is not Fault.GONE:
                    raise
        return await self._through(line, proxy)

    async def listen(self, exit_: str, port: int, serve: Serve) -> RemoteListener:
        """Have an exit listen on a TCP port (0: any); `serve` gets each connection's stream."""
        if not 0 <= port <= PORT_MAX:
            raise UsageError(f"{port} is not a port")
        open_stream = self._opener()
        expecting = self._arrivals.expect(_hashname(exit_), serve)
        request = Listen(port, expecting.__enter__())
        try:
            async with asyncio.timeout(self._settings.attempt_s):
                stream, answer = await ask(open_stream, exit_, request.meta())
            if answer.fault is not None:
                raise answer.fault.error(request)
            if answer.reached is None:
                stream.abort(Fault.GONE.code)
                raise Fault.UNREACHABLE.error(request)
        except BaseException as error:
            expecting.__exit__(None, None, None)
            if isinstance(error, TimeoutError):
                raise Fault.TIMEOUT.error(request) from error
            raise
        return RemoteListener(stream, answer.reached, exit_, expecting)

    def out_of_reach(self, target: Target, exit_: str) -> None:
        """An exit that got us there has fallen silent: others are asked first for a while."""
        self.memory.silent(target, exit_, asyncio.get_running_loop().time())

    def _line(self, line: Serial) -> Connection:
        stream = self._devices.open(line)
        return Connection(stream, owned=stream)

    async def _through(self, target: Target, proxy: str | Sequence[str]) -> Connection:
        exit_, stream, reached = await self._race(target, proxy)
        return Connection(stream, reached, exit_)

    async def _race(
        self, target: Target, proxy: str | Sequence[str]
    ) -> tuple[str, TunnelledStream, Address | None]:
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
        race = Race(target, exits, self.memory, now, self._settings)
        return await ExitRace(race, target, open_stream).run()

    async def _addresses(self, target: Net) -> list[str]:
        if plain_address(target.host) is not None:
            return [target.host]
        found = await resolved(target, DIAL_S, self._resolve)
        if not found:
            raise Fault.DNS.error(target)
        return found

    def _opener(self) -> OpenTunnelled:
        if self._open is None:
            raise UsageError("there is no node here to reach an exit with")
        return self._open


def _net(protocol: Protocol, host: str, port: int) -> Net:
    try:
        return net(protocol, host, port)
    except DecodeError as error:
        raise UsageError(f"{protocol} {host!r}:{port} is nowhere to connect to") from error


def _hashname(text: str) -> str:
    if not is_hashname(text):
        raise UsageError(f"{text!r} is not a hashname")
    return text
