"""Asking a node: its rows, and a clear word when it cannot answer."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    ProtocolError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.runtime.control.client import connected
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.control.server import CLIENTS_MAX, ControlServer
from rookery.runtime.node.snapshot import MemberRouteRow, NodeStatus, PeerRow, PingReply, TraceHop
from tests.runtime.colony import BOB_PEER, DAVE_PEER, STATUS, Colony

STATUS_REQUEST = ControlRequest(do=ControlCommand.STATUS)


@pytest.fixture
def colony() -> Colony:
    return Colony()


@pytest.fixture
async def path(colony: Colony, tmp_path: Path) -> AsyncIterator[Path]:
    path = tmp_path / "control.sock"
    control = await ControlServer.bind(colony, path)
    yield path
    await control.close()


async def test_answers_are_values_again(path: Path) -> None:
    async with connected(path) as control:
        assert await control.one(STATUS_REQUEST, NodeStatus) == STATUS
        assert await control.all(ControlRequest(do=ControlCommand.PEERS), PeerRow) == [
            BOB_PEER,
            DAVE_PEER,
        ]
        hops = [
            hop.number
            async for hop in control.ask(
                ControlRequest(do=ControlCommand.TRACE, node="carol"), TraceHop
            )
        ]
        assert hops == [1, 2]


async def test_a_long_path_is_no_hindrance(colony: Colony, tmp_path: Path) -> None:
    path = tmp_path / ("d" * 120) / "control.sock"
    path.parent.mkdir()
    control = await ControlServer.bind(colony, path)
    async with connected(path) as client:
        assert await client.one(STATUS_REQUEST, NodeStatus) == STATUS
    await control.close()


async def test_no_node_is_running(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match=r"no node is running .*rookery node --id"):
        async with connected(tmp_path / "control.sock"):
            raise AssertionError("nobody is there")


async def test_a_node_that_was_killed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "control.sock"))
    with pytest.raises(UnreachableError, match="no node is running"):
        async with connected(tmp_path / "control.sock"):
            raise AssertionError("nobody is there")


async def test_a_path_that_cannot_be_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreachableError, match="no node is running"):
        async with connected(tmp_path / "file" / "control.sock"):
            raise AssertionError("nobody is there")
    with pytest.raises(UnreachableError, match="can be asked"):
        async with connected(tmp_path / ("n" * 300)):
            raise AssertionError("nobody is there")


async def test_the_socket_of_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, to whom nothing is forbidden."""

    async def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(asyncio, "open_unix_connection", forbidden)
    with pytest.raises(DeniedError, match="another user"):
        async with connected(path):
            raise AssertionError("it is not ours")


async def test_a_frozen_node_is_not_waited_for_forever(colony: Colony, path: Path) -> None:
    colony.is_frozen = True
    async with connected(path, timeout_s=0.05) as control:
        with pytest.raises(UnreachableError, match="does not answer"):
            await control.one(ControlRequest(do=ControlCommand.PING, node="bob"), PingReply)


async def test_a_stopped_process_takes_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(asyncio, "open_unix_connection", never)
    with pytest.raises(UnreachableError, match="does not answer"):
        async with connected(tmp_path / "control.sock", timeout_s=0.01):
            raise AssertionError("nobody is there")


@pytest.mark.parametrize("node", ["nobody", "ccc"])
async def test_an_unknown_node_is_wrong_usage(path: Path, node: str) -> None:
    async with connected(path) as control:
        with pytest.raises(UsageError, match=node):
            await control.one(ControlRequest(do=ControlCommand.PING, node=node), PingReply)


async def test_a_node_with_too_many_clients(path: Path) -> None:
    others = [await asyncio.open_unix_connection(str(path)) for _ in range(CLIENTS_MAX)]
    async with connected(path) as control:
        with pytest.raises(CongestionError, match="end one of them"):
            await control.one(STATUS_REQUEST, NodeStatus)
    for _, writer in others:
        writer.close()


async def test_an_answer_of_another_kind(path: Path) -> None:
    async with connected(path) as control:
        with pytest.raises(ProtocolError, match="Status"):
            await control.all(STATUS_REQUEST, MemberRouteRow)
    async with connected(path) as control:
        with pytest.raises(ProtocolError, match="2 rows"):
            await control.one(ControlRequest(do=ControlCommand.PEERS), PeerRow)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", UnreachableError),
        (b'{"v":1,"is":"st', UnreachableError),
        (b"HTTP/1.1 400\r\n", DecodeError),
        (b'{"v":1,"is":"weather"}\n', DecodeError),
        (b"x" * (3 << 20), ProtocolError),
    ],
)
async def test_whoever_is_there_but_is_no_node(
    tmp_path: Path, answer: bytes, error: type[RookeryError]
) -> None:
    async def somebody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    path = tmp_path / "control.sock"
    server = await asyncio.start_unix_server(somebody, path)
    async with connected(path) as control:
        with pytest.raises(error):
            await control.one(STATUS_REQUEST, NodeStatus)
    server.close()
