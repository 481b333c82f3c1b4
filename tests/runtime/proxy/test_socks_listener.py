"""M7: SOCKS5 for any program that speaks it, over real sockets."""

import asyncio
import random
import socket

import pytest

from rookery.errors import UsageError
from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.mesh.proxy.socks import SocksReply, datagram, parse_datagram, reply
from rookery.runtime.crow.gates import socks5
from rookery.runtime.net.datagram_socket import QueuedDatagramSocket
from rookery.runtime.proxy import listener as listener_module
from rookery.runtime.proxy.socks_listener import socks_listener
from tests.patience import PATIENCE_S
from tests.runtime.message_channel_pair import until
from tests.runtime.proxy.clients import Client
from tests.runtime.proxy.proxy_world import proxy_world
from tests.runtime.proxy.servers import closed_port, echo_server, udp_echo
from tests.runtime.proxy.town import BOB

HELLO = b"\x05\x01\x00"


def connect(host: bytes, port: int, command: int = 1) -> bytes:
    return bytes([5, command, 0, 3, len(host)]) + host + port.to_bytes(2, "big")


def command(number: int, ip: str, port: int) -> bytes:
    return bytes([5, number, 0, 1]) + socket.inet_aton(ip) + port.to_bytes(2, "big")


@pytest.mark.parametrize(
    "proxy", ["auto", BOB, [BOB], None], ids=["auto", "node", "list", "direct"]
)
async def test_a_program_connects_through_the_exit(proxy: str | list[str] | None) -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await socks_listener(world.alice, proxy) as listener,
        Client(listener.address) as client,
    ):
        assert listener.address.host == "127.0.0.1"
        client.send(HELLO)
        assert await client.exactly(2) == b"\x05\x00"
        client.send(connect(b"here.example", port))
        assert await client.exactly(10) == reply(SocksReply.SUCCEEDED)
        assert await client.ask(b"hello" * 30_000) == b"HELLO" * 30_000
        assert len(world.town.opened) == (proxy is not None)


async def test_a_client_that_does_not_wait_for_answers_loses_nothing() -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await socks_listener(world.alice) as listener,
        Client(listener.address) as client,
    ):
        heard = await client.ask(HELLO + connect(b"127.0.0.1", port) + b"early")
        assert heard == b"\x05\x00" + reply(SocksReply.SUCCEEDED) + b"EARLY"


async def test_our_own_client_and_our_listener_understand_each_other() -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await socks_listener(world.alice) as listener,
    ):
        loop = asyncio.get_running_loop()
        sock = await socks5.connect(
            (listener.address.host, listener.address.port), b"here.example", port
        )
        with sock:
            await loop.sock_sendall(sock, b"hello")
            sock.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(sock, 100) == b"HELLO"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (b"127.0.0.1", SocksReply.REFUSED),
        (b"inside.example", SocksReply.FORBIDDEN),
        (b"10.0.0.1", SocksReply.FORBIDDEN),
        (b"nowhere.example", SocksReply.HOST_UNREACHABLE),
        (b"not a host", SocksReply.FAILED),
    ],
)
async def test_a_failure_is_told_in_the_words_of_socks(host: bytes, expected: SocksReply) -> None:
    async with (
        proxy_world() as world,
        closed_port() as port,
        await socks_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        assert await client.ask(HELLO + connect(host, port)) == b"\x05\x00" + reply(expected)
        await until(lambda: listener.failed == 1)
        assert listener.last_error is not None


async def test_a_password_opens_the_listener_and_nothing_else_does() -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await socks_listener(
            world.alice, credentials=ProxyCredentials("rook", "sesame")
        ) as listener,
    ):
        request = connect(b"127.0.0.1", port)
        for greeting, answer in (
            (HELLO, b"\x05\xff"),
            (b"\x05\x01\x02\x01\x04rook\x05wrong", b"\x05\x02\x01\x01"),
        ):
            async with Client(listener.address) as client:
                assert await client.ask(greeting + request) == answer
        assert world.town.opened == []
        async with Client(listener.address) as client:
            heard = await client.ask(b"\x05\x01\x02\x01\x04rook\x06sesame" + request + b"x")
            assert heard == b"\x05\x02\x01\x00" + reply(SocksReply.SUCCEEDED) + b"X"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
async def test_a_listener_for_strangers_needs_a_lock(host: str) -> None:
    async with proxy_world() as world:
        with pytest.raises(UsageError, match="password"):
            await socks_listener(world.alice, host=host)


async def test_a_listener_on_all_addresses_opens_with_credentials() -> None:
    async with proxy_world() as world:
        lock = ProxyCredentials("rook", "sesame")
        async with await socks_listener(world.alice, host="0.0.0.0", credentials=lock) as listener:
            assert listener.address.host == "0.0.0.0"


async def test_connections_are_bounded() -> None:
    async with (
        proxy_world() as world,
        await socks_listener(world.alice, connections_max=1) as listener,
        Client(listener.address) as first,
    ):
        first.send(HELLO)
        assert await first.exactly(2) == b"\x05\x00"
        async with Client(listener.address) as second:
            with pytest.raises(ConnectionResetError):
                await second.rest()
        assert listener.connections == 1


async def test_a_client_that_says_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.runtime.proxy.socks_listener.HANDSHAKE_S", 0.05)
    async with (
        proxy_world() as world,
        await socks_listener(world.alice) as listener,
        Client(listener.address) as client,
    ):
        with pytest.raises(ConnectionResetError):
            await client.rest()


async def test_a_closed_listener_breaks_off_what_it_carries() -> None:
    async with proxy_world() as world, echo_server() as port:
        listener = await socks_listener(world.alice)
        async with Client(listener.address) as client:
            client.send(HELLO + connect(b"127.0.0.1", port))
            await client.exactly(12)
            await listener.close()
            with pytest.raises(ConnectionResetError):
                await client.rest()
        await world.town.quiet()


@pytest.mark.parametrize("seed", range(60))
async def test_hostile_bytes_end_in_a_closed_connection(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fuzz: whatever comes, the listener lives on and nobody is connected by accident."""
    monkeypatch.setattr(listener_module, "LINGER_S", 0.05)
    chance = random.Random(seed)
    async with proxy_world([]) as world, await socks_listener(world.alice, BOB) as listener:
        for _ in range(10):
            data = HELLO + connect(b"here.example", 80) + chance.randbytes(50)
            mutated = bytearray(data[: chance.randrange(1, len(data))])
            for _ in range(chance.randrange(4)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            async with Client(listener.address) as client:
                try:
                    heard = await client.ask(bytes(mutated))
                except ConnectionResetError:
                    continue
                assert heard == b"" or heard[:1] == b"\x05"
                assert reply(SocksReply.SUCCEEDED) not in heard
        async with asyncio.timeout(PATIENCE_S):  # the client may know before the listener does
            while listener.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


# --- datagrams ---


async def associate(client: Client, port: int = 0) -> SockAddress:
    client.send(HELLO + command(3, "0.0.0.0", port))
    answer = await client.exactly(12)
    assert answer[:6] == b"\x05\x00\x05\x00\x00\x01"
    return SockAddress(socket.inet_ntoa(answer[6:10]), int.from_bytes(answer[10:], "big"))


async def heard(socket_: QueuedDatagramSocket) -> tuple[SockAddress, bytes]:
    async with asyncio.timeout(PATIENCE_S):
        return parse_datagram((await socket_.receive()).data)


async def test_datagrams_go_to_many_places_and_come_back_with_their_sources() -> None:
    async with (
        proxy_world() as world,
        udp_echo() as one,
        udp_echo() as other,
        await socks_listener(world.alice) as listener,
        Client(listener.address) as client,
    ):
        relay = await associate(client)
        local = await QueuedDatagramSocket.connect(relay.host, relay.port)
        for host, port in (("127.0.0.1", one), ("127.0.0.1", other)):
            local.send(datagram(SockAddress(host, port), b"question"))
            assert await heard(local) == (SockAddress(host, port), b"QUESTION")
        assert len(world.town.opened) == 2
        local.send(datagram(SockAddress("127.0.0.1", one), b"again"))
        assert await heard(local) == (SockAddress("127.0.0.1", one), b"AGAIN")
        assert len(world.town.opened) == 2
        local.close()
        client.writer.write_eof()
        assert await client.rest() == b""
        await world.town.quiet()


async def test_only_the_clients_own_datagrams_are_passed_on() -> None:
    async with (
        proxy_world() as world,
        udp_echo() as port,
        await socks_listener(world.alice) as listener,
        Client(listener.address) as client,
    ):
        relay = await associate(client)
        own, stranger = [
            await QueuedDatagramSocket.connect(relay.host, relay.port) for _ in range(2)
        ]
        for nonsense in (b"", b"\0\0", b"\0\0\1\1\x7f\0\0\1\0\1x", b"GET / HTTP/1.1"):
            own.send(nonsense)
        own.send(datagram(SockAddress("127.0.0.1", port), b"mine"))
        assert await heard(own) == (SockAddress("127.0.0.1", port), b"MINE")
        stranger.send(datagram(SockAddress("127.0.0.1", port), b"not mine"))
        own.send(datagram(SockAddress("127.0.0.1", port), b"again"))
        assert await heard(own) == (SockAddress("127.0.0.1", port), b"AGAIN")
        own.close()
        stranger.close()


async def test_datagrams_that_no_rule_allows_are_dropped() -> None:
    async with (
        proxy_world(["udp 127.0.0.1:*"]) as world,
        udp_echo() as port,
        await socks_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        relay = await associate(client)
        local = await QueuedDatagramSocket.connect(relay.host, relay.port)
        local.send(datagram(SockAddress("127.0.0.2", port), b"forbidden"))
        local.send(datagram(SockAddress("127.0.0.1", port), b"allowed"))
        assert await heard(local) == (SockAddress("127.0.0.1", port), b"ALLOWED")
        local.close()


# --- BIND ---


async def test_a_bind_waits_at_the_exit_for_one_connection() -> None:
    async with (
        proxy_world() as world,
        await socks_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        client.send(HELLO + command(2, "127.0.0.1", 0))
        answer = (await client.exactly(12))[2:]
        assert answer[1] == SocksReply.SUCCEEDED
        bound = SockAddress(socket.inet_ntoa(answer[4:8]), int.from_bytes(answer[8:], "big"))
        async with Client(bound) as visitor:
            assert await client.exactly(10) == reply(
                SocksReply.SUCCEEDED, SockAddress("127.0.0.1", visitor.port)
            )
            visitor.send(b"knock")
            assert await client.exactly(5) == b"knock"
            client.send(b"come in")
            assert await visitor.exactly(7) == b"come in"


async def test_a_bind_takes_nobody_but_whom_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.runtime.proxy.socks_listener.BIND_S", 0.3)
    async with (
        proxy_world() as world,
        await socks_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        client.send(HELLO + command(2, "192.0.2.1", 0))
        answer = (await client.exactly(12))[2:]
        bound = SockAddress(socket.inet_ntoa(answer[4:8]), int.from_bytes(answer[8:], "big"))
        async with Client(bound) as visitor:
            with pytest.raises(ConnectionResetError):
                await visitor.rest()
        assert await client.exactly(10) == reply(SocksReply.TTL_EXPIRED)


@pytest.mark.parametrize(
    ("proxy", "rules", "expected"),
    [
        ("auto", ["bind tcp 127.0.0.1:*"], SocksReply.NO_SUCH_COMMAND),
        (BOB, [], SocksReply.FORBIDDEN),
    ],
)
async def test_a_bind_that_cannot_be_is_refused(
    proxy: str, rules: list[str], expected: SocksReply
) -> None:
    async with (
        proxy_world(rules) as world,
        await socks_listener(world.alice, proxy) as listener,
        Client(listener.address) as client,
    ):
        heard = await client.ask(HELLO + command(2, "0.0.0.0", 0))
        assert heard == b"\x05\x00" + reply(expected)
