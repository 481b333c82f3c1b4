"""Tunnels on real sockets: services of members, over relays, past their end."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from rookery.errors import ChannelError, UnreachableError
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.tunnels.stream import TunnelStream
from tests.patience import PATIENCE_S
from tests.runtime.realms import realm

SIZE = 8 << 20


class Diamond:
    """North and south, whom nobody can dial, and the two relays that they know."""

    def __init__(self, north: MeshNode, south: MeshNode, relays: dict[str, MeshNode]) -> None:
        self.north = north
        self.south = south
        self._relays = relays
        self.stacks: dict[str, AsyncExitStack] = {}

    def relay_in_use(self) -> str:
        """The relay that packets from north to south pass now."""
        choice = self.north.core.table.to(self.south.core.own.node, self.north.endpoint.now())
        assert choice is not None
        names = {node.core.own.node: name for name, node in self._relays.items()}
        return names[choice.route.nodes[1]]


@asynccontextmanager
async def diamond(folder: Path) -> AsyncIterator[Diamond]:
    homes = {home.name: home for home in realm(folder, "east", "west", "north", "south")}
    async with AsyncExitStack() as stack:
        stacks, relays = {}, {}
        for name in ("east", "west"):
            stacks[name] = await stack.enter_async_context(AsyncExitStack())
            running = mesh_node(homes[name].identity, homes[name].store)
            relays[name] = await stacks[name].enter_async_context(running)
        peers = [relay.endpoint.address for relay in relays.values()]
        north, south = [
            await stack.enter_async_context(
                mesh_node(homes[name].identity, homes[name].store, peers=peers, advertise=None)
            )
            for name in ("north", "south")
        ]
        made = Diamond(north, south, relays)
        made.stacks = stacks
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await asyncio.sleep(0.01)
                member = north.core.membership.by_hashname(south.hashname)
                if member is None:
                    continue
                choice = north.core.table.to(member.node, north.endpoint.now())
                if choice is not None and choice.alternates:
                    break
        yield made


@pytest.fixture
async def mesh(tmp_path: Path) -> AsyncIterator[Diamond]:
    async with diamond(tmp_path) as made:
        yield made


async def echo(stream: TunnelStream) -> None:
    while data := await stream.read():
        await stream.write(data)


async def test_a_service_of_a_member_two_hops_away(mesh: Diamond) -> None:
    """M4: programs cannot tell which path it takes."""
    mesh.south.tunnels.serve("echo", echo)
    stream = await mesh.north.tunnels.open(mesh.south.hashname, "echo", {"who": "north"})
    async with asyncio.timeout(PATIENCE_S):
        await stream.write(b"there and back")
        assert await stream.read() == b"there and back"
        await stream.finish()
        assert await stream.read() == b""


async def test_redundant_streams_use_every_path_and_explain_shows_it(mesh: Diamond) -> None:
    """M6."""
    mesh.south.tunnels.serve("echo", echo)
    hashname = mesh.south.hashname
    assert mesh.north.tunnels.explain(hashname) == []
    stream = await mesh.north.tunnels.open(hashname, "echo", mode=Mode.REDUNDANT)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await stream.write(b"there and back")
            assert await stream.read() == b"there and back"
            (explained,) = mesh.north.tunnels.explain(hashname)
            assert explained.mode == "redundant"
            if {path.label for path in explained.paths} == {"over east", "over west"} and all(
                path.sent_packets > 5 for path in explained.paths
            ):
                break
    mesh.north.tunnels.set_mode(hashname, Mode.SINGLE)
    (explained,) = mesh.north.tunnels.explain(hashname)
    assert explained.mode == "single"


async def test_a_handler_knows_the_peer_and_the_metadata(mesh: Diamond) -> None:
    seen: asyncio.Future[tuple[str, object]] = asyncio.get_running_loop().create_future()

    async def look(stream: TunnelStream) -> None:
        seen.set_result((stream.peer, stream.meta))

    mesh.south.tunnels.serve("look", look)
    stream = await mesh.north.tunnels.open(mesh.south.hashname, "look", {"door": 7})
    async with asyncio.timeout(PATIENCE_S):
        assert await seen == (mesh.north.hashname, {"door": 7})
        assert await stream.read() == b""


async def test_no_byte_is_lost_when_the_relay_in_use_ends(mesh: Diamond) -> None:
    """M5."""
    digests: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def swallow(stream: TunnelStream) -> None:
        digest, size = sha256(), 0
        while data := await stream.read():
            digest.update(data)
            size += len(data)
            if size > SIZE // 8:
                begun.set()
        digests.set_result(digest.digest())

    mesh.south.tunnels.serve("sink", swallow)
    data = os.urandom(SIZE)
    stream = await mesh.north.tunnels.open(mesh.south.hashname, "sink")

    async def pour() -> None:
        await stream.write(data)
        await stream.finish()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(pour())
        await begun.wait()
        await mesh.stacks[mesh.relay_in_use()].aclose()
        assert await digests == sha256(data).digest()


async def test_what_nobody_serves_is_refused(mesh: Diamond) -> None:
    stream = await mesh.north.tunnels.open(mesh.south.hashname, "nothing")
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(ChannelError, match="nobody serves that"):
            await stream.read()


async def test_only_members_can_be_reached(mesh: Diamond) -> None:
    with pytest.raises(UnreachableError, match="no member"):
        await mesh.north.tunnels.open("a" * 52, "echo")


async def test_any_asyncio_protocol_runs_over_a_tunnel_unchanged(mesh: Diamond) -> None:
    """M4: like a socket."""

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async for line in reader:
            writer.write(line.upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    def server() -> asyncio.Protocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), shout)

    mesh.south.tunnels.serve_protocol("shout", server)
    reader = asyncio.StreamReader()
    transport, protocol = await mesh.north.tunnels.create_connection(
        lambda: asyncio.StreamReaderProtocol(reader), mesh.south.hashname, "shout"
    )
    assert transport.get_extra_info("peername")[0] == mesh.south.hashname
    assert isinstance(protocol, asyncio.StreamReaderProtocol)
    writer = asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())
    lines = [b"line %d of many\n" % number for number in range(20_000)]
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:

        async def ask() -> None:
            for line in lines:
                writer.write(line)
                await writer.drain()
            writer.write_eof()

        tasks.create_task(ask())
        answer = await reader.read()
    assert answer == b"".join(lines).upper()
    writer.close()
    await writer.wait_closed()


async def test_a_protocol_hears_that_its_stream_was_given_up(mesh: Diamond) -> None:
    async def refuse(stream: TunnelStream) -> None:
        stream.abort(9)

    class Client(asyncio.Protocol):
        def __init__(self) -> None:
            self.lost: asyncio.Future[Exception | None] = asyncio.Future()

        def connection_lost(self, error: Exception | None) -> None:
            self.lost.set_result(error)

    mesh.south.tunnels.serve("refuse", refuse)
    client = Client()
    await mesh.north.tunnels.create_connection(lambda: client, mesh.south.hashname, "refuse")
    async with asyncio.timeout(PATIENCE_S):
        assert isinstance(await client.lost, ConnectionResetError)
