"""The steps of `--scenario links`; each returns its line of the story or raises.

alice ══ link ══ bob        bob accepts everyone
   ╚═ router ══╗            the router introduces people and keeps messages
             carol          away at first; only she knows her address
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from rookery.cli.link.acceptance import accept
from rookery.errors import ProtocolError, UnreachableError
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.link.channels.chat_events import TextReceived
from rookery.link.channels.sock_rules import Rules
from rookery.mesh.routing.echo import Echoed
from rookery.runtime.endpoint.channels.chat import ChatInvitation
from rookery.runtime.endpoint.channels.chat_room import ChatRoom
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.create import create
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import CSID_40, RELAY


@dataclass(slots=True)
class LinksWorld:
    alice: AsyncEndpoint
    bob: AsyncEndpoint
    router: AsyncEndpoint
    carol_identity: Identity
    carol: AsyncEndpoint | None
    _stack: AsyncExitStack

    async def carol_comes_online(self) -> AsyncEndpoint:
        """She knows the router; no other endpoint knows her address."""
        if self.carol is None:
            self.carol = await self._stack.enter_async_context(create(self.carol_identity))
            accept(self.carol, "all", ())
        return self.carol

    async def to_bob(self) -> AsyncLink:
        return await self.alice.link(self.bob.address).up()

    async def to_router(self, endpoint: AsyncEndpoint) -> AsyncLink:
        return await endpoint.link(self.router.address).up()


@asynccontextmanager
async def open_world() -> AsyncIterator[LinksWorld]:
    """All endpoints but carol, listening on free loopback ports."""
    async with AsyncExitStack() as stack:
        alice, bob, router = [await stack.enter_async_context(create()) for _ in range(3)]
        for endpoint in (bob, router):
            accept(endpoint, "all", ())
        router.route()
        router.keep_boxes()
        keys = Identity.generate(DEFAULT_CSIDS, os.urandom)
        yield LinksWorld(alice, bob, router, keys, None, stack)


RELAYS = ("east", "west")


@dataclass(frozen=True, slots=True)
class LinksRelay:
    name: str
    node: MeshNode
    _stack: AsyncExitStack

    async def stop(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def relay_realm() -> AsyncIterator[tuple[MeshNode, tuple[LinksRelay, ...], MeshNode]]:
    """North, the relays, and south, on loopback, with their realm in a temporary folder.

            ┌── east ──┐
    north ──┤          ├── south    north and south stand for nodes behind NATs:
            └── west ──┘            they dial the relays, and cannot be dialled
    """
    with tempfile.TemporaryDirectory(prefix="rookery-demo-") as folder:
        keys = {name: _keys() for name in (*RELAYS, "north", "south")}
        realm = _LinksRealm(Path(folder), keys)
        async with AsyncExitStack() as stack:
            relays = []
            for name in RELAYS:
                own = await stack.enter_async_context(AsyncExitStack())
                node = await own.enter_async_context(realm.node(name, [], ()))
                relays.append(LinksRelay(name, node, own))
            peers = [relay.node.endpoint.address for relay in relays]
            north = await stack.enter_async_context(realm.node("north", peers, None))
            south = await stack.enter_async_context(realm.node("south", peers, None))
            yield north, tuple(relays), south


class _LinksRealm:
    """The realm of these nodes, a folder for each; east has founded it."""

    def __init__(self, folder: Path, keys: dict[str, Identity]) -> None:
        self._keys = keys
        founder, *others = keys
        founded = found(folder / founder, "demo", keys[founder], member_name=founder)
        self._stores = {founder: founded}
        authority = RealmAuthority(founded)
        for name in others:
            identity = keys[name]
            certificate = authority.certify(
                identity.keys[CSID_40],
                identity.intermediates(CSID_40),
                hashname=identity.hashname,
                name=name,
                roles=[RELAY] if name in RELAYS else [],
            )
            store = RealmStore.create(folder / name, founded.realm, certificate)
            self._stores[name] = store
            founded.add_statements([certificate])

    def node(
        self, name: str, peers: list[LinkAddress], advertise: tuple[NetPath, ...] | None
    ) -> AbstractAsyncContextManager[MeshNode]:
        return mesh_node(self._keys[name], self._stores[name], peers=peers, advertise=advertise)


def _keys() -> Identity:
    return Identity.generate(DEFAULT_CSIDS, os.urandom)


STREAM_SIZE = 10 << 20
HOST = "127.0.0.1"
PAGE = b"<h1>only on 127.0.0.1</h1>"
GREETING = "is your gateway still up?"
REPLY = "up for 41 days"
LETTER = b"call me when you are back"

_LOOK_S = 0.005


class LinksStep(NamedTuple):
    name: str
    act: Callable[[LinksWorld], Awaitable[str]]


async def link(world: LinksWorld) -> str:
    to_bob = await world.to_bob()
    return f"alice ({world.alice.hashname[:8]}) has bob's link and links: {_link_figures(to_bob)}"


async def chat(world: LinksWorld) -> str:
    rooms: asyncio.Future[ChatRoom] = asyncio.get_running_loop().create_future()

    async def join(invitation: ChatInvitation) -> None:
        rooms.set_result(world.bob.chats.accept(invitation, "bob"))

    world.bob.on_invite(join)
    async with await (await world.to_bob()).chat("alice") as alice_room:
        await alice_room.send(GREETING)
        async with await rooms as bob_room:
            received = await _next_line(bob_room)
            await bob_room.send(REPLY)
            answered = await _next_line(alice_room)
    _check((received, answered) == (GREETING, REPLY), "what was heard is not what was said")
    return f'alice: "{received}"  bob: "{answered}"'


async def stream(world: LinksWorld) -> str:
    digests: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def swallow(incoming: LinkStream) -> None:
        digest = sha256()
        async for data in incoming:
            digest.update(data)
        digests.set_result(digest.digest())

    world.bob.on_stream(swallow)
    data, to_bob = os.urandom(STREAM_SIZE), await world.to_bob()
    began = time.perf_counter()
    async with to_bob.stream() as outgoing:
        for start in range(0, len(data), 1 << 16):
            outgoing.write(data[start : start + (1 << 16)])
            await outgoing.drain()
        outgoing.write_eof()
        received = await digests
    took = time.perf_counter() - began
    _check(received == sha256(data).digest(), "the bytes that arrived are others")
    rate = len(data) / took / 1e6
    return f"10 MB from alice to bob in {took:.2f} s, {rate:.0f} MB/s, every byte compared"


async def thtp(world: LinksWorld) -> str:
    with _http_server() as port:
        world.bob.proxy_http(f"http://{HOST}:{port}")
        async with await (await world.to_bob()).thtp("GET", "/") as response:
            body = await response.read()
    _check((response.status, body) == (200, PAGE), f"status {response.status}")
    return f"alice reads http://{HOST}:{port}/ of bob's: {response.status}, {len(body)} bytes"


async def sock(world: LinksWorld) -> str:
    async with _tcp_echo() as port:
        world.bob.on_sock(Rules.parse([f"tcp {HOST}:{port}"]))
        async with await (await world.to_bob()).forward(HOST, 0, HOST, port) as forward:
            local = forward.port
            reader, writer = await asyncio.open_connection(HOST, local)
            writer.write(b"plain TCP\n")
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
    _check(line == b"plain TCP\n", "the echo is not what was sent")
    return f"alice's port {local} leads to port {port} of bob's: a plain TCP client got its echo"


async def box(world: LinksWorld) -> str:
    carol = world.carol_identity
    letter_to = LinkAddress(carol.hashname, dict(carol.keys))
    await (await world.to_router(world.alice)).leave(letter_to, LETTER)
    to_router = await world.to_router(await world.carol_comes_online())
    letters = [(letter.sender, letter.content) async for letter in to_router.letters()]
    _check(letters == [(world.alice.hashname, LETTER)], "the letter did not arrive")
    return f'carol was away; back, she finds at the router, sealed by alice: "{LETTER.decode()}"'


async def introduction(world: LinksWorld) -> str:
    carol = await world.carol_comes_online()
    for endpoint in (world.alice, carol):
        (await world.to_router(endpoint)).router()
    to_carol = await world.alice.link(carol.hashname).up()
    return f"alice knows only carol's name; the router introduces them: {_link_figures(to_carol)}"


async def mesh(world: LinksWorld) -> str:
    async with relay_realm() as (north, relays, south):
        await _acquainted(north, south)
        to_south = await north.link(south.hashname).up()
        echoed = await _reaches(north, south)
        _check(len(echoed.route) > 2, "no route over a relay")  # at first perhaps over both
        used = next(each for each in relays if each.node.core.own.node == echoed.route[1])
        began = time.perf_counter()
        await used.stop()
        await _reaches(north, south)
        gap_ms = (time.perf_counter() - began) * 1000
        spare = next(each for each in relays if each is not used)
        _check(to_south.is_up, "the link did not survive its relay")
    return (
        f"north and south, which cannot be dialled, connect over {used.name}; it stops, and "
        f"{gap_ms:.0f} ms later they connect over {spare.name}, on the same link"
    )


async def _acquainted(one: MeshNode, other: MeshNode) -> None:
    """Wait until the one knows the other as a member."""
    while True:
        await asyncio.sleep(_LOOK_S)
        if one.core.membership.by_hashname(other.hashname) is not None:
            return


async def _reaches(one: MeshNode, other: MeshNode) -> Echoed:
    """Ping until an answer comes; the step's own time limit ends it."""
    while True:
        with suppress(UnreachableError):
            echoed = await one.ping(other.hashname, timeout_s=0.2)
            if isinstance(echoed, Echoed):
                return echoed
        await asyncio.sleep(_LOOK_S)


STEPS = (
    LinksStep("link", link),
    LinksStep("chat", chat),
    LinksStep("stream", stream),
    LinksStep("thtp", thtp),
    LinksStep("sock", sock),
    LinksStep("box", box),
    LinksStep("router", introduction),
    LinksStep("mesh", mesh),
)


def _link_figures(link: AsyncLink) -> str:
    rtt = "" if link.rtt is None else f"rtt {link.rtt * 1000:.1f} ms, "
    csid = "none" if link.csid is None else f"{link.csid:02x}"
    return f"path {link.path}, {rtt}cipher set {csid}"


def _check(holds: bool, text: str) -> None:
    """ProtocolError unless a step had the expected result."""
    if not holds:
        raise ProtocolError(text)


async def _next_line(room: ChatRoom) -> str:
    async for notice in room:
        if isinstance(notice, TextReceived):
            return notice.message.text
    raise ProtocolError("the chat ended")


class _PageHandler(BaseHTTPRequestHandler):
    """One page, the same for every request."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        return


@contextmanager
def _http_server() -> Iterator[int]:
    """A web server that listens on loopback only; its port."""
    with ThreadingHTTPServer((HOST, 0), _PageHandler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def _tcp_echo() -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, HOST, 0) as server:
        yield int(server.sockets[0].getsockname()[1])
