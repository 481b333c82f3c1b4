"""What the demo shows, step by step; each returns its line of the story or raises."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

from rookery.cli.demo.link_gateways import gateways
from rookery.cli.demo.link_world import World
from rookery.errors import ProtocolError, UnreachableError
from rookery.link.channels.chat_events import Said
from rookery.link.channels.sock_rules import Rules
from rookery.mesh.echo import Echoed
from rookery.runtime.channels.chat import Invitation
from rookery.runtime.channels.chat_room import ChatRoom
from rookery.runtime.channels.stream import Stream
from rookery.runtime.link import Link
from rookery.runtime.node import MeshNode
from rookery.wire.uri import LinkAddress

STREAM_SIZE = 10 << 20
HOST = "127.0.0.1"
PAGE = b"<h1>only on 127.0.0.1</h1>"
GREETING = "is your gateway still up?"
REPLY = "up for 41 days"
LETTER = b"call me when you are back"

_LOOK_S = 0.005


class Step(NamedTuple):
    name: str
    act: Callable[[World], Awaitable[str]]


async def link(world: World) -> str:
    to_bob = await world.to_bob()
    return f"alice ({world.alice.hashname[:8]}) has bob's link and links: {_described(to_bob)}"


async def chat(world: World) -> str:
    rooms: asyncio.Future[ChatRoom] = asyncio.get_running_loop().create_future()

    async def join(invitation: Invitation) -> None:
        rooms.set_result(world.bob.chats.accept(invitation, "bob"))

    world.bob.on_invite(join)
    async with await (await world.to_bob()).chat("alice") as alice_room:
        await alice_room.send(GREETING)
        async with await rooms as bob_room:
            heard = await _next_line(bob_room)
            await bob_room.send(REPLY)
            answered = await _next_line(alice_room)
    _check((heard, answered) == (GREETING, REPLY), "what was heard is not what was said")
    return f'alice: "{heard}"  bob: "{answered}"'


async def stream(world: World) -> str:
    digests: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def swallow(incoming: Stream) -> None:
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


async def thtp(world: World) -> str:
    with _http_server() as port:
        world.bob.proxy_http(f"http://{HOST}:{port}")
        async with await (await world.to_bob()).thtp("GET", "/") as response:
            body = await response.read()
    _check((response.status, body) == (200, PAGE), f"status {response.status}")
    return f"alice reads http://{HOST}:{port}/ of bob's: {response.status}, {len(body)} bytes"


async def sock(world: World) -> str:
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


async def box(world: World) -> str:
    carol = world.carol_identity
    letter_to = LinkAddress(carol.hashname, dict(carol.keys))
    await (await world.to_router(world.alice)).leave(letter_to, LETTER)
    to_router = await world.to_router(await world.carol_comes_online())
    letters = [(letter.sender, letter.content) async for letter in to_router.letters()]
    _check(letters == [(world.alice.hashname, LETTER)], "the letter did not arrive")
    return f'carol was away; back, she finds at the router, sealed by alice: "{LETTER.decode()}"'


async def introduction(world: World) -> str:
    carol = await world.carol_comes_online()
    for mesh in (world.alice, carol):
        (await world.to_router(mesh)).router()
    to_carol = await world.alice.link(carol.hashname).up()
    return f"alice knows only carol's name; the router introduces them: {_described(to_carol)}"


async def mesh(world: World) -> str:
    async with gateways() as (north, relays, south):
        await _acquainted(north, south)
        to_south = await north.link(south.hashname).up()
        echoed = await _reaches(north, south)
        _check(len(echoed.route) > 2, "no way over a relay")  # at first perhaps over both
        used = next(each for each in relays if each.node.core.own.node == echoed.route[1])
        began = time.perf_counter()
        await used.stop()
        await _reaches(north, south)
        gap_ms = (time.perf_counter() - began) * 1000
        spare = next(each for each in relays if each is not used)
        _check(to_south.is_up, "the link did not survive its relay")
    return (
        f"north and south, whom nobody can dial, meet over {used.name}; it stops, and "
        f"{gap_ms:.0f} ms later they meet over {spare.name}, on the same link"
    )


async def _acquainted(one: MeshNode, other: MeshNode) -> None:
    """Wait until news of the one has reached the other."""
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
    Step("link", link),
    Step("chat", chat),
    Step("stream", stream),
    Step("thtp", thtp),
    Step("sock", sock),
    Step("box", box),
    Step("router", introduction),
    Step("mesh", mesh),
)


def _described(link: Link) -> str:
    rtt = "" if link.rtt is None else f"rtt {link.rtt * 1000:.1f} ms, "
    csid = "none" if link.csid is None else f"{link.csid:02x}"
    return f"path {link.path}, {rtt}cipher set {csid}"


def _check(holds: bool, text: str) -> None:
    """A promise of the demo; ProtocolError when it is broken."""
    if not holds:
        raise ProtocolError(text)


async def _next_line(room: ChatRoom) -> str:
    async for notice in room:
        if isinstance(notice, Said):
            return notice.message.text
    raise ProtocolError("the chat ended")


class _Page(BaseHTTPRequestHandler):
    """One page, the same for everybody who can reach it."""

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
    """Somebody's web server, which listens on loopback only; its port."""
    with ThreadingHTTPServer((HOST, 0), _Page) as server:
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
