"""T3: TCP and UDP through the other end of a link, over real loopback sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rookery.errors import (
    ChannelError,
    CongestionError,
    DeniedError,
    UnreachableError,
    UsageError,
)
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.link.channels.sock_rules import Rules
from rookery.runtime.endpoint.channels.sock import Sock
from rookery.runtime.endpoint.channels.sock_relay import reset
from rookery.runtime.endpoint.channels.sock_server import SockLimits
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.wire.link.lob import JsonObject
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import ALICE, BOB, BoardChannel, Switchboard, until

OPEN = ["tcp 127.0.0.1:*", "udp 127.0.0.1:*", "bind tcp 127.0.0.1:*", "bind udp 127.0.0.1:*"]


async def names(host: str, port: int, protocol: SockProtocol) -> list[str]:
    """A resolver that needs no network."""
    return {"here.example": ["127.0.0.1"], "rebind.example": ["10.0.0.1"]}.get(host, [])


class World:
    """Alice's tunnels through Bob."""

    def __init__(self, board: Switchboard, rules: list[str], limits: SockLimits | None) -> None:
        self.board = board
        self.alice = Sock()
        self.bob = Sock(Rules.parse(rules), limits, names)
        self.link = board.link(ALICE, BOB)
        board.serve(ALICE, "sock", self.alice.handle)
        board.serve(BOB, "sock", self.bob.handle)


@asynccontextmanager
async def world(rules: list[str] = OPEN, limits: SockLimits | None = None) -> AsyncIterator[World]:
    async with Switchboard() as board:
        yield World(board, rules, limits)


@asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    """Answers everything at the end of its input, in capitals."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write((await reader.read()).upper())
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_connection_is_half_closed_like_any_other() -> None:
    async with world() as w, echo_server() as port:
        stream = await w.alice.connect(w.link, "127.0.0.1", port)
        async with stream:
            stream.write(b"hello " * 5000)
            stream.write_eof()
            assert await stream.read() == b"HELLO " * 5000


async def test_a_name_is_resolved_by_the_other_side_and_judged_by_its_address() -> None:
    async with world() as w, echo_server() as port:
        stream = await w.alice.connect(w.link, "here.example", port)
        stream.write_eof()
        assert await stream.read() == b""
        for host in ("rebind.example", "nowhere.example"):
            with pytest.raises(DeniedError):
                await w.alice.connect(w.link, host, port)


async def test_an_allowed_name_that_does_not_resolve_is_reported() -> None:
    async with world(["tcp *.example:*"]) as w:
        with pytest.raises(UnreachableError):
            await w.alice.connect(w.link, "nowhere.example", 80)
        with pytest.raises(DeniedError):
            await w.alice.connect(w.link, "rebind.example", 80)


async def test_everything_is_denied_by_default() -> None:
    async with world([]) as w, echo_server() as port:
        with pytest.raises(DeniedError):
            await w.alice.connect(w.link, "127.0.0.1", port)
        with pytest.raises(DeniedError):
            await w.alice.bind(w.link, 0, nobody)
        with pytest.raises(DeniedError):
            await w.alice.udp(w.link, "127.0.0.1", port)
        assert w.link.opened[0].failure == "denied"


async def nobody(stream: LinkStream, source: SockAddress | None) -> None:
    raise AssertionError("nobody should come")


async def test_a_closed_port_is_reported_to_peers_that_may_try() -> None:
    async with echo_server() as port:
        pass
    async with world() as w:
        with pytest.raises(UnreachableError, match="refused"):
            await w.alice.connect(w.link, "127.0.0.1", port)


async def test_nonsense_is_answered_as_invalid() -> None:
    async with world() as w:
        channel = w.link.open("sock", {"sock": "listen"})
        with pytest.raises(ChannelError, match=r"^invalid$"):
            await channel.receive()
        with pytest.raises(UsageError):
            await w.alice.connect(w.link, "no host", 80)
        with pytest.raises(UsageError):
            await w.alice.bind(w.link, 70000, nobody)


async def test_sockets_per_link_are_bounded() -> None:
    async with world(limits=SockLimits(link_sockets_max=1)) as w, echo_server() as port:
        stream = await w.alice.connect(w.link, "127.0.0.1", port)
        with pytest.raises(CongestionError):
            await w.alice.connect(w.link, "127.0.0.1", port)
        async with stream:
            pass
        await until(lambda: w.board.serving == 0)
        again = await w.alice.connect(w.link, "127.0.0.1", port)
        again.close()
        await again.wait_closed()


async def test_a_broken_link_breaks_the_socket_off() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            assert await reader.read() == b""
        except ConnectionResetError:
            gone.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with world() as w, server:
        await w.alice.connect(w.link, "127.0.0.1", server.sockets[0].getsockname()[1])
        w.board.cut(ALICE, BOB)
        async with asyncio.timeout(PATIENCE_S):
            await gone.wait()


async def test_a_reset_socket_fails_the_channel() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        reset(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with world() as w, server:
        port = server.sockets[0].getsockname()[1]
        stream = await w.alice.connect(w.link, "127.0.0.1", port)
        stream.write(b"xy")
        with pytest.raises(ChannelError, match="reset"):
            await stream.read()


async def test_data_in_the_opening_packet_is_the_first_to_arrive() -> None:
    async with world() as w, echo_server() as port:
        head: JsonObject = {"sock": "connect", "dst": {"ip": "127.0.0.1", "port": port}}
        channel = w.link.open("sock", head, b"early ")
        await channel.send({"enc": "binary"}, b"bird")
        await channel.end()
        assert await channel.receive() == ({"dst": {"ip": "127.0.0.1", "port": port}}, b"")
        assert await channel.receive() == ({}, b"EARLY BIRD")


async def test_a_peer_that_only_acknowledges_counts_as_connected() -> None:
    """T7: the JavaScript peer's connect is confirmed by a bare ack, and data follows."""

    async def javascript(channel: BoardChannel) -> None:
        message = await channel.receive()
        assert message is not None
        await channel.send({"enc": "binary"}, b"tcp-echo:" + message.body)

    async with Switchboard() as board:
        board.serve(BOB, "sock", javascript)
        stream = await Sock().connect(board.link(ALICE, BOB), "127.0.0.1", 80)
        async with stream:
            stream.write(b"hello tcp")
            stream.write_eof()
            assert await stream.read() == b"tcp-echo:hello tcp"


async def test_a_peer_whose_server_speaks_first_loses_no_byte() -> None:
    """T7"""

    async def javascript(channel: BoardChannel) -> None:
        await channel.send({"enc": "binary"}, b"220 ready")

    async with Switchboard() as board:
        board.serve(BOB, "sock", javascript)
        stream = await Sock().connect(board.link(ALICE, BOB), "127.0.0.1", 25)
        async with stream:
            assert await stream.read() == b"220 ready"


async def test_a_forwarded_port_carries_many_connections() -> None:
    async with (
        world() as w,
        echo_server() as port,
        await w.alice.forward(w.link, "127.0.0.1", 0, "127.0.0.1", port) as forward,
    ):

        async def client(text: bytes) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
            writer.write(text * 20_000)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

        texts = [b"a%d " % number for number in range(5)]
        answers = await asyncio.gather(*map(client, texts))
        assert answers == [text.upper() * 20_000 for text in texts]


async def test_a_forwarded_connection_that_is_denied_is_reset() -> None:
    async with (
        world([]) as w,
        await w.alice.forward(w.link, "127.0.0.1", 0, "127.0.0.1", 9) as forward,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        assert isinstance(forward.last_error, DeniedError)


async def test_a_busy_local_port_is_a_usage_error() -> None:
    async with world() as w, echo_server() as port:
        with pytest.raises(UsageError, match="cannot listen"):
            await w.alice.forward(w.link, "127.0.0.1", port, "127.0.0.1", 9)


async def test_connections_to_a_bound_port_come_back_as_streams() -> None:
    sources: list[SockAddress | None] = []

    async def on_accept(stream: LinkStream, source: SockAddress | None) -> None:
        sources.append(source)
        stream.write((await stream.read()).upper())

    async with world() as w:
        async with await w.alice.bind(w.link, 0, on_accept) as binding:
            reader, writer = await asyncio.open_connection(
                binding.address.host, binding.address.port
            )
            own = writer.get_extra_info("sockname")
            writer.write(b"knock knock")
            writer.write_eof()
            assert await reader.read() == b"KNOCK KNOCK"
            writer.close()
            await writer.wait_closed()
            assert sources == [SockAddress(*own)]
        await until(lambda: w.link.opened[0].peer.ended)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(binding.address.host, binding.address.port)


async def test_an_accept_that_nobody_waits_for_is_denied() -> None:
    async with world() as w:
        head: JsonObject = {"sock": "accept", "dst": {"ip": "127.0.0.1", "port": 5}}
        channel = w.board.link(BOB, ALICE).open("sock", head)
        with pytest.raises(ChannelError, match="denied"):
            await channel.receive()


async def test_the_javascript_peers_accept_names_the_port_that_was_asked_for() -> None:
    """T7"""
    accepted = asyncio.Event()

    async def javascript(channel: BoardChannel) -> None:
        await channel.send({"dst": {"ip": None, "port": 45000}})
        head: JsonObject = {
            "sock": "accept",
            "dst": {"ip": None, "port": 0},
            "src": {"ip": "127.0.0.1"},
        }
        back = channel.link.open("sock", head)
        await back.send(None, b"hi")
        await back.end()
        assert await back.receive() is None

    async def on_accept(stream: LinkStream, source: SockAddress | None) -> None:
        assert source == SockAddress("127.0.0.1", 0)
        assert await stream.read() == b"hi"
        accepted.set()

    async with Switchboard() as board:
        alice = Sock()
        board.serve(ALICE, "sock", alice.handle)
        board.serve(BOB, "sock", javascript)
        async with await alice.bind(board.link(ALICE, BOB), 0, on_accept):
            async with asyncio.timeout(PATIENCE_S):
                await accepted.wait()


async def test_a_taken_port_is_reported() -> None:
    async with echo_server() as port, world([f"bind tcp 127.0.0.1:{port}"]) as w:
        with pytest.raises(UnreachableError, match="in use"):
            await w.alice.bind(w.link, port, nobody)


async def test_datagrams_reach_one_address_and_come_back() -> None:
    server = await QueuedDatagramSocket.bind("127.0.0.1", 0)
    async with world() as w:
        socket = await w.alice.udp(w.link, *server.address)
        await socket.send(b"ping")
        data, ip, port = await server.receive()
        server.send(data.upper(), (ip, port))
        assert await socket.receive() == (b"PING", SockAddress(*server.address))
        await socket.close()
        with pytest.raises(UsageError):
            await socket.send(bytes(2000))
    server.close()


async def test_a_bound_udp_port_talks_only_to_whom_the_rules_allow() -> None:
    friend = await QueuedDatagramSocket.bind("127.0.0.1", 0)
    stranger = await QueuedDatagramSocket.bind("127.0.0.1", 0)
    rules = ["bind udp 127.0.0.1:*", f"udp 127.0.0.1:{friend.address[1]}"]
    async with world(rules) as w:
        socket = await w.alice.udp_bind(w.link)
        assert socket.address is not None
        await socket.send(b"psst", SockAddress(*stranger.address))
        await socket.send(b"psst", SockAddress("here.example", 5))
        await socket.send(b"to nobody")
        await socket.send(b"hello", SockAddress(*friend.address))
        assert (await friend.receive()).data == b"hello"
        friend.send(b"the first you hear", stranger.address)
        assert (await stranger.receive()).data == b"the first you hear"
        stranger.send(b"spam", (socket.address.host, socket.address.port))
        assert await socket.receive() == (b"spam", SockAddress(*stranger.address))
        await socket.close()
        assert await socket.receive() is None
    friend.close()
    stranger.close()


async def test_an_idle_udp_socket_is_closed() -> None:
    server = await QueuedDatagramSocket.bind("127.0.0.1", 0)
    async with world(limits=SockLimits(udp_idle_s=0.05)) as w:
        socket = await w.alice.udp(w.link, *server.address)
        assert await socket.receive() is None
    server.close()
