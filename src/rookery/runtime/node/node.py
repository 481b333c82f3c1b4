"""One member of a realm on real sockets: an endpoint, the mesh's core, and services for members.

    async with mesh_node(identity, RealmStore(folder), listen="192.0.2.7:4200") as node:
        link = await node.link(hashname).up()
        async with link.stream() as stream: …

It carries time, packets and the realm's folder to the cores and back; the rules are theirs.
Proxy, files and bench answer from the start, so that a member that may not use one is told why.
The code of each is imported when it is first used: it takes memory, and most nodes only carry
packets.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import msgspec

from rookery.errors import RemoteError, UnreachableError, UsageError
from rookery.identity.identity import Identity
from rookery.mesh.bench import BenchPathFigures
from rookery.mesh.node import Node
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.routing.echo import TIMEOUT_S, Echoed, EchoFailed, EchoLost
from rookery.mesh.services import BENCH, FILES, PROBES, PROXY
from rookery.runtime.bench.figures import path_figures
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.gate import GateReceiver
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.gates.unix_gate import UnixGate
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.endpoint.resolve import checked_hashname
from rookery.runtime.net.address import has_address, parse_address
from rookery.runtime.node.driver import NodeDriver, OnDatagram
from rookery.runtime.outbox.mesh_outbox import MeshOutbox
from rookery.runtime.realm.join import JoinLog, JoinServer, serve_joins
from rookery.runtime.realm.store import RealmStore
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.runtime.tunnels.tunnels import AsyncTunnels, TunnelHandler
from rookery.wire.link.path import NetPath, Path, RoutePath
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.echo import REQUEST_SIZE_MIN
from rookery.wire.mesh.forward import HOP_LIMIT_MAX, DatagramClass
from rookery.wire.octets import Octets

if TYPE_CHECKING:
    from rookery.mesh.files.folder import FolderRules
    from rookery.mesh.proxy.rules import ProxyRules
    from rookery.outbox.outbox import OnEnded
    from rookery.runtime.bench.service import BenchService
    from rookery.runtime.files.service import FileService
    from rookery.runtime.outbox.outbox import AsyncOutbox
    from rookery.runtime.proxy.proxy import Proxy
    from rookery.runtime.proxy.serial_devices import SerialDevices


PORT_TRIES = 16
POLL_S = 1.0  # how often the folder is looked at
MEASURE_S = 1.0  # how often the system's measures of connections are read
ADDRESSES_S = 0.5  # how often the system's addresses are read
REMEMBER_S = 30.0  # how often statements of the realm are saved for the next start


class RouteGate:
    """Packets for `RoutePath`s leave through the mesh instead of a socket."""

    kinds = frozenset({"route"})
    paths: tuple[Path, ...] = ()

    def __init__(self, node: Node, clock: Callable[[], float]) -> None:
        self._node = node
        self._now = clock

    def send(self, path: Path, data: Octets) -> None:
        assert isinstance(path, RoutePath)
        self._node.send_over_route(path.hn, data, self._now())

    def flush(self) -> None:
        """Nothing waits here: what was sent leaves through another gate."""

    def hang_up(self, path: Path) -> None:
        """There are no connections to end."""

    async def close(self) -> None:
        pass


class MeshNode:
    """One member; made by `mesh_node`."""

    def __init__(
        self,
        endpoint: AsyncEndpoint,
        core: Node,
        store: RealmStore,
        rules: "ProxyRules | None" = None,
        devices: "SerialDevices | None" = None,
        folders: "FolderRules | None" = None,
        *,
        is_benched: bool = True,
        outbox_path: FilePath | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.core = core
        self.tunnels = AsyncTunnels(core, endpoint.stir, endpoint.now)
        self.store = store
        self.started_s = time.time()
        self.driver = NodeDriver(core, self.tunnels, endpoint.now())
        self.joins: JoinServer | None = None  # if this node signs for the realm
        self._outbox = MeshOutbox(endpoint.hashname, self.tunnels, self._members, outbox_path)
        endpoint.make_sock = lambda: self.proxy.sock
        self._remembered_at = endpoint.now()
        self._rules = rules
        self._devices = devices
        self._folders = folders
        self._is_benched = is_benched
        self.tunnels.serve(PROXY, self._handle_proxy)
        self.tunnels.serve(FILES, self._handle_files)
        self.tunnels.serve(BENCH, self._handle_bench)
        if folders is not None:
            _ = self.files  # reads the umask, which must not change in another thread meanwhile

    @property
    def hashname(self) -> str:
        return self.endpoint.hashname

    @property
    def on_datagram(self) -> OnDatagram | None:
        """Called with the sender's hashname and the payload of each datagram that arrives."""
        return self.driver.on_datagram

    @on_datagram.setter
    def on_datagram(self, call: OnDatagram | None) -> None:
        self.driver.on_datagram = call

    @property
    def outbox(self) -> "AsyncOutbox":
        """To all members of the realm; requests may be added from any thread."""
        return self._outbox.get()

    def observe_requests(self, on_ended: "OnEnded | None") -> None:
        """Call this for every request of the outbox that ends from now on; None: no longer."""
        self._outbox.observe(on_ended)

    def _members(self) -> Iterable[str]:
        return (member.hashname for member in self.core.membership.members.values())

    # --- what programs do ---

    def link(self, hashname: str) -> AsyncLink:
        """The link to a member, over any path or route there is."""
        self.core.reach(hashname, self.endpoint.now())
        return self.endpoint.link(hashname)

    async def open(
        self, hashname: str, service: str, meta: Mapping[str, object] | None = None
    ) -> TunnelStream:
        """A stream to a service of a member, over all paths there are; see `AsyncTunnels.open`."""
        return await self.tunnels.open(hashname, service, meta)

    def serve(self, service: str, handler: TunnelHandler) -> None:
        """Have `handler(stream)` run for every stream that a member opens to this service."""
        self.tunnels.serve(service, handler)

    def send_datagram(
        self,
        hashname: str,
        payload: bytes,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
        deadline_s: float | None = None,
    ) -> bool:
        """Send a datagram as its class allows; whether it was sent."""
        now = self.endpoint.now()
        sent = self.core.send_datagram(hashname, payload, now, datagram_class, deadline_s)
        self.endpoint.stir()
        return sent

    async def ping(
        self,
        hashname: str,
        *,
        size: int = REQUEST_SIZE_MIN,
        hop_limit: int = HOP_LIMIT_MAX,
        timeout_s: float = TIMEOUT_S,
    ) -> Echoed | EchoFailed:
        """One echo along the route that packets take now; UnreachableError when none comes."""
        token = self.core.ping(hashname, self.endpoint.now(), size=size, hop_limit=hop_limit)
        answered = self.driver.expect(token)
        self.endpoint.stir()
        try:
            async with asyncio.timeout(timeout_s):
                outcome = await answered
        except TimeoutError as error:
            raise UnreachableError(f"{hashname[:8]} does not answer") from error
        finally:
            self.driver.forget(token)
        if isinstance(outcome, EchoLost):
            raise UnreachableError(f"{hashname[:8]} does not answer")
        return outcome

    async def measure_streams(self, streams: TcpGate) -> None:
        """Feed the system's measures of TCP connections to the neighbours' link quality."""
        while True:
            now = self.endpoint.now()
            for neighbour in self.core.neighbours.values():
                for path in neighbour.streams:
                    if (measure := streams.measure(path)) is not None:
                        neighbour.stream_measured(path, measure, now)
            await asyncio.sleep(MEASURE_S)

    async def follow_addresses(self, streams: TcpGate, *, is_announced: bool) -> None:
        """A machine that moved need not wait for its connections to fall silent.

        `is_announced` unless the operator says what leads here.
        """
        known = streams.paths
        while True:
            streams.hang_up_from(lambda address: not has_address(address))
            paths = streams.paths
            if is_announced and paths != known and not _is_offline(paths):
                known = paths
                self.endpoint.gates_changed()
                self.store.save_link(self.endpoint.address)
                settings, dialable = self.core.settings, _dialable(paths)
                self.core.settings = msgspec.structs.replace(settings, paths=dialable)
            await asyncio.sleep(ADDRESSES_S)

    # --- proxy ---

    @cached_property
    def proxy(self) -> "Proxy":
        """Needed also without rules: listeners at exits answer through it."""
        from rookery.runtime.proxy.proxy import Proxy, exits_of

        exits = exits_of(self.core, self.endpoint.now)
        return Proxy(self.tunnels.open, exits, rules=self._rules, devices=self._devices)

    def offered(self) -> tuple[str, ...]:
        """The proxy services to announce in our record; serial lines come and go."""
        return () if self._rules is None else self.proxy.services()

    async def _handle_proxy(self, stream: TunnelStream) -> None:
        await self.proxy.handle(stream)

    # --- files ---

    @cached_property
    def files(self) -> "FileService":
        from rookery.runtime.files.service import FileService

        return FileService(self._folders)

    async def _handle_files(self, stream: TunnelStream) -> None:
        await self.files.handle(stream)

    # --- bench ---

    @cached_property
    def bench(self) -> "BenchService":
        from rookery.runtime.bench.service import BenchService

        return BenchService(self.path_figures, is_on=self._is_benched)

    def path_figures(self, hashname: str) -> tuple[BenchPathFigures, ...]:
        """What each path carried to a member since the tunnel with it began."""
        return path_figures(self.tunnels.explain(hashname))

    async def _handle_bench(self, stream: TunnelStream) -> None:
        await self.bench.handle(stream)

    # --- the realm's folder ---

    async def keep_folder(self) -> None:
        """Read the clock and the folder, and save there what the realm announces."""
        while True:
            self.endpoint.core.set_clock(time.time(), self.endpoint.now())
            self._read_folder()
            self.core.publisher.services = (*self.offered(), PROBES)
            self._outbox.follow_members()
            if self.endpoint.now() >= self._remembered_at + REMEMBER_S:
                self._remembered_at = self.endpoint.now()
                self.remember()
            await asyncio.sleep(POLL_S)

    def _read_folder(self) -> None:
        for statement in self.store.take_new_statements():
            with suppress(RemoteError):  # a process that can write here could also stop the node
                self.core.tell(statement, self.endpoint.now())
        self.endpoint.stir()

    def remember(self) -> None:
        self.store.remember(self.core.membership.statements())

    async def close(self) -> None:
        await self._outbox.close()
        await self.tunnels.close()
        self.remember()


@asynccontextmanager
async def mesh_node(
    identity: Identity,
    store: RealmStore,
    *,
    listen: str = "127.0.0.1:0",
    unix: FilePath | None = None,
    peers: Iterable[LinkAddress] = (),
    advertise: Iterable[NetPath] | None = (),
    offsets_us: Mapping[str, int] | None = None,
    rules: "ProxyRules | None" = None,
    devices: "SerialDevices | None" = None,
    folders: "FolderRules | None" = None,
    is_benched: bool = True,
    outbox_path: FilePath | None = None,
) -> AsyncIterator[MeshNode]:
    """A member of the realm in `store`, on TCP and UDP at one address and port.

    `unix` is a socket to listen on for programs of this machine.
    `advertise` is what leads here from outside, if not that address; None: nothing does, as behind
    a NAT, so that nobody needs to try. `rules` say what other members may reach from here,
    `devices` which serial lines there are, `folders` what they may copy from and to, and
    `is_benched` whether they may measure how much goes through to here. In `outbox_path` requests
    to other members are kept, so that they survive the process.
    """
    dialled = {checked_hashname(peer): peer for peer in (*store.peers(), *peers)}
    dialled.pop(identity.hashname, None)
    is_hidden = advertise is None
    advertised = tuple(advertise or ())
    async with AsyncEndpoint(identity) as endpoint:
        streams, datagrams = await _gates(endpoint, *parse_address(listen))
        files = UnixGate(endpoint)
        for gate in (streams, datagrams, files):
            endpoint.add_gate(gate)
        if unix is not None:
            await files.listen(unix)
            endpoint.gates_changed()
        settings = NodeSettings(
            paths=advertised or (() if is_hidden else _dialable(streams.paths)),
            peers=frozenset(dialled),
            offsets_us=offsets_us or {},
        )
        core = Node(
            endpoint.core,
            await asyncio.to_thread(store.membership, time.time()),
            settings,
            epoch=await asyncio.to_thread(store.next_epoch),
            now=endpoint.now(),
            queue_size=streams.backlog,
            measure_stream=streams.measure,
        )
        node = MeshNode(
            endpoint,
            core,
            store,
            rules,
            devices,
            folders,
            is_benched=is_benched,
            outbox_path=outbox_path,
        )
        endpoint.add_gate(RouteGate(core, endpoint.now))
        endpoint.attach(node.driver)
        if is_hidden:
            endpoint.core.own_paths = files.paths
        node.joins = serve_joins(endpoint, store, JoinLog())
        core.peering.takes_joins = node.joins is not None
        store.save_link(endpoint.address)
        for peer in dialled.values():
            endpoint.link(peer)
        try:
            async with asyncio.TaskGroup() as tasks:
                chores = [
                    tasks.create_task(node.keep_folder()),
                    tasks.create_task(node.measure_streams(streams)),
                    tasks.create_task(
                        node.follow_addresses(streams, is_announced=not (advertised or is_hidden))
                    ),
                ]
                try:
                    yield node
                finally:
                    for chore in chores:
                        chore.cancel()
                    await node.close()
        except BaseExceptionGroup as group:
            # What the caller's own block raises is the caller's to catch as it is.
            if len(group.exceptions) == 1:
                raise group.exceptions[0] from None
            raise


async def _gates(endpoint: GateReceiver, host: str, port: int) -> tuple[TcpGate, UdpGate]:
    """TCP and UDP at one address and port, which another program may have one of."""
    for _ in range(PORT_TRIES):
        streams = TcpGate(endpoint)
        bound = await streams.listen(host, port)
        try:
            return streams, await UdpGate.bind(endpoint, host, bound.port)
        except UsageError:
            await streams.close()
            if port:
                raise
    raise UsageError(f"no port of {host} is free for both TCP and UDP; choose one with --listen")


def _dialable(paths: Iterable[Path]) -> tuple[NetPath, ...]:
    return tuple(path for path in paths if isinstance(path, NetPath))


def _is_offline(paths: Iterable[Path]) -> bool:
    """True if only loopback addresses are left."""
    return any(isinstance(path, NetPath) and ip_address(path.ip).is_loopback for path in paths)
