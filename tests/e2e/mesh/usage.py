"""A member that lets another use all there is, and that other, which uses it without a pause.

    witness KEYS REALM LINK PORT    prints its link, then for each line it reads what it has seen
    subject KEYS REALM LINK PORT    prints its link, and goes on until it is killed

The witness tells of each member when its flows last brought something and when the rest ended:

    {"last": {"datagrams": 12.5, …}, "ended": {"link": 12.6, …}}

Times are of the system's monotonic clock, which all processes share.
"""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import msgspec

from rookery.errors import RookeryError
from rookery.mesh.proxy.rules import ProxyRules
from rookery.outbox.intake import IncomingRequest
from rookery.runtime.crow.gates.mesh_gate import CrowMeshGate, hop
from rookery.runtime.endpoint import keystore
from rookery.runtime.endpoint.resolve import checked_hashname
from rookery.runtime.loop import run
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.realm.store import RealmStore
from rookery.runtime.tunnels.member_stream import MemberStream
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.wire.crow.packet import CrowPacket
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from rookery.wire.outbox.frames import Qos

FLOWS = ("datagrams", "crow", "outbox")
HOLDS = ("link", "stream taken", "stream opened", "connection of the exit", "listener at the exit")
TICK_S = 0.05
LOOK_S = 0.01
NOWHERE = net_path("tcp", "127.0.0.1", 9)


class Seen(msgspec.Struct):
    """What one member did with the witness."""

    begun: set[str] = set()
    last: dict[str, float] = {}
    ended: dict[str, float] = {}


class Witness:
    """Serves everything, and notes when it was last used."""

    def __init__(self, node: MeshNode) -> None:
        self._node = node
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._ports: dict[str, int] = {}  # of listeners here, by whose they are
        self._tasks: set[asyncio.Task[None]] = set()
        node.serve("taken", self._taken)
        node.serve("port", self._told_port)
        node.on_datagram = lambda peer, _: self._used(peer, "datagrams")
        node.outbox.handler = self._handle
        self._crow = CrowMeshGate(self, node.endpoint)

    async def work(self, port: int) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self._spawn(self._watch())
        while await asyncio.to_thread(sys.stdin.readline):
            print(msgspec.json.encode(self._seen).decode(), flush=True)
        server.close()

    # --- flows ---

    def received(self, packets: list[CrowPacket], return_hop: bytes) -> None:
        for packet in packets:
            self._used(packet.data.decode(), "crow")

    def drained(self, *, is_more: bool = False) -> None:
        """As a crow gate tells."""

    async def _handle(self, request: IncomingRequest) -> bytes | None:
        self._used(request.payload.decode(), "outbox")
        return None

    def _used(self, peer: str, what: str) -> None:
        seen = self._seen[peer]
        seen.begun.add(what)
        seen.last[what] = time.monotonic()

    # --- what is held ---

    async def _taken(self, stream: TunnelStream) -> None:
        peer = stream.peer
        self._spawn(self._opened(peer))
        await self._until_over(stream, peer, "stream taken")

    async def _opened(self, peer: str) -> None:
        stream = await self._node.open(peer, "opened")
        await stream.write(b".")
        await self._until_over(stream, peer, "stream opened")

    async def _told_port(self, stream: TunnelStream) -> None:
        port = int(await stream.read())
        self._seen[stream.peer].begun.add("listener at the exit")
        self._ports[stream.peer] = port

    async def _connected(self, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        """From the exit; the first line says for whom."""
        peer = (await reader.readline()).decode().strip()
        await self._until_over(reader, peer, "connection of the exit")

    async def _until_over(
        self, source: "TunnelStream | asyncio.StreamReader", peer: str, what: str
    ) -> None:
        self._seen[peer].begun.add(what)
        with suppress(RookeryError, OSError):
            while await source.read(1 << 16):
                pass
        self._seen[peer].ended[what] = time.monotonic()

    async def _watch(self) -> None:
        """What nobody tells of: links that are there, and ports that listen."""
        while True:
            now = time.monotonic()
            links = self._node.endpoint.core.links
            for peer, seen in self._seen.items():
                seen.begun.add("link")
                if peer not in links:
                    seen.ended.setdefault("link", now)
                else:
                    seen.ended.pop("link", None)
            for peer, port in list(self._ports.items()):
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                except OSError:
                    self._seen[peer].ended["listener at the exit"] = time.monotonic()
                    del self._ports[peer]
            await asyncio.sleep(LOOK_S)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Subject:
    """Uses everything of the witness, again and again."""

    def __init__(self, node: MeshNode, witness: str, port: int) -> None:
        self._node, self._witness, self._port = node, witness, port
        self._crow = CrowMeshGate(_Deaf(), node.endpoint)
        node.serve("opened", _swallow)

    async def work(self) -> None:
        while self._node.core.membership.by_hashname(self._witness) is None:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        await self._node.link(self._witness).up()
        async with asyncio.TaskGroup() as tasks:
            for use in (self._stream, self._exit, self._listen):
                tasks.create_task(use())
            for send in (self._datagram, self._packet, self._request):
                tasks.create_task(self._again(send))

    async def _stream(self) -> None:
        await self._dribble(await self._node.open(self._witness, "taken"))

    async def _exit(self) -> None:
        connector = self._node.proxy.connector
        to_exit = await connector.tcp_connect("127.0.0.1", self._port, proxy=self._witness)
        await to_exit.write(self._node.hashname.encode() + b"\n")
        await self._dribble(to_exit)

    async def _listen(self) -> None:
        connector = self._node.proxy.connector
        listener = await connector.listen(self._witness, 0, _hang_up)
        told = await self._node.open(self._witness, "port")
        await told.write(b"%d" % listener.address.port)
        await asyncio.Event().wait()

    async def _dribble(self, stream: "TunnelStream | MemberStream") -> None:
        with suppress(RookeryError):
            while True:
                await stream.write(b".")
                await asyncio.sleep(TICK_S)

    async def _again(self, send: Callable[[], None]) -> None:
        while True:
            with suppress(RookeryError):
                send()
            await asyncio.sleep(TICK_S)

    def _datagram(self) -> None:
        self._node.send_datagram(self._witness, b"datagram")

    def _packet(self) -> None:
        name = self._node.hashname.encode()
        self._crow.send(CrowPacket(0, False, hop(self._witness), 0, 7, 0, 204, name))

    def _request(self) -> None:
        outbox = self._node.outbox
        name = self._node.hashname.encode()
        request = outbox.request(name, qos=Qos.ONCE_AT_MOST, expires_s=5.0)
        try:
            outbox.peer(self._witness).add_packet(request)
        finally:
            request.release()


class _Deaf:
    """A tower that takes no notice."""

    def received(self, packets: list[CrowPacket], return_hop: bytes) -> None:
        pass

    def drained(self, *, is_more: bool = False) -> None:
        pass


async def _swallow(stream: TunnelStream) -> None:
    while await stream.read():
        pass


async def _hang_up(stream: MemberStream) -> None:
    stream.abort(0)


async def serve(role: str, home: Path, folder: Path, link: LinkAddress, port: int) -> None:
    rules = [f"tcp 127.0.0.1:{port}", "bind tcp 127.0.0.1:1024-65535"]
    async with mesh_node(
        keystore.load(home),
        RealmStore(folder),
        peers=[link],
        advertise=[NOWHERE],
        rules=ProxyRules.parse(rules) if role == "witness" else None,
    ) as node:
        print(msgspec.json.encode(node.endpoint.address.json()).decode(), flush=True)
        if role == "witness":
            await Witness(node).work(port)
        else:
            await Subject(node, checked_hashname(link), port).work()


def main() -> None:
    role, home, folder, peer, port = sys.argv[1:]
    link = LinkAddress.parse(Path(peer).read_text())
    run(serve(role, Path(home), Path(folder), link, int(port)))


if __name__ == "__main__":
    main()
