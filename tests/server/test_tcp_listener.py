"""The listener for hub, devices and clients, on real sockets (F8 to F11)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from rookery.fleet.rpc.dispatcher import Dispatcher
from rookery.fleet.rpc.message import CLIENT_LOST, DEVICE_LOST, TIMED_OUT
from rookery.fleet.rpc.parts import split
from rookery.fleet.rpc.relay import RelayedCall, RelayLimits
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnectionLimits
from rookery.server.settings import ServerListenerLimits
from rookery.wire.fleet import tags
from rookery.wire.fleet.messages import (
    AbandonedMessage,
    ArrivedMessage,
    ArriveMessage,
    AskMessage,
    AttendMessage,
    FaultCode,
    FaultMessage,
    Message,
    RefusedMessage,
    ReleaseMessage,
    ReservedMessage,
    WelcomeMessage,
    encode,
)
from rookery.wire.fleet.tlv import Tlv
from tests.patience import PATIENCE_S
from tests.server.world import CLIENT, DEVICE, HUB, MAC, STRANGER, End, plan, serve, until, world


def call(id_: object, method: str, *params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": id_}


def fault_code(message: Message | None) -> int:
    assert isinstance(message, FaultMessage)
    return message.code


def methods() -> Dispatcher:
    served = Dispatcher()

    @served.method("echo")
    def echo(value: object) -> object:
        return value

    return served


@asynccontextmanager
async def serving(device: End) -> AsyncIterator[None]:
    task = asyncio.get_running_loop().create_task(serve(device, methods()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_f9_f10_f11_a_seat_from_its_reservation_to_the_last_word() -> None:
    async with world() as there:
        planned = plan()
        hub = await there.dial(HUB)
        hub.say(planned.reserve)
        assert await hub.heard() == ReservedMessage("seat-1")
        assert there.sessions.seats.reserved == 1
        device = await there.dial(DEVICE)
        device.say(planned.arrive)
        assert await device.heard() == WelcomeMessage("seat-1", MAC, DEVICE.hashname)
        assert await hub.heard() == ArrivedMessage("seat-1")
        hub.line.close()
        assert there.sessions.seats.used == 1
        client = await there.dial(CLIENT)
        client.say(planned.attend)
        welcome = await client.heard()
        assert isinstance(welcome, WelcomeMessage)
        assert welcome.ticket
        async with serving(device):
            answer = await client.asked(call("a", "echo", {"x": 1}))
            assert answer == {"jsonrpc": "2.0", "result": {"x": 1}, "id": "a"}
        client.line.close()
        device.line.close()
        await until(lambda: there.sessions.seats.free == 4)
    [(seat, audit)] = there.audits
    assert (seat, audit.client, audit.device, audit.method, audit.code) == (
        "seat-1",
        "ann",
        "02:fc:00:00:00:01",
        "echo",
        0,
    )


async def test_f11_batches_notifications_and_large_messages_pass() -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        async with serving(device):
            batch = [call(1, "echo", "x"), call(2, "none"), {"jsonrpc": "2.0", "method": "n"}, 7]
            answers = await client.asked(batch)
            assert {str(each["id"]): "result" in each for each in answers} == {
                "1": True,
                "2": False,
                "None": False,
            }
            large = "x" * 600_000
            assert (await client.asked(call(3, "echo", large)))["result"] == large
        note = {"jsonrpc": "2.0", "method": "log.line", "params": ["boot"]}
        device.send(note)
        assert await client.received() == note
        client.send(note)
        assert await device.received() == note
        assert (await client.asked(b"{"))["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("who", "arrive"),
    [
        (DEVICE, ArriveMessage("seat-1", "wrong")),
        (DEVICE, ArriveMessage("seat-2", "wrong")),
        (STRANGER, None),
        (HUB, None),
    ],
)
async def test_f10_only_the_announced_device_with_its_ticket_arrives(
    who: Identity, arrive: ArriveMessage | None
) -> None:
    async with world() as there:
        planned = plan()
        hub = await there.reserved(planned)
        intruder = await there.dial(who)
        intruder.say(arrive or planned.arrive)
        assert fault_code(await intruder.heard()) == FaultCode.NO_SEAT
        assert await intruder.gone()
        assert there.admission.tally["no_seat"] == 1
        await there.arrived(planned)  # the right one is not hindered
        assert await hub.heard() == ArrivedMessage("seat-1")


async def test_f10_a_device_arrives_once() -> None:
    async with world() as there:
        planned = plan()
        _, device, client = await there.met(planned)
        again = await there.dial(DEVICE)
        again.say(planned.arrive)
        assert fault_code(await again.heard()) == FaultCode.NO_SEAT
        async with serving(device):
            assert (await client.asked(call(1, "echo", 1)))["result"] == 1


async def test_f10_a_device_that_comes_too_late_finds_no_seat_and_the_hub_knows() -> None:
    async with world() as there:
        planned = plan(seconds=1)
        hub = await there.reserved(planned)
        assert await hub.heard() == AbandonedMessage("seat-1", "the router did not arrive in time")
        device = await there.dial(DEVICE)
        device.say(planned.arrive)
        assert fault_code(await device.heard()) == FaultCode.NO_SEAT
        assert there.sessions.seats.free == 4


async def test_f10_a_device_that_leaves_before_its_client_came_is_told_to_the_hub() -> None:
    async with world() as there:
        planned = plan()
        hub = await there.reserved(planned)
        device = await there.arrived(planned)
        assert await hub.heard() == ArrivedMessage("seat-1")
        device.line.close()
        assert await hub.heard() == AbandonedMessage("seat-1", "the router has left")


@pytest.mark.parametrize(
    "attend", [AttendMessage("seat-1", "wrong"), AttendMessage("seat-9", "wrong")]
)
async def test_f11_a_client_needs_the_ticket_of_its_seat(attend: AttendMessage) -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        await there.arrived(planned)
        intruder = await there.dial(STRANGER)
        intruder.say(attend)
        assert fault_code(await intruder.heard()) == FaultCode.NO_SEAT
        assert await intruder.gone()
        await there.attended(planned)


async def test_f11_a_device_cannot_use_its_ticket_as_a_client_nor_a_client_as_a_device() -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        early = await there.dial(CLIENT)
        early.say(planned.attend)
        assert fault_code(await early.heard()) == FaultCode.NO_SEAT  # nobody waits there yet
        await there.arrived(planned)
        for message in (AttendMessage("seat-1", planned.device_ticket), planned.arrive):
            crossed = await there.dial(CLIENT)
            crossed.say(message)
            assert fault_code(await crossed.heard()) == FaultCode.NO_SEAT


async def test_f11_a_client_that_was_lost_returns_with_its_new_ticket_only() -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        device = await there.arrived(planned)
        client = await there.dial(CLIENT)
        client.say(planned.attend)
        welcome = await client.heard()
        assert isinstance(welcome, WelcomeMessage)
        client.send(call(1, "before"))
        lost = await device.received()
        client.line.abort()
        await until(lambda: [audit.code for _, audit in there.audits] == [CLIENT_LOST])
        again = await there.dial(CLIENT)
        again.say(planned.attend)
        assert fault_code(await again.heard()) == FaultCode.NO_SEAT
        back = await there.dial(CLIENT)
        back.say(AttendMessage("seat-1", welcome.ticket))
        assert isinstance(await back.heard(), WelcomeMessage)
        device.send({"jsonrpc": "2.0", "result": "old", "id": lost["id"]})
        async with serving(device):
            assert (await back.asked(call(1, "echo", "new")))["result"] == "new"


async def test_f11_a_client_may_be_back_before_its_old_connection_is_missed() -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        device = await there.arrived(planned)
        client = await there.dial(CLIENT)
        client.say(planned.attend)
        welcome = await client.heard()
        assert isinstance(welcome, WelcomeMessage)
        back = await there.dial(CLIENT)
        back.say(AttendMessage("seat-1", welcome.ticket))
        assert isinstance(await back.heard(), WelcomeMessage)
        assert fault_code(await client.heard()) == FaultCode.NO_SEAT
        async with serving(device):
            assert (await back.asked(call(1, "echo", 1)))["result"] == 1


async def test_f11_a_client_that_does_not_return_frees_the_seat() -> None:
    async with world(linger_s=0.1) as there:
        _, device, client = await there.met(plan())
        client.line.abort()
        assert fault_code(await device.heard()) == FaultCode.NO_SEAT
        assert await device.gone()
        assert there.sessions.seats.free == 4


async def test_f11_a_client_that_says_goodbye_frees_the_seat_at_once() -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        client.say(FaultMessage(FaultCode.CLOSING, "done"))
        assert await device.heard() == FaultMessage(FaultCode.NO_SEAT, "the client is done")
        assert await device.gone()
        assert there.sessions.seats.free == 4


async def test_f11_a_device_that_says_goodbye_is_gone() -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        device.say(FaultMessage(FaultCode.CLOSING, "restarting"))
        assert await client.heard() == FaultMessage(FaultCode.NO_SEAT, "the router has left")


async def test_f11_a_call_that_the_device_does_not_answer_times_out() -> None:
    async with world(relay=RelayLimits(call_s=0.1)) as there:
        _, device, client = await there.met(plan())
        client.send([call(1, "slow"), call(2, "quick")])
        slow, quick = await device.received(), await device.received()
        device.send({"jsonrpc": "2.0", "result": "done", "id": quick["id"]})
        answers = {each["id"]: each for each in await client.received()}
        assert answers[1]["error"]["code"] == TIMED_OUT
        assert answers[2]["result"] == "done"
        device.send({"jsonrpc": "2.0", "result": "late", "id": slow["id"]})
        client.send(call(3, "slow"))
        assert (await client.received())["error"]["code"] == TIMED_OUT


async def test_f11_a_device_lost_in_a_call_is_told_to_the_client() -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        client.send(call("x", "reboot"))
        await device.received()
        device.line.abort()
        answer = await client.received()
        assert (answer["id"], answer["error"]["code"]) == ("x", DEVICE_LOST)
        assert fault_code(await client.heard()) == FaultCode.NO_SEAT
        assert await client.gone()
        assert [audit.code for _, audit in there.audits] == [DEVICE_LOST]


async def test_f9_the_hub_may_give_a_seat_back() -> None:
    async with world() as there:
        hub, device, client = await there.met(plan())
        hub.say(ReleaseMessage("seat-1"), ReleaseMessage("seat-1"), ReleaseMessage("unknown"))
        for end in (device, client):
            assert fault_code(await end.heard()) == FaultCode.NO_SEAT
            assert await end.gone()
        second = plan("seat-2")
        hub.say(second.reserve)
        assert await hub.heard() == ReservedMessage("seat-2")
        assert there.sessions.seats.reserved == 1


async def test_f9_there_are_no_more_seats_than_there_are() -> None:
    async with world(seats_max=2) as there:
        hub = await there.dial(HUB)
        hub.say(*(plan(f"seat-{number}").reserve for number in range(3)))
        assert [type(await hub.heard()) for _ in range(3)] == [
            ReservedMessage,
            ReservedMessage,
            RefusedMessage,
        ]
        hub.say(plan("seat-1").reserve)
        assert isinstance(await hub.heard(), RefusedMessage)


@pytest.mark.parametrize("order", [plan().reserve, ReleaseMessage("seat-1")])
async def test_f9_nobody_but_the_hub_may_reserve_or_release(order: Message) -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        impostor = await there.dial(STRANGER)
        impostor.say(order)
        assert fault_code(await impostor.heard()) == FaultCode.DENIED
        assert await impostor.gone()
        assert there.sessions.seats.reserved == 1


@pytest.mark.parametrize(
    "first",
    [
        encode(AskMessage(1)),
        encode(ReservedMessage("seat-1")),
        encode(WelcomeMessage("seat-1", MAC, DEVICE.hashname)),
        Tlv(tags.RPC, b"{}"),
        Tlv(tags.ARRIVE, b"\xc1"),
        Tlv(60_000, b""),
    ],
)
@pytest.mark.parametrize("who", [HUB, STRANGER])
async def test_whoever_begins_with_something_else_is_closed(who: Identity, first: Tlv) -> None:
    async with world() as there:
        end = await there.dial(who)
        end.line.send(first)
        assert fault_code(await end.heard()) == FaultCode.PROTOCOL
        assert await end.gone()


async def test_f9_a_seat_is_free_again_when_its_hub_is_lost_before_the_device_came() -> None:
    async with world() as there:
        here, lost = plan("seat-1"), plan("seat-2")
        hub = await there.reserved(here)
        device = await there.arrived(here)
        assert await hub.heard() == ArrivedMessage("seat-1")
        hub.say(lost.reserve)
        assert await hub.heard() == ReservedMessage("seat-2")
        hub.say(here.arrive)  # which no hub says
        assert fault_code(await hub.heard()) == FaultCode.PROTOCOL
        assert await hub.gone()
        await until(lambda: there.sessions.seats.free == 3)
        late = await there.dial(DEVICE)
        late.say(lost.arrive)
        assert fault_code(await late.heard()) == FaultCode.NO_SEAT
        client = await there.attended(here)
        async with serving(device):
            assert (await client.asked(call(1, "echo", 1)))["result"] == 1


@pytest.mark.parametrize(
    "tlvs",
    [
        [encode(ReleaseMessage("seat-1"))],
        [Tlv(tags.RPC_PART, b"")],
        [Tlv(tags.RPC_PART, bytes(1 << 15))] * 33,
    ],
)
async def test_a_client_that_breaks_the_rules_loses_its_place(tlvs: list[Tlv]) -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        for tlv in tlvs:
            client.line.send(tlv)
        assert fault_code(await client.heard()) == FaultCode.PROTOCOL
        assert await client.gone()
        assert not device.line.is_closed
        assert there.admission.tally["protocol"] == 1


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\0\2\xff\xff", bytes(5000)])
async def test_rubbish_is_closed_at_once(data: bytes) -> None:
    async with world() as there:
        reader, writer = await asyncio.open_connection(*there.tcp)
        writer.write(data)
        assert await reader.read() == b""
        writer.close()
        await until(lambda: there.admission.tally["rubbish"] == 1)
        await until(lambda: there.admission.count == 0)


async def test_who_proves_nothing_or_says_nothing_in_time_is_closed() -> None:
    async with world(ServerListenerLimits(authenticate_s=0.3)) as there:
        reader, writer = await asyncio.open_connection(*there.tcp)
        writer.write(b"\0\2\1")  # the beginning of a KEY
        silent = await there.dial(STRANGER)
        assert await reader.read() == b""
        assert await silent.gone()
        writer.close()
        assert there.admission.tally["slow"] == 2


async def test_a_client_without_a_sign_of_life_is_closed_a_device_is_not() -> None:
    async with world(ServerListenerLimits(idle_s=0.2), linger_s=60) as there:
        _, device, client = await there.met(plan())
        lively = asyncio.get_running_loop().time() + 0.5
        while asyncio.get_running_loop().time() < lively:
            client.line.send()  # an empty one is a sign of life
            await asyncio.sleep(0.05)
        assert not client.line.is_closed
        assert await client.gone()
        assert not device.line.is_closed


async def test_connections_have_bounds() -> None:
    async with world(ServerListenerLimits(connections_max=3, address_connections_max=2)) as there:
        first, second = await there.dial(STRANGER), await there.dial(STRANGER)
        reader, writer = await asyncio.open_connection(*there.tcp)
        with suppress(ConnectionError):  # the system may call it a reset
            assert await reader.read() == b""
        writer.close()
        assert there.admission.tally["address_full"] == 1
        first.line.close()
        await first.line.wait_closed()
        await until(lambda: there.admission.count == 1)
        await there.dial(STRANGER)
        assert not second.line.is_closed


LAZY = SealedConnectionLimits(
    waiting_max=1, unsent_bytes_max=1 << 30
)  # reads no more than it is asked for


async def test_f11_a_client_that_does_not_read_holds_up_its_device_and_then_is_lost() -> None:
    async with world(ServerListenerLimits(slow_s=0.5)) as there:
        planned = plan()
        await there.reserved(planned)
        device = await there.arrived(planned)
        client = await there.attended(planned, LAZY)
        note = json.dumps({"jsonrpc": "2.0", "method": "n", "params": ["x" * 500_000]}).encode()
        sent = 0

        async def talk() -> None:
            nonlocal sent
            while True:
                device.line.send(*split(note))
                sent += len(note)
                await device.line.drained()

        talking = asyncio.get_running_loop().create_task(talk())
        await until(lambda: there.sessions.tally["slow"] == 1)
        assert sent < 40_000_000  # what systems hold for two connections, and no more
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)
        await until(lambda: there.sessions.seats.used == 1 and there.admission.count == 2)
        assert not device.line.is_closed
        assert not client.line.is_closed  # it has not even noticed


async def test_f11_calls_of_a_client_that_does_not_read_are_not_read_either() -> None:
    """So a thousand answers that nobody takes are never made."""
    calls = 120
    async with world(relay=RelayLimits(calls_max=calls)) as there:
        planned = plan()
        await there.reserved(planned)
        device = await there.arrived(planned)
        client = await there.attended(planned, LAZY)
        async with serving(device):
            for number in range(calls):
                client.send(call(number, "echo", "x" * 200_000))
            await until(lambda: len(there.audits) > 0)
            settled = 0
            while settled != len(there.audits):
                settled = len(there.audits)
                await asyncio.sleep(0.3)
            assert settled < calls
            assert there.sessions.open_calls < calls - settled
            assert [(await client.received())["id"] for _ in range(calls)] == list(range(calls))


async def test_a_server_that_stops_tells_everybody() -> None:
    async with world() as there:
        planned = plan()
        _, device, client = await there.met(planned)
        waiting = plan("seat-2")
        hub = await there.reserved(waiting)
        client.send(call(1, "slow"))
        asked = await device.received()
        draining = asyncio.get_running_loop().create_task(there.sessions.drain(600.0))
        await until(lambda: there.sessions.is_draining)
        hub.say(plan("seat-3").reserve)
        assert await hub.heard() == RefusedMessage("seat-3", "this server is about to stop")
        device.send({"jsonrpc": "2.0", "result": "just in time", "id": asked["id"]})
        assert (await client.received())["result"] == "just in time"
        await asyncio.wait_for(draining, PATIENCE_S)  # and not all of its time
        there.sessions.close()
        await there.listener.close()
        assert await hub.heard() == AbandonedMessage("seat-2", "the server stops")
        for end in (device, client, hub):
            assert fault_code(await end.heard()) == FaultCode.CLOSING
            assert await end.gone()


async def test_audits_never_carry_parameters() -> None:
    async with world() as there:
        _, device, client = await there.met(plan())
        async with serving(device):
            await client.asked(call(1, "echo", "hunter2"))
        [(_, audit)] = there.audits
        assert b"hunter2" not in msgspec.json.encode(audit)
        assert audit == RelayedCall("ann", "02:fc:00:00:00:01", "echo", audit.ms, 0)


async def test_strangers_do_not_keep_out_who_is_expected_at_a_seat() -> None:
    """They shared one budget with devices and clients that the hub had sent."""
    async with world(ServerListenerLimits(knocks_per_s=0.01, knocks_burst=5.0)) as there:
        planned = plan()
        reserve = msgspec.structs.replace(planned.reserve, expected=["192.0.2.1", "192.0.2.2"])
        await there.reserved(type(planned)(reserve, planned.device_ticket, planned.client_ticket))
        now = asyncio.get_running_loop().time()
        strangers = [f"198.51.100.{number}" for number in range(20)]
        admitted = [each for each in strangers if there.admission.admit(each, now)]
        assert len(admitted) < len(strangers)
        for expected in ("192.0.2.1", "192.0.2.2"):
            assert there.admission.admit(expected, now)
            there.admission.let_go(expected)
        for stranger in admitted:
            there.admission.let_go(stranger)
