"""T3: sock, chat and box over two real endpoints, linked by loopback UDP."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from rookery.errors import DeniedError
from rookery.link.channels.box import box_id
from rookery.link.channels.box_seal import seal, unseal
from rookery.link.channels.chat_events import Notice, TextReceived
from rookery.link.channels.sock import SockAddress
from rookery.link.channels.sock_rules import Rules
from rookery.runtime.endpoint.channels.box import BoxClient
from rookery.runtime.endpoint.channels.box_keeper import BoxKeeper
from rookery.runtime.endpoint.channels.chat import ChatInvitation, Chats
from rookery.runtime.endpoint.channels.chat_room import ChatRoom
from rookery.runtime.endpoint.channels.interface import ChannelOpener
from rookery.runtime.endpoint.channels.sock import Sock
from rookery.runtime.endpoint.channels.stream import LinkStream
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from tests.patience import PATIENCE_S
from tests.runtime.endpoint_pair import EndpointPair


@pytest.fixture
async def pair() -> AsyncIterator[EndpointPair]:
    async with EndpointPair() as pair:
        yield pair


def chats_of(endpoint: AsyncEndpoint) -> Chats:
    async def link_to(hashname: str) -> ChannelOpener:
        return await endpoint.link(hashname).up()

    chats = Chats(endpoint.hashname, link_to)
    endpoint.serve("profile", chats.handle_profile)
    endpoint.serve("chat", chats.handle_chat)
    return chats


async def hear(room: ChatRoom) -> TextReceived:
    async with asyncio.timeout(PATIENCE_S):
        notice: Notice
        async for notice in room:
            if isinstance(notice, TextReceived):
                return notice
    raise AssertionError("the room was closed")


async def test_a_megabyte_passes_a_tunnel_and_comes_back(pair: EndpointPair) -> None:
    async def upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data.upper())
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(upper, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pair.bob.serve("sock", Sock(Rules.parse([f"tcp 127.0.0.1:{port}"])).handle)
    sock, data = Sock(), b"abcdefgh" * (1 << 17)
    async with server, await sock.forward(pair.alice, "127.0.0.1", 0, "127.0.0.1", port) as tunnel:
        reader, writer = await asyncio.open_connection("127.0.0.1", tunnel.port)

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as both:
            both.create_task(send())
            received = both.create_task(reader.read(-1))
        assert received.result() == data.upper()
        writer.close()
        with pytest.raises(DeniedError):
            await sock.connect(pair.alice, "127.0.0.1", port + 1)


async def test_a_port_bound_over_there_leads_here(pair: EndpointPair) -> None:
    pair.bob.serve("sock", Sock(Rules.parse(["bind tcp 127.0.0.1:*"])).handle)
    sock = Sock()
    pair.alice.endpoint.serve("sock", sock.handle)

    async def on_accept(stream: LinkStream, source: SockAddress | None) -> None:
        stream.write(await stream.readline())

    async with await sock.bind(pair.alice, 0, on_accept) as binding:
        reader, writer = await asyncio.open_connection(binding.address.host, binding.address.port)
        writer.write(b"knock\n")
        assert await reader.read() == b"knock\n"
        writer.close()


async def test_datagrams_pass_a_tunnel(pair: EndpointPair) -> None:
    server = await QueuedDatagramSocket.bind("127.0.0.1", 0)
    pair.bob.serve("sock", Sock(Rules.parse(["udp 127.0.0.1:*"])).handle)
    socket = await Sock().udp(pair.alice, *server.address)
    await socket.send(b"ping")
    data, ip, port = await server.receive()
    server.send(data + b" pong", (ip, port))
    assert await socket.receive() == (b"ping pong", SockAddress(*server.address))
    await socket.close()
    server.close()


async def test_two_meshes_chat(pair: EndpointPair) -> None:
    alices, bobs = chats_of(pair.alice.endpoint), chats_of(pair.bob)
    invited: asyncio.Queue[ChatRoom] = asyncio.Queue()

    async def accept(invitation: ChatInvitation) -> None:
        await invited.put(bobs.accept(invitation, "Bob"))

    bobs.on_invite = accept
    async with alices.create("Alice") as room:
        await room.invite(pair.bob.hashname)
        async with await invited.get() as guest:
            await room.send("hello " * 1000)
            assert (await hear(guest)).message.text == "hello " * 1000
            await guest.send("hi")
            assert (await hear(room)).message.text == "hi"


async def test_a_letter_waits_at_the_keeper(pair: EndpointPair) -> None:
    """Bob keeps; Alice writes to herself, being her own recipient."""
    keeper, me = BoxKeeper(), pair.alice.endpoint
    pair.bob.serve("outbox", keeper.handle_outbox)
    pair.bob.serve("inbox", keeper.handle_inbox)
    pair.bob.serve("boxes", keeper.handle_boxes)
    client = BoxClient(pair.alice, me.hashname)
    assert await client.waiting() == []
    content = b"note to self " * 1000
    await client.put(me.hashname, seal(me.identity, me.identity.keys, content, 5, os.urandom))
    (box,) = await client.waiting()
    assert box == box_id(me.hashname, me.hashname)
    async with client.inbox(box) as inbox:
        async for message in inbox:
            assert unseal(me.identity, message).content == content
            await inbox.forget(message)
    assert await client.waiting() == []
