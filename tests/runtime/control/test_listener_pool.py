"""The listeners of a node, and who holds them over the control socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError
from rookery.link.channels.sock import SockAddress
from rookery.runtime.control.client import connected
from rookery.runtime.control.listener_pool import LISTENERS_MAX, ListenerPool
from rookery.runtime.control.listeners import HeldListeners, ResolvedListener
from rookery.runtime.control.messages import ControlCommand, ControlRequest, ListenerRequest
from rookery.runtime.control.server import CLIENTS_MAX, ControlServer
from rookery.runtime.node.members import NodeName
from rookery.runtime.node.snapshot import ListenerKind, ListenerOpened, ListenerTrouble, NodeStatus
from tests.patience import PATIENCE_S
from tests.runtime import colony
from tests.runtime.proxy.proxy_world import ProxyWorld, proxy_world
from tests.runtime.proxy.town import BOB

EXIT = NodeName(BOB, "bob")
HERE = SockAddress("127.0.0.1", 0)
SOCKS = ListenerRequest(kind=ListenerKind.SOCKS, exit="bob", listen=HERE)


@pytest.fixture
async def world() -> AsyncIterator[ProxyWorld]:
    async with proxy_world() as world:
        yield world


@pytest.fixture
def pool(world: ProxyWorld) -> ListenerPool:
    return ListenerPool(world.alice)


@pytest.fixture
async def path(pool: ListenerPool, tmp_path: Path) -> AsyncIterator[Path]:
    path = tmp_path / "control.sock"
    control = await ControlServer.bind(colony.Colony(), path, pool)
    yield path
    await control.close()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello")
    writer.close()


async def greeting(address: SockAddress) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.close()


async def is_closed(address: SockAddress) -> bool:
    try:
        _, writer = await asyncio.open_connection(address.host, address.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def until_closed(address: SockAddress) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_closed(address):  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0.01)


async def first_trouble(held: HeldListeners) -> ListenerTrouble:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for trouble in held.troubles():
                return trouble
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", [ListenerKind.TCP, ListenerKind.REVERSE])
async def test_a_forward_leads_there_until_it_is_left(
    pool: ListenerPool, kind: ListenerKind
) -> None:
    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        to = SockAddress(*server.sockets[0].getsockname())
        listener = ListenerRequest(kind=kind, exit="bob", listen=HERE, to=to)
        async with pool.open([ResolvedListener(listener, EXIT)]) as held:
            (row,) = held.opened
            assert (row.kind, row.exit, row.to) == (kind, EXIT, str(to))
            assert await greeting(row.listening) == b"hello"
            assert list(held.troubles()) == []
        await until_closed(row.listening)


@pytest.mark.parametrize("kind", [ListenerKind.SOCKS, ListenerKind.HTTP, ListenerKind.UDP])
async def test_every_kind_opens(pool: ListenerPool, kind: ListenerKind) -> None:
    listener = ListenerRequest(kind=kind, exit="auto", listen=HERE, to=SockAddress("127.0.0.1", 9))
    async with pool.open([ResolvedListener(listener, None)]) as held:
        (row,) = held.opened
        assert (row.kind, row.exit, row.listening.host) == (kind, None, "127.0.0.1")


async def test_trouble_is_told_once(pool: ListenerPool) -> None:
    listener = ListenerRequest(
        kind=ListenerKind.TCP, exit="bob", listen=HERE, to=SockAddress("inside.example", 80)
    )
    async with pool.open([ResolvedListener(listener, EXIT)]) as held:
        (row,) = held.opened
        with pytest.raises(ConnectionResetError):
            await greeting(row.listening)
        trouble = await first_trouble(held)
        assert trouble.listening == row.listening
        assert "no rule allows it, through bob; an exit allows what its --exit" in trouble.problem
        assert list(held.troubles()) == []


async def test_a_listener_that_is_lost_is_said(world: ProxyWorld, pool: ListenerPool) -> None:
    listener = ListenerRequest(
        kind=ListenerKind.REVERSE, exit="bob", listen=HERE, to=SockAddress("127.0.0.1", 9)
    )
    async with pool.open([ResolvedListener(listener, EXIT)]) as held:
        (_, stream), *_ = world.town.opened
        stream.abort(1)
        with pytest.raises(UnreachableError, match="bob does not listen for us any more"):
            await first_trouble(held)


@pytest.mark.parametrize(
    ("listener", "exit_", "error"),
    [
        (ListenerRequest(kind=ListenerKind.TCP, exit="bob", listen=HERE), EXIT, UsageError),
        (
            ListenerRequest(kind=ListenerKind.UDP, exit="bob", listen=HERE, to=SockAddress("h", 0)),
            EXIT,
            UsageError,
        ),
        (
            ListenerRequest(
                kind=ListenerKind.REVERSE, exit="auto", listen=HERE, to=SockAddress("h", 1)
            ),
            None,
            UsageError,
        ),
        (
            ListenerRequest(kind=ListenerKind.SOCKS, exit="bob", listen=SockAddress("0.0.0.0", 0)),
            EXIT,
            UsageError,
        ),
    ],
)
async def test_what_cannot_be_opened_is_refused_at_once(
    pool: ListenerPool, listener: ListenerRequest, exit_: NodeName | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        async with pool.open([ResolvedListener(listener, exit_)]):
            pass


async def test_all_or_none(pool: ListenerPool) -> None:
    """A port that is taken closes those that were opened before."""
    async with pool.open([ResolvedListener(SOCKS, EXIT)]) as held:
        taken = ListenerRequest(kind=ListenerKind.HTTP, exit="bob", listen=held.opened[0].listening)
        with pytest.raises(UsageError, match="already in use"):
            async with pool.open([ResolvedListener(SOCKS, EXIT), ResolvedListener(taken, EXIT)]):
                pass
    async with pool.open([ResolvedListener(SOCKS, EXIT)] * LISTENERS_MAX):
        pass


async def test_an_exit_that_may_not_listen_says_how_it_might() -> None:
    async with proxy_world(["tcp 127.0.0.1:*"]) as world:
        listener = ListenerRequest(
            kind=ListenerKind.REVERSE, exit="bob", listen=HERE, to=SockAddress("127.0.0.1", 9)
        )
        with pytest.raises(DeniedError, match="--exit 'bind tcp"):
            async with ListenerPool(world.alice).open([ResolvedListener(listener, EXIT)]):
                pass


async def test_there_is_a_bound(pool: ListenerPool) -> None:
    async with pool.open([ResolvedListener(SOCKS, EXIT)] * LISTENERS_MAX):
        with pytest.raises(CongestionError):
            async with pool.open([ResolvedListener(SOCKS, EXIT)]):
                pass


# --- over the control socket ---


async def test_a_listener_closes_with_the_connection_that_asked_for_it(path: Path) -> None:
    async with connected(path) as client:
        rows = client.hold(
            ControlRequest(do=ControlCommand.LISTENERS, listeners=(SOCKS,)), patience_s=0
        )
        row = await anext(rows)
        assert isinstance(row, ListenerOpened)
        assert row.exit == colony.BOB
        assert not await is_closed(row.listening)
    await until_closed(row.listening)


async def test_what_a_holder_sends_is_dropped(path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    listener = {"kind": "socks", "exit": "auto", "listen": {"host": "127.0.0.1", "port": 0}}
    writer.write(json.dumps({"v": 1, "do": "doors", "doors": [listener]}).encode() + b"\n")
    row = json.loads(await reader.readline())
    assert (row["is"], row["exit"]) == ("door", None)
    writer.write(b"x" * 100_000)
    await writer.drain()
    assert not await is_closed(SockAddress(**row["listening"]))
    writer.write_eof()
    assert json.loads(await reader.readline())["ok"] is True
    writer.close()


async def test_others_may_look_while_listeners_are_held(path: Path) -> None:
    clients = []
    for _ in range(CLIENTS_MAX):
        client = connected(path)
        clients.append(client)
        holding = await client.__aenter__()
        rows = holding.hold(
            ControlRequest(do=ControlCommand.LISTENERS, listeners=(SOCKS,)), patience_s=0
        )
        assert isinstance(await anext(rows), ListenerOpened)
    async with connected(path) as looking:
        assert (
            await looking.one(ControlRequest(do=ControlCommand.STATUS), NodeStatus) == colony.STATUS
        )
    for client in clients:
        await client.__aexit__(None, None, None)


async def test_a_listener_through_nobody_is_refused(path: Path) -> None:
    listener = ListenerRequest(kind=ListenerKind.SOCKS, exit="nobody", listen=HERE)
    async with connected(path) as client:
        with pytest.raises(UsageError, match="no other member is called 'nobody'"):
            await anext(
                client.hold(
                    ControlRequest(do=ControlCommand.LISTENERS, listeners=(listener,)), patience_s=0
                )
            )


async def test_a_node_without_listeners_says_so(tmp_path: Path) -> None:
    control = await ControlServer.bind(colony.Colony(), tmp_path / "control.sock")
    async with connected(tmp_path / "control.sock") as client:
        with pytest.raises(DeniedError, match="opens no listeners"):
            await anext(
                client.hold(
                    ControlRequest(do=ControlCommand.LISTENERS, listeners=(SOCKS,)), patience_s=0
                )
            )
    await control.close()
