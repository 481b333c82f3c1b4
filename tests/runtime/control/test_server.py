"""The control socket: its owner's alone, bounded, and in the place of a node that is gone."""

# ruff: noqa: ASYNC240  a test may wait for the disk

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.control import server as control_module
from rookery.runtime.control.messages import REQUEST_SIZE_MAX, ControlEnd, ControlErrorCode
from rookery.runtime.control.server import CLIENTS_MAX, ControlServer, matching_peer
from rookery.runtime.control.unix_socket import listening
from rookery.wire.link.lob import JsonObject
from tests.patience import PATIENCE_S
from tests.runtime.colony import ALICE, BOB, BOB_PEER, CAROL, CAROLINE, DAVE, Colony


@pytest.fixture
def colony() -> Colony:
    return Colony()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@pytest.fixture
async def control(colony: Colony, path: Path) -> AsyncIterator[ControlServer]:
    control = await ControlServer.bind(colony, path)
    yield control
    await control.close()


class Program:
    """Anybody who can open the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, line: str) -> list[JsonObject]:
        self.writer.write(line.encode() + b"\n")
        return await self.answer()

    async def answer(self) -> list[JsonObject]:
        rows: list[JsonObject] = []
        while not rows or rows[-1]["is"] != "end":
            rows.append(json.loads(await self.reader.readline()))
        return rows


async def program(path: Path) -> Program:
    return Program(*await asyncio.open_unix_connection(str(path)))


@pytest.fixture
async def client(control: ControlServer, path: Path) -> AsyncIterator[Program]:
    client = await program(path)
    yield client
    client.writer.close()


OK = {"v": 1, "is": "end", "ok": True, "code": None, "error": ""}


@pytest.mark.parametrize(
    ("do", "kinds"),
    [
        ("status", ["status"]),
        ("peers", ["peer", "peer"]),
        ("routes", ["route"] * 3),
        ("members", ["member"] * 5),
        ("counters", ["counters"]),
        ("netcheck", ["check", "check"]),
        ("graph", ["graph", "graph"]),
    ],
)
async def test_each_question_has_its_rows(client: Program, do: str, kinds: list[str]) -> None:
    *rows, end = await client.ask(f'{{"v":1,"do":"{do}"}}')
    assert [row["is"] for row in rows] == kinds
    assert all(row["v"] == 1 for row in rows)
    assert end == OK


async def test_questions_about_a_node_find_it_by_name(client: Program, colony: Colony) -> None:
    reply, end = await client.ask('{"v":1,"do":"ping","node":"bob","timeout_s":2}')
    assert (reply["is"], reply["rtt_ms"], end) == ("ping", 0.4, OK)
    assert colony.requests == [(BOB.hashname, 2.0)]
    *hops, end = await client.ask('{"v":1,"do":"trace","node":"carol","probes":2}')
    assert [hop["rtts_ms"] for hop in hops] == [[0.4, 0.4], [None, 1.1]]
    explanation, end = await client.ask('{"v":1,"do":"explain","node":"carol"}')
    assert explanation["decision"] != {}
    assert end == OK


async def test_a_route_between_any_two_members_is_explained(client: Program) -> None:
    """R13: between two others, and from another to this node itself."""
    for source, target in ((BOB, CAROL), (BOB, ALICE), (ALICE, BOB)):
        line = f'{{"v":1,"do":"explain","node":"{target.name}","from":"{source.hashname}"}}'
        explanation, end = await client.ask(line)
        assert (explanation["from"], explanation["to"]) == (
            {"hashname": source.hashname, "name": source.name},
            {"hashname": target.hashname, "name": target.name},
        )
        assert end == OK


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nonsense", "bad-request"),
        ('{"v":1,"do":"explain","node":"bob","from":"nobody"}', "unknown-node"),
        ('{"v":1,"do":"explain","node":"nobody","from":"bob"}', "unknown-node"),
        ('{"v":1,"do":"explain","node":"bob","from":"cccccccc"}', "ambiguous-node"),
        (f'{{"v":1,"do":"explain","node":"bob","from":"{"x" * 65}"}}', "bad-request"),
        ('{"v":3,"do":"status"}', "unknown-version"),
        ('{"v":1,"do":"ping","node":"nobody"}', "unknown-node"),
        ('{"v":1,"do":"ping"}', "unknown-node"),
        ('{"v":1,"do":"explain","node":"cccccccc"}', "ambiguous-node"),
        ('{"v":1,"do":"trace","node":"dddddddd"}', "unreachable"),
    ],
)
async def test_a_wrong_question_ends_with_a_code_and_not_the_conversation(
    client: Program, line: str, code: str
) -> None:
    (end,) = await client.ask(line)
    assert (end["ok"], end["code"]) == (False, code)
    assert end["error"]
    assert (await client.ask('{"v":1,"do":"status"}'))[-1] == OK


async def test_questions_may_be_sent_ahead(client: Program) -> None:
    client.writer.write(b'{"v":1,"do":"status"}\n{"v":1,"do":"peers"}\n')
    assert [row["is"] for row in await client.answer()] == ["status", "end"]
    assert [row["is"] for row in await client.answer()] == ["peer", "peer", "end"]


@pytest.mark.usefixtures("control")
def test_nobody_but_the_owner_may_open_it(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("mode", "expected"), [(0o770, 0o600), (0o2710, 0o660)])
def test_a_group_may_open_it_in_a_folder_that_is_shared(
    tmp_path: Path, mode: int, expected: int
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(mode)
    with listening(folder / "control.sock"):
        assert stat.S_IMODE((folder / "control.sock").stat().st_mode) == expected


async def test_it_is_gone_with_its_node(colony: Colony, path: Path) -> None:
    control = await ControlServer.bind(colony, path)
    client = await program(path)
    assert len(await client.ask('{"v":1,"do":"status"}')) == 2
    await control.close()
    assert not path.exists()
    assert await client.reader.read() == b""
    client.writer.close()


async def test_what_a_killed_node_left_behind_is_replaced(colony: Colony, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert path.exists()
    control = await ControlServer.bind(colony, path)
    client = await program(path)
    assert (await client.ask('{"v":1,"do":"status"}'))[-1] == OK
    client.writer.close()
    await control.close()


@pytest.mark.usefixtures("control")
async def test_a_second_node_does_not_take_the_place_of_a_running_one(
    colony: Colony, path: Path
) -> None:
    with pytest.raises(UsageError, match="running"):
        await ControlServer.bind(colony, path)
    client = await program(path)
    assert (await client.ask('{"v":1,"do":"status"}'))[-1] == OK
    client.writer.close()


async def test_a_busy_node_is_a_running_one(colony: Colony, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(UsageError, match="running"):
            await ControlServer.bind(colony, path)


async def test_a_file_that_is_no_socket_is_left_alone(colony: Colony, path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(UsageError, match="no socket"):
        await ControlServer.bind(colony, path)
    assert path.read_text() == "precious"


async def test_a_folder_that_is_not_there(colony: Colony, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--control"):
        await ControlServer.bind(colony, tmp_path / "missing" / "control.sock")


async def test_a_successor_keeps_its_socket(colony: Colony, path: Path) -> None:
    first = await ControlServer.bind(colony, path)
    path.unlink()
    second = await ControlServer.bind(colony, path)
    await first.close()
    assert path.exists()
    await second.close()


async def test_a_folder_may_lie_deeper_than_an_address_is_long(
    colony: Colony, tmp_path: Path
) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    control = await ControlServer.bind(colony, folder / "control.sock")
    assert stat.S_ISSOCK((folder / "control.sock").stat().st_mode)
    await control.close()
    assert not (folder / "control.sock").exists()


async def test_a_line_without_end_is_refused(client: Program) -> None:
    client.writer.write(b"x" * (REQUEST_SIZE_MAX * 2 + 1))
    (end,) = await client.answer()
    assert end["code"] == "bad-request"
    assert await client.reader.read() == b""


@pytest.mark.usefixtures("control")
async def test_one_client_too_many_is_told_so(path: Path) -> None:
    clients = [await program(path) for _ in range(CLIENTS_MAX)]
    for client in clients:
        assert (await client.ask('{"v":1,"do":"status"}'))[-1] == OK
    late = await program(path)
    (end,) = await late.ask('{"v":1,"do":"status"}')
    assert end["code"] == "busy"
    assert await late.reader.read() == b""
    clients.pop().writer.close()
    while True:  # the place is free once the server has seen it go
        again = await program(path)
        end = (await again.ask('{"v":1,"do":"status"}'))[-1]
        again.writer.close()
        if end == OK:
            break
    for client in [*clients, late]:
        client.writer.close()


@pytest.mark.usefixtures("control")
async def test_refused_clients_are_bounded_too(path: Path) -> None:
    clients = [await program(path) for _ in range(2 * CLIENTS_MAX)]
    more = await program(path)
    assert await more.reader.read() == b""
    for client in [*clients, more]:
        client.writer.close()


async def test_a_client_that_does_not_read_is_dropped(
    client: Program, colony: Colony, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much it asks for, the node keeps no more than a buffer of it."""
    monkeypatch.setattr(control_module, "READ_S_MAX", 0.05)
    colony.now_peers = (BOB_PEER,) * 5000
    client.reader.set_exception(RuntimeError("not read in this test"))
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    client.writer.write(b'{"v":1,"do":"peers"}\n' * 10)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            client.writer.write(b'{"v":1,"do":"status"}\n')
            try:
                await client.writer.drain()
            except (OSError, RuntimeError):
                break
            await asyncio.sleep(0.01)


async def test_an_idle_client_makes_room(
    colony: Colony, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module, "IDLE_S_MAX", 0.02)
    control = await ControlServer.bind(colony, path)
    client = await program(path)
    assert await client.reader.read() == b""
    client.writer.close()
    await control.close()


def test_a_member_is_found_by_name_prefix_or_hashname() -> None:
    members = Colony().members()
    cases = {"bob": BOB, "b" * 8: BOB, "d" * 9: DAVE, "carol": CAROL, CAROLINE.hashname: CAROLINE}
    for text, who in cases.items():
        found = matching_peer(members, text)
        assert not isinstance(found, ControlEnd)
        assert found.node == who


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("c" * 8, ControlErrorCode.AMBIGUOUS_NODE, "cccccccccccccccc, cccccccccccccccc"),
        ("ccc", ControlErrorCode.UNKNOWN_NODE, "of a hashname, give 8 characters or more"),
        ("zed", ControlErrorCode.UNKNOWN_NODE, "bob, carol, caroline, dddddddd"),
        ("", ControlErrorCode.UNKNOWN_NODE, "bob"),
        (ALICE.name, ControlErrorCode.UNKNOWN_NODE, "no other member"),
    ],
)
def test_a_name_for_none_or_many_says_which_there_are(
    text: str, code: ControlErrorCode, said: str
) -> None:
    end = matching_peer(Colony().members(), text)
    assert isinstance(end, ControlEnd)
    assert end.code is code
    assert said in end.error


def test_a_large_realm_is_not_listed_whole() -> None:
    end = matching_peer(Colony().members() * 3, "zed")
    assert isinstance(end, ControlEnd)
    assert "and 7 more" in end.error
