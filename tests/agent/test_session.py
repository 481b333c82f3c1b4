"""Visits: called, sent on, welcomed, called upon; and every way in which that goes wrong."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from rookery.agent.methods.catalogue import dispatcher
from rookery.agent.methods.config import AgentConfig, ConfigFile
from rookery.agent.methods.exec import ExecAllowList
from rookery.agent.session import AgentSession, AgentSessionLimits, AgentSessions, WishGoneError
from rookery.errors import DeniedError, UnreachableError
from rookery.fleet.rpc.dispatcher import Dispatcher
from rookery.wire.fleet.messages import (
    AskMessage,
    DirectMessage,
    FaultCode,
    FaultMessage,
    WelcomeMessage,
    encode,
)
from rookery.wire.fleet.tlv import Tlv
from tests.agent.eventually import eventually
from tests.agent.identities import identity
from tests.agent.small_hub import SmallHub
from tests.agent.small_server import Death, SmallServer
from tests.patience import PATIENCE_S

WISH = 0x1234_5678_9ABC_DEF0
QUICK = AgentSessionLimits(
    asks_max=3, dial_s=5.0, direct_s=5.0, welcome_s=5.0, backoff_s=0.01, idle_s=30.0
)


@pytest.fixture
async def hub() -> AsyncIterator[SmallHub]:
    async with SmallHub() as hub:
        yield hub


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with SmallServer() as server:
        yield server


def methods() -> Dispatcher:
    return dispatcher(ConfigFile(AgentConfig(), None), ExecAllowList())


def make_session(hub: SmallHub, limits: AgentSessionLimits = QUICK) -> AgentSession:
    return AgentSession(identity("router"), hub.address, methods(), WISH, limits)


async def test_a_called_device_asks_the_hub_and_serves_at_the_server(
    hub: SmallHub, server: SmallServer
) -> None:
    """F9, F10, F11: by ASK and DIRECT to the server, by ARRIVE and WELCOME to its client."""
    hub.answers = [server.direct(WISH)]
    running = asyncio.get_running_loop().create_task(make_session(hub).run())
    info = await server.call("system.info")
    assert isinstance(info, dict)
    assert info["memory_total"] > 0
    assert hub.asks == [AskMessage(WISH)]
    assert [(message.seat, message.ticket) for message in server.arrivals] == [("seat", "ticket")]
    assert server.peers == [identity("router").hashname]
    await server.end()
    await running


async def test_what_is_not_allowed_or_not_there_is_answered_so(
    hub: SmallHub, server: SmallServer
) -> None:
    """F11: exec is refused by default, and the visit goes on."""
    hub.answers = [server.direct(WISH)]
    running = asyncio.get_running_loop().create_task(make_session(hub).run())
    denied = await server.call("exec", {"argv": ["/bin/true"]})
    assert isinstance(denied, dict)
    assert "allow list" in str(denied["data"])
    unknown = await server.call("no.such.method")
    assert isinstance(unknown, dict)
    assert unknown["code"] == -32601
    wrong = await server.call("net.ping", {"host": 7})
    assert isinstance(wrong, dict)
    assert wrong["code"] == -32602
    discovered = await server.call("rpc.discover")
    assert isinstance(discovered, dict)
    names = {method["name"] for method in discovered["methods"]}
    assert names >= {"system.info", "net.ping", "net.resolve", "config.set", "exec"}
    await server.end()
    await running


async def test_calls_run_side_by_side(hub: SmallHub, server: SmallServer) -> None:
    """A slow one does not hold up the next."""
    slow = asyncio.Event()

    async def wait() -> str:
        await slow.wait()
        return "slow"

    made = Dispatcher({"wait": wait})
    hub.answers = [server.direct(WISH)]
    waiting = AgentSession(identity("router"), hub.address, made, WISH, QUICK)
    running = asyncio.get_running_loop().create_task(waiting.run())
    line = await asyncio.wait_for(asyncio.shield(server.line), PATIENCE_S)
    line.send(Tlv(4, b'{"jsonrpc":"2.0","method":"wait","id":"a"}'))
    line.send(Tlv(4, b'{"jsonrpc":"2.0","method":"nothing","id":"b"}'))
    first = await server.answer(line)
    assert isinstance(first, dict)
    assert first["code"] == -32601
    for _ in range(2 * QUICK.calls_max):  # each makes room for the next
        assert isinstance(await server.call("nothing"), dict)
    slow.set()
    assert await server.answer(line) == "slow"
    await server.end()
    await running


@pytest.mark.parametrize("dies", ["connected", "arrived", "refuses", "welcomed"])
async def test_a_server_that_dies_sends_the_device_back_to_the_hub(
    dies: Death, hub: SmallHub, server: SmallServer
) -> None:
    """F9: at each step; the hub names the next server."""
    async with SmallServer(dies, "other") as dying:
        hub.answers = [dying.direct(WISH), server.direct(WISH)]
        running = asyncio.get_running_loop().create_task(make_session(hub).run())
        assert await server.call("system.uptime")
        assert len(hub.asks) == 2
        assert dying.peers == [identity("router").hashname]
        await server.end()
        await running


async def test_a_server_that_is_not_there_sends_it_back(hub: SmallHub, server: SmallServer) -> None:
    async with SmallServer(name="other") as gone:
        away = gone.direct(WISH)
    hub.answers = [away, server.direct(WISH)]
    running = asyncio.get_running_loop().create_task(make_session(hub).run())
    assert await server.call("system.uptime")
    await server.end()
    await running


@pytest.mark.parametrize("csid", [0x2A, 0x40])
async def test_a_server_is_met_in_the_cipher_set_that_the_hub_names(
    csid: int, hub: SmallHub, server: SmallServer
) -> None:
    key40 = server.identity.keys[0x40] if csid == 0x40 else b""
    told = msgspec.structs.replace(server.address, key40=key40)
    hub.answers = [DirectMessage(WISH, "seat", told, "ticket")]
    running = asyncio.get_running_loop().create_task(make_session(hub).run())
    assert await server.call("system.uptime")
    assert server.line.result().csid == csid
    await server.end()
    await running


async def test_a_server_with_other_keys_is_not_served(hub: SmallHub, server: SmallServer) -> None:
    """Hostile: whoever took the address of the server the hub means gets nothing."""
    async with SmallServer(name="other") as impostor:
        meant = msgspec.structs.replace(server.address, tcp=impostor.address.tcp)
        hub.answers = [DirectMessage(WISH, "seat", meant, "ticket")]
        with pytest.raises(WishGoneError):
            await make_session(hub).run()
        assert impostor.arrivals == []


@pytest.mark.parametrize("field", ["digest40", "key40", "tcp"])
async def test_a_server_that_is_described_wrongly_is_not_dialled(
    field: str, hub: SmallHub, server: SmallServer
) -> None:
    wrong = {"digest40": bytes(32), "key40": bytes(64), "tcp": "nowhere"}[field]
    described = msgspec.structs.replace(server.address, **{field: wrong})
    hub.answers = [DirectMessage(WISH, "seat", described, "ticket")]
    with pytest.raises(WishGoneError):
        await make_session(hub).run()
    assert server.peers == []


async def test_a_wish_that_is_gone(hub: SmallHub) -> None:
    with pytest.raises(WishGoneError, match="nobody wishes"):
        await make_session(hub).run()
    assert len(hub.asks) == 1


async def test_a_device_that_is_denied_does_not_insist(hub: SmallHub) -> None:
    hub.answers = [
        FaultMessage(FaultCode.DENIED, "not you"),
        FaultMessage(FaultCode.DENIED, "not you"),
    ]
    with pytest.raises(DeniedError, match="not you"):
        await make_session(hub).run()
    assert len(hub.asks) == 1


@pytest.mark.parametrize(
    "answer",
    [
        None,
        FaultMessage(FaultCode.BUSY, "later"),
        WelcomeMessage("seat", bytes(6), "a" * 52),
        "another wish",
    ],
)
async def test_asking_has_an_end(
    answer: FaultMessage | WelcomeMessage | str | None, hub: SmallHub, server: SmallServer
) -> None:
    """Bounded, whatever the hub says instead of an answer."""
    said = server.direct(WISH + 1) if isinstance(answer, str) else answer
    hub.answers = [said] * 5
    with pytest.raises(UnreachableError, match="gave up after 3"):
        await make_session(hub).run()
    assert len(hub.asks) == 3
    assert server.peers == []


async def test_a_hub_that_is_away_is_asked_again(hub: SmallHub, server: SmallServer) -> None:
    hub.answers = [server.direct(WISH)]
    await hub.go()
    patient = msgspec.structs.replace(QUICK, asks_max=50, backoff_s=0.05, backoff_s_max=0.05)
    running = asyncio.get_running_loop().create_task(make_session(hub, patient).run())
    await asyncio.sleep(0.1)
    await hub.come()
    assert await server.call("system.uptime")
    await server.end()
    await running


async def test_a_server_that_says_nothing_is_left(hub: SmallHub, server: SmallServer) -> None:
    hub.answers = [server.direct(WISH)]
    impatient = msgspec.structs.replace(QUICK, idle_s=0.05)
    with pytest.raises(WishGoneError):
        await make_session(hub, impatient).run()
    assert len(hub.asks) == 2


@pytest.mark.parametrize(
    "hostile",
    [
        Tlv(4, b"not json"),
        Tlv(5, b""),
        Tlv(9999, b"?"),
        Tlv(1, b"\xc1"),
        encode(WelcomeMessage("seat", bytes(6), "a" * 52)),
    ],
)
async def test_hostile_words_of_a_server_do_not_harm(
    hostile: Tlv, hub: SmallHub, server: SmallServer
) -> None:
    hub.answers = [server.direct(WISH)]
    running = asyncio.get_running_loop().create_task(make_session(hub).run())
    line = await asyncio.wait_for(asyncio.shield(server.line), PATIENCE_S)
    line.send(hostile)
    if hostile.tag == 4:
        answer = await server.answer(line)
        assert isinstance(answer, dict)
        assert answer["code"] == -32700
        await server.end()
        await running
    else:
        with pytest.raises(WishGoneError):
            await running


async def test_one_session_for_a_wish_and_few_in_all(hub: SmallHub) -> None:
    begun: list[int] = []

    def begin(wish: int) -> AgentSession:
        begun.append(wish)
        return AgentSession(identity("router"), hub.address, methods(), wish, QUICK)

    sessions = AgentSessions(begin, msgspec.structs.replace(QUICK, sessions_max=2))
    for wish in (1, 1, 2, 3):
        sessions.called(wish)
    assert begun == [] or begun == [1, 2]
    await eventually(lambda: sessions.running == 0)
    assert begun == [1, 2]
    assert sessions.tally == {"repeated": 1, "too_many": 1, "not_wanted": 2}
    sessions.called(3)
    await sessions.close()
    assert sessions.running == 0
