"""A client at its seat: calls, errors, answers that do not come, servers that go."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from rookery.client.rpc_session import CALLS_MAX, DeviceRpcSession, SeatTakenError
from rookery.errors import (
    CongestionError,
    ProtocolError,
    RemoteError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.fleet.rendezvous.wish import Grant
from rookery.fleet.rpc import message as rpc_message
from rookery.fleet.rpc.message import RpcError
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.wire.fleet import tags
from rookery.wire.fleet.messages import AttendMessage, FaultCode, FaultMessage, decode, encode
from rookery.wire.fleet.tlv import Tlv
from tests.agent.identities import identity
from tests.agent.small_server import Death, SmallServer
from tests.patience import PATIENCE_S


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with SmallServer() as server:
        yield server


def grant(server: SmallServer) -> Grant:
    address = server.address
    return Grant(
        "seat",
        "ticket",
        address.hashname,
        address.tcp,
        "",
        address.key2a,
        address.digest40,
        60,
        "02:fc:00:00:00:01",
    )


async def opened(server: SmallServer) -> tuple[DeviceRpcSession, SealedConnection]:
    session = await DeviceRpcSession.open(identity("client"), grant(server))
    return session, await asyncio.wait_for(asyncio.shield(server.line), PATIENCE_S)


async def received(line: SealedConnection) -> bytes:
    """The next message that the client has sent."""
    joiner, message = RpcJoiner(), None
    while message is None:
        tlv = await asyncio.wait_for(line.receive(), PATIENCE_S)
        assert tlv is not None
        message = joiner.add(tlv)
    return message


async def test_calls_are_answered_by_their_ids(server: SmallServer) -> None:
    """F11: at once, and in any order."""
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        one = tasks.create_task(session.call("one", {"a": 1}))
        two = tasks.create_task(session.call("two"))
        first, second = await received(line), await received(line)
        assert first == b'{"jsonrpc":"2.0","method":"one","params":{"a":1},"id":1}'
        assert second == b'{"jsonrpc":"2.0","method":"two","id":2}'
        line.send(*split(b'[{"jsonrpc":"2.0","result":"2","id":2}]'))
        line.send(*split(b'{"jsonrpc":"2.0","result":[1],"id":1}'))
    assert (one.result(), two.result()) == ([1], "2")
    assert [(message.seat, message.ticket) for message in server.arrivals] == [("seat", "ticket")]
    assert isinstance(server.arrivals[0], AttendMessage)


async def test_large_messages_come_in_parts(server: SmallServer) -> None:
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        large = "x" * 300_000
        calling = tasks.create_task(session.call("echo", [large]))
        assert len(await received(line)) > 300_000
        line.send(*split(msgspec.json.encode({"jsonrpc": "2.0", "result": large, "id": 1})))
    assert calling.result() == large


async def test_a_call_that_is_too_long_is_not_sent(server: SmallServer) -> None:
    session, _ = await opened(server)
    async with session:
        with pytest.raises(UsageError, match="too long"):
            await session.call("echo", ["x" * (2 << 20)])


async def test_an_error_is_raised_with_its_data(server: SmallServer) -> None:
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(_failing(session))
        await received(line)
        line.send(
            *split(
                b'{"jsonrpc":"2.0","error":{"code":-32004,"message":"Denied","data":{"r":7}},"id":1}'
            )
        )
    error = calling.result()
    assert isinstance(error, RpcError)
    assert (error.code, error.message, error.data) == (-32004, "Denied", {"r": 7})


async def _failing(session: DeviceRpcSession, timeout_s: float = 10.0) -> RookeryError:
    with pytest.raises(RookeryError) as failure:
        await session.call("method", timeout_s=timeout_s)
    return failure.value


async def test_an_answer_that_does_not_come_is_not_waited_for(server: SmallServer) -> None:
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        error = await _failing(session, 0.05)
        assert "no answer to method" in str(error)
        calling = tasks.create_task(session.call("next"))
        line.send(*split(b'{"jsonrpc":"2.0","result":"late","id":1}'))
        await received(line)
        assert (await received(line)).endswith(b'"id":2}')
        line.send(*split(b'{"jsonrpc":"2.0","result":"in time","id":2}'))
    assert calling.result() == "in time"


async def test_calls_that_were_given_up_make_room(server: SmallServer) -> None:
    session, _ = await opened(server)
    async with session:
        await asyncio.gather(*(_failing(session, 0.01) for _ in range(CALLS_MAX)))
        assert "no answer" in str(await _failing(session, 0.01))


async def test_a_server_that_goes_ends_the_calls(server: SmallServer) -> None:
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        calling = tasks.create_task(_failing(session))
        await received(line)
        line.send(encode(FaultMessage(FaultCode.CLOSING, "the server stops")))
        line.close()
        assert "the server stops" in str(await session.wait_closed())
    assert isinstance(calling.result(), UnreachableError)
    assert "the server stops" in str(calling.result())
    assert isinstance(await _failing(session), UnreachableError)


@pytest.mark.parametrize(
    "hostile", [Tlv(tags.RPC, b"rubbish"), Tlv(tags.RPC_PART, b""), Tlv(9999, b""), Tlv(1, b"\xc1")]
)
async def test_hostile_words_end_the_session(hostile: Tlv, server: SmallServer) -> None:
    session, line = await opened(server)
    async with session:
        line.send(hostile)
        failure = await asyncio.wait_for(session.wait_closed(), PATIENCE_S)
        assert isinstance(failure, RemoteError | UnreachableError)


async def test_unexpected_answers_are_ignored(server: SmallServer) -> None:
    session, line = await opened(server)
    async with session, asyncio.TaskGroup() as tasks:
        line.send(*split(b'{"jsonrpc":"2.0","result":1,"id":99}'))
        line.send(*split(b'{"jsonrpc":"2.0","method":"hello"}'))
        calling = tasks.create_task(session.call("method"))
        await received(line)
        line.send(*split(b'{"jsonrpc":"2.0","result":1,"id":1}'))
    assert calling.result() == 1


async def test_few_calls_wait_at_once(server: SmallServer) -> None:
    session, _ = await opened(server)
    async with session:
        waiting = [
            asyncio.get_running_loop().create_task(_failing(session)) for _ in range(CALLS_MAX)
        ]
        await asyncio.sleep(0)
        with pytest.raises(CongestionError):
            await session.call("one more")
    assert all(isinstance(error, UnreachableError) for error in await asyncio.gather(*waiting))


async def test_closing_sends_the_end(server: SmallServer) -> None:
    """So that the seat is free at once; one that is lost may come back to it."""
    session, line = await opened(server)
    session.notify("bye")
    await session.close()
    assert await received(line) == rpc_message.call("bye")
    tlv = await asyncio.wait_for(line.receive(), PATIENCE_S)
    assert tlv is not None
    assert decode(tlv) == FaultMessage(FaultCode.CLOSING, "done")
    assert await asyncio.wait_for(line.receive(), PATIENCE_S) is None


@pytest.mark.parametrize(
    ("dies", "error"),
    [("connected", UnreachableError), ("arrived", UnreachableError), ("refuses", SeatTakenError)],
)
async def test_a_seat_that_is_not_to_be_had_is_said(
    dies: Death, error: type[RookeryError], server: SmallServer
) -> None:
    server.dies = dies
    with pytest.raises(error):
        await DeviceRpcSession.open(identity("client"), grant(server))


@pytest.mark.parametrize(
    "change", [{"digest40": bytes(32)}, {"key40": bytes(64)}, {"tcp": "nowhere"}, {"tcp": ""}]
)
async def test_a_server_that_is_described_wrongly_is_not_dialled(
    change: dict[str, bytes | str], server: SmallServer
) -> None:
    wrong = msgspec.structs.replace(grant(server), **change)
    with pytest.raises(ProtocolError):
        await DeviceRpcSession.open(identity("client"), wrong)
    assert server.peers == []


@pytest.mark.parametrize("csid", [0x2A, 0x40])
async def test_a_server_is_met_in_the_cipher_set_that_the_hub_names(
    csid: int, server: SmallServer
) -> None:
    key40 = server.identity.keys[0x40] if csid == 0x40 else b""
    told = msgspec.structs.replace(grant(server), key40=key40)
    session = await DeviceRpcSession.open(identity("client"), told)
    line = await asyncio.wait_for(asyncio.shield(server.line), PATIENCE_S)
    assert line.csid == csid
    await session.close()


async def test_an_impostor_gets_no_ticket(server: SmallServer) -> None:
    """Hostile: whoever took the address of the server the hub means."""
    async with SmallServer(name="other") as impostor:
        meant = msgspec.structs.replace(grant(server), tcp=impostor.address.tcp)
        with pytest.raises(UnreachableError):
            await DeviceRpcSession.open(identity("client"), meant)
        assert impostor.arrivals == []
