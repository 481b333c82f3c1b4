"""The doors of a node, and who holds them over the control socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError
from rookery.link.channels.sock import Address
from rookery.runtime.control import CLIENTS_MAX, Control
from rookery.runtime.control_client import connected
from rookery.runtime.control_doors import HeldDoors, Wanted
from rookery.runtime.control_lines import Do, DoorWanted, Request
from rookery.runtime.doors import DOORS_MAX, Doors
from rookery.runtime.snapshot import DoorKind, DoorOpened, DoorTrouble, Status, Who
from tests.patience import PATIENCE_S
from tests.runtime import colony
from tests.runtime.proxy.doors_world import DoorsWorld, doors_world
from tests.runtime.proxy.town import BOB

EXIT = Who(BOB, "bob")
HERE = Address("127.0.0.1", 0)
SOCKS = DoorWanted(kind=DoorKind.SOCKS, exit="bob", listen=HERE)


@pytest.fixture
async def world() -> AsyncIterator[DoorsWorld]:
    async with doors_world() as world:
        yield world


@pytest.fixture
def doors(world: DoorsWorld) -> Doors:
    return Doors(world.alice)


@pytest.fixture
async def path(doors: Doors, tmp_path: Path) -> AsyncIterator[Path]:
    path = tmp_path / "control.sock"
    control = await Control.bind(colony.Colony(), path, doors)
    yield path
    await control.close()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello")
    writer.close()


async def greeting(address: Address) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.close()


async def is_closed(address: Address) -> bool:
    try:
        _, writer = await asyncio.open_connection(address.host, address.port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def until_closed(address: Address) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await is_closed(address):  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0.01)


async def first_trouble(held: HeldDoors) -> DoorTrouble:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            for trouble in held.troubles():
                return trouble
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", [DoorKind.TCP, DoorKind.REVERSE])
async def test_a_forward_leads_there_until_it_is_left(doors: Doors, kind: DoorKind) -> None:
    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        to = Address(*server.sockets[0].getsockname())
        door = DoorWanted(kind=kind, exit="bob", listen=HERE, to=to)
        async with doors.open([Wanted(door, EXIT)]) as held:
            (row,) = held.opened
            assert (row.kind, row.exit, row.to) == (kind, EXIT, str(to))
            assert await greeting(row.listening) == b"hello"
            assert list(held.troubles()) == []
        await until_closed(row.listening)


@pytest.mark.parametrize("kind", [DoorKind.SOCKS, DoorKind.HTTP, DoorKind.UDP])
async def test_every_kind_opens(doors: Doors, kind: DoorKind) -> None:
    door = DoorWanted(kind=kind, exit="auto", listen=HERE, to=Address("127.0.0.1", 9))
    async with doors.open([Wanted(door, None)]) as held:
        (row,) = held.opened
        assert (row.kind, row.exit, row.listening.host) == (kind, None, "127.0.0.1")


async def test_trouble_is_told_once(doors: Doors) -> None:
    door = DoorWanted(kind=DoorKind.TCP, exit="bob", listen=HERE, to=Address("inside.example", 80))
    async with doors.open([Wanted(door, EXIT)]) as held:
        (row,) = held.opened
        with pytest.raises(ConnectionResetError):
            await greeting(row.listening)
        trouble = await first_trouble(held)
        assert trouble.listening == row.listening
        assert "no rule allows it, through bob; an exit allows what its --exit" in trouble.problem
        assert list(held.troubles()) == []


async def test_a_listener_that_is_lost_is_said(world: DoorsWorld, doors: Doors) -> None:
    door = DoorWanted(kind=DoorKind.REVERSE, exit="bob", listen=HERE, to=Address("127.0.0.1", 9))
    async with doors.open([Wanted(door, EXIT)]) as held:
        (_, stream), *_ = world.town.opened
        stream.abort(1)
        with pytest.raises(UnreachableError, match="bob does not listen for us any more"):
            await first_trouble(held)


@pytest.mark.parametrize(
    ("door", "exit_", "error"),
    [
        (DoorWanted(kind=DoorKind.TCP, exit="bob", listen=HERE), EXIT, UsageError),
        (
            DoorWanted(kind=DoorKind.UDP, exit="bob", listen=HERE, to=Address("h", 0)),
            EXIT,
            UsageError,
        ),
        (
            DoorWanted(kind=DoorKind.REVERSE, exit="auto", listen=HERE, to=Address("h", 1)),
            None,
            UsageError,
        ),
        (
            DoorWanted(kind=DoorKind.SOCKS, exit="bob", listen=Address("0.0.0.0", 0)),
            EXIT,
            UsageError,
        ),
    ],
)
async def test_what_cannot_be_opened_is_refused_at_once(
    doors: Doors, door: DoorWanted, exit_: Who | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        async with doors.open([Wanted(door, exit_)]):
            pass


async def test_all_or_none(doors: Doors) -> None:
    """A port that is taken closes those that were opened before."""
    async with doors.open([Wanted(SOCKS, EXIT)]) as held:
        taken = DoorWanted(kind=DoorKind.HTTP, exit="bob", listen=held.opened[0].listening)
        with pytest.raises(UsageError, match="already in use"):
            async with doors.open([Wanted(SOCKS, EXIT), Wanted(taken, EXIT)]):
                pass
    async with doors.open([Wanted(SOCKS, EXIT)] * DOORS_MAX):
        pass


async def test_an_exit_that_may_not_listen_says_how_it_might() -> None:
    async with doors_world(["tcp 127.0.0.1:*"]) as world:
        door = DoorWanted(
            kind=DoorKind.REVERSE, exit="bob", listen=HERE, to=Address("127.0.0.1", 9)
        )
        with pytest.raises(DeniedError, match="--exit 'bind tcp"):
            async with Doors(world.alice).open([Wanted(door, EXIT)]):
                pass


async def test_there_is_a_bound(doors: Doors) -> None:
    async with doors.open([Wanted(SOCKS, EXIT)] * DOORS_MAX):
        with pytest.raises(CongestionError):
            async with doors.open([Wanted(SOCKS, EXIT)]):
                pass


# --- over the control socket ---


async def test_a_door_closes_with_the_connection_that_asked_for_it(path: Path) -> None:
    async with connected(path) as client:
        rows = client.hold(Request(do=Do.DOORS, doors=(SOCKS,)), patience_s=0)
        row = await anext(rows)
        assert isinstance(row, DoorOpened)
        assert row.exit == colony.BOB
        assert not await is_closed(row.listening)
    await until_closed(row.listening)


async def test_what_a_holder_sends_is_dropped(path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    door = {"kind": "socks", "exit": "auto", "listen": {"host": "127.0.0.1", "port": 0}}
    writer.write(json.dumps({"v": 1, "do": "doors", "doors": [door]}).encode() + b"\n")
    row = json.loads(await reader.readline())
    assert (row["is"], row["exit"]) == ("door", None)
    writer.write(b"x" * 100_000)
    await writer.drain()
    assert not await is_closed(Address(**row["listening"]))
    writer.write_eof()
    assert json.loads(await reader.readline())["ok"] is True
    writer.close()


async def test_others_may_look_while_doors_are_held(path: Path) -> None:
    clients = []
    for _ in range(CLIENTS_MAX):
        client = connected(path)
        clients.append(client)
        holding = await client.__aenter__()
        rows = holding.hold(Request(do=Do.DOORS, doors=(SOCKS,)), patience_s=0)
        assert isinstance(await anext(rows), DoorOpened)
    async with connected(path) as looking:
        assert await looking.one(Request(do=Do.STATUS), Status) == colony.STATUS
    for client in clients:
        await client.__aexit__(None, None, None)


async def test_a_door_through_nobody_is_refused(path: Path) -> None:
    door = DoorWanted(kind=DoorKind.SOCKS, exit="nobody", listen=HERE)
    async with connected(path) as client:
        with pytest.raises(UsageError, match="no other member is called 'nobody'"):
            await anext(client.hold(Request(do=Do.DOORS, doors=(door,)), patience_s=0))


async def test_a_node_without_doors_says_so(tmp_path: Path) -> None:
    control = await Control.bind(colony.Colony(), tmp_path / "control.sock")
    async with connected(tmp_path / "control.sock") as client:
        with pytest.raises(DeniedError, match="opens no doors"):
            await anext(client.hold(Request(do=Do.DOORS, doors=(SOCKS,)), patience_s=0))
    await control.close()
