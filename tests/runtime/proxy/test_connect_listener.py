"""M7: HTTP CONNECT, over real sockets."""

import random
from base64 import b64encode

import pytest

from rookery.errors import UsageError
from rookery.mesh.proxy.credentials import ProxyCredentials
from rookery.runtime.proxy import listener as listener_module
from rookery.runtime.proxy.connect_listener import connect_listener
from tests.runtime.proxy.clients import Client
from tests.runtime.proxy.proxy_world import proxy_world
from tests.runtime.proxy.servers import closed_port, echo_server
from tests.runtime.proxy.town import BOB


def connect(authority: str, *headers: str) -> bytes:
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *headers, "", ""]
    return "\r\n".join(lines).encode()


async def test_a_program_connects_through_the_exit() -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await connect_listener(world.alice) as listener,
        Client(listener.address) as client,
    ):
        assert listener.address.host == "127.0.0.1"
        client.send(connect(f"here.example:{port}"))
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert await client.ask(b"hello" * 30_000) == b"HELLO" * 30_000


async def test_a_client_that_does_not_wait_for_the_answer_loses_nothing() -> None:
    async with (
        proxy_world() as world,
        echo_server() as port,
        await connect_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        heard = await client.ask(connect(f"127.0.0.1:{port}") + b"early")
        assert heard.partition(b"\r\n\r\n")[2] == b"EARLY"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (connect("127.0.0.1:{port}"), 502),
        (connect("nowhere.example:{port}"), 502),
        (connect("inside.example:{port}"), 403),
        (connect("[::1]:{port}"), 403),
        (connect("127.0.0.1"), 400),
        (connect("127.0.0.1:0"), 400),
        (connect("127.0.0.1:99999"), 400),
        (connect("[::1:80"), 400),
        (connect("user@127.0.0.1:80"), 400),
        (b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000), 405),
        (b"nonsense\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n" + b"x: y\r\n" * 5000, 431),
        (b"\x05\x01\x00", 400),
        (b"", None),
    ],
)
async def test_a_failure_is_told_in_the_words_of_http(request_: bytes, status: int | None) -> None:
    async with (
        proxy_world() as world,
        closed_port() as port,
        await connect_listener(world.alice, BOB) as listener,
        Client(listener.address) as client,
    ):
        heard = await client.ask(request_.replace(b"{port}", str(port).encode()))
        assert (int(heard.split()[1]) if heard else None) == status


async def test_a_password_opens_the_listener_and_nothing_else_does() -> None:
    lock = ProxyCredentials("rook", "sesame")
    async with (
        proxy_world() as world,
        echo_server() as port,
        await connect_listener(world.alice, credentials=lock) as listener,
    ):
        target, good = f"127.0.0.1:{port}", b64encode(b"rook:sesame").decode()
        wrong = b64encode(b"rook:sesam").decode()
        for header in (
            "X: y",
            f"Proxy-Authorization: Basic {wrong}",
            "Proxy-Authorization: Basic !!!",
            f"Proxy-Authorization: Digest {good}",
            f"Authorization: Basic {good}",
        ):
            async with Client(listener.address) as client:
                heard = await client.ask(connect(target, header))
                assert heard.startswith(b"HTTP/1.1 407 ")
                assert b"proxy-authenticate: Basic" in heard
        assert world.town.opened == []
        async with Client(listener.address) as client:
            heard = await client.ask(connect(target, f"Proxy-Authorization: Basic {good}") + b"x")
            assert heard.endswith(b"\r\n\r\nX")


async def test_a_listener_for_strangers_needs_a_lock() -> None:
    async with proxy_world() as world:
        with pytest.raises(UsageError, match="password"):
            await connect_listener(world.alice, host="0.0.0.0")


@pytest.mark.parametrize("seed", range(40))
async def test_hostile_bytes_end_in_a_closed_connection(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fuzz: whatever comes, the listener lives on and nobody is connected by accident."""
    monkeypatch.setattr(listener_module, "LINGER_S", 0.05)
    chance = random.Random(seed)
    async with proxy_world([]) as world, await connect_listener(world.alice, BOB) as listener:
        for _ in range(10):
            data = connect("here.example:80", "Proxy-Authorization: Basic x") + b"tail"
            mutated = bytearray(data[: chance.randrange(1, len(data))])
            for _ in range(chance.randrange(6)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            async with Client(listener.address) as client:
                try:
                    heard = await client.ask(bytes(mutated))
                except ConnectionResetError:
                    continue
                assert heard == b"" or heard[:9] == b"HTTP/1.1 "
                assert heard[9:12] != b"200"
        assert listener.connections == 0
