"""The web listener: WebSocket and pages, on real sockets (F11)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from wsproto.events import Pong

from rookery.fleet.rpc.message import MESSAGE_SIZE_MAX
from rookery.server.settings import ServerListenerLimits
from rookery.server.web_connection import FIRST_SIZE_MAX
from rookery.wire.fleet.messages import FaultCode, FaultMessage
from tests.server.browser import Browser
from tests.server.test_tcp_listener import call, serving
from tests.server.world import DEVICE, MAC, End, Plan, World, plan, until, world


@asynccontextmanager
async def browsing(there: World) -> AsyncIterator[tuple[Browser, End]]:
    """A browser and its device, in their places."""
    planned = plan()
    await there.reserved(planned)
    device = await there.arrived(planned)
    browser = await Browser.open(there.http)
    try:
        assert await browser.accepted() == 101
        browser.send(first(planned))
        await browser.received()
        yield browser, device
    finally:
        browser.close()


def first(planned: Plan) -> dict[str, str]:
    return {"seat": planned.reserve.seat, "ticket": planned.client_ticket}


async def test_f11_a_browser_calls_its_device() -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        device = await there.arrived(planned)
        browser = await Browser.open(there.http, "/rpc?ignored=1")
        assert await browser.accepted() == 101
        browser.send(first(planned))
        welcome = await browser.received()
        assert welcome == {
            "seat": "seat-1",
            "mac": MAC.hex(":"),
            "router": DEVICE.hashname,
            "ticket": welcome["ticket"],
            "seconds": 60,
        }
        async with serving(device):
            browser.send(call(1, "echo", "é€😀"))
            assert await browser.received() == {"jsonrpc": "2.0", "result": "é€😀", "id": 1}
            large = "x" * 600_000
            browser.send([call(2, "echo", large), call(3, "none")], parts=7)
            answers = {each["id"]: each for each in await browser.received()}
            assert answers[2]["result"] == large
            assert answers[3]["error"]["code"] == -32601
        device.send({"jsonrpc": "2.0", "method": "note"})
        assert await browser.received() == {"jsonrpc": "2.0", "method": "note"}
        browser.send("no JSON")
        assert (await browser.received())["error"]["code"] == -32700
        browser.leave(1001)
        await browser.closed()
        browser.close()
        await until(lambda: there.admission.count == 2)
        back = await Browser.open(there.http)
        assert await back.accepted() == 101
        back.send({"seat": "seat-1", "ticket": welcome["ticket"]})
        assert (await back.received())["ticket"] != welcome["ticket"]
        back.leave(1000)
        assert await device.heard() == FaultMessage(FaultCode.NO_SEAT, "the client is done")
        back.close()


@pytest.mark.parametrize(
    "said",
    [
        {"seat": "seat-1", "ticket": "wrong"},
        {"seat": "seat-9", "ticket": "wrong"},
        {"seat": "seat-1"},
        {"seat": 1, "ticket": "x"},
        call(1, "echo"),
        [],
        "rubbish",
        "x" * 1000,
    ],
)
async def test_f11_without_the_ticket_there_is_nothing(said: object) -> None:
    async with world() as there:
        planned = plan()
        await there.reserved(planned)
        await there.arrived(planned)
        browser = await Browser.open(there.http)
        assert await browser.accepted() == 101
        browser.send(said)
        assert await browser.closed() == 4000 + FaultCode.NO_SEAT
        browser.close()
        assert there.admission.tally["no_seat"] == 1


async def test_a_stranger_is_heard_for_a_kilobyte_and_no_longer() -> None:
    """Else a few could have a server keep a megabyte each, whatever they are."""
    async with world() as there:
        for is_finished in (True, False):
            browser = await Browser.open(there.http)
            assert await browser.accepted() == 101
            browser.send("x" * (FIRST_SIZE_MAX + 1), is_finished=is_finished)
            assert await browser.closed() == 1009
            browser.close()
        await until(lambda: there.admission.tally["rubbish"] == 2)


async def test_f11_a_ticket_opens_once() -> None:
    async with world() as there:
        async with browsing(there):
            pass
        again = await Browser.open(there.http)
        await again.accepted()
        again.send({"seat": "seat-1", "ticket": "used"})
        assert await again.closed() == 4000 + FaultCode.NO_SEAT
        again.close()


async def test_f11_a_browser_is_told_when_its_device_is_lost() -> None:
    async with world() as there, browsing(there) as (browser, device):
        browser.send(call(1, "reboot"))
        await device.received()
        device.line.abort()
        assert (await browser.received())["error"]["code"] == -32001
        assert await browser.closed() == 4000 + FaultCode.NO_SEAT


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/rpc", "https://hub.example", 101),
        ("/rpc", "https://evil.example", 403),
        ("/rpc", "null", 403),
        ("/rpc", "", 403),
        ("/other", "https://hub.example", 404),
    ],
)
async def test_pages_of_others_open_no_websocket_where_origins_are_named(
    path: str, origin: str, status: int
) -> None:
    async with world() as there:
        browser = await Browser.open(there.http, path, origin)
        assert await browser.accepted() == status
        browser.close()


async def test_binary_and_endless_messages_are_refused() -> None:
    async with world() as there, browsing(there) as (browser, _):
        browser.send_bytes(b"x")
        assert await browser.closed() == 1003
    async with world() as there, browsing(there) as (browser, device):
        browser.send(json.dumps("x" * (MESSAGE_SIZE_MAX - 2)))
        assert (await browser.received())["error"]["code"] == -32600
        browser.send("x" * (MESSAGE_SIZE_MAX + 1), parts=4)
        assert await browser.closed() == 1009
        assert not device.line.is_closed


async def test_a_message_without_end_is_refused_before_it_is_kept() -> None:
    async with world() as there, browsing(there) as (browser, _):
        browser.send("x" * (MESSAGE_SIZE_MAX + 1), is_finished=False)
        assert await browser.closed() == 1009


async def test_what_is_counted_are_bytes() -> None:
    async with world() as there, browsing(there) as (browser, _):
        browser.send("é" * (MESSAGE_SIZE_MAX // 2 + 1))
        assert await browser.closed() == 1009


async def test_broken_frames_close() -> None:
    async with world() as there, browsing(there) as (browser, _):
        browser.send_raw(b"\xff" * 100)
        assert await browser.closed() in (1002, None)


async def test_who_does_not_take_a_seat_in_time_is_closed() -> None:
    async with world(ServerListenerLimits(authenticate_s=0.2)) as there:
        dripping, writer = await asyncio.open_connection(*there.http)
        writer.write(b"GET /rpc HTTP/1.1\r\nHost: a\r\n")
        silent = await Browser.open(there.http)
        assert await silent.accepted() == 101
        assert await silent.closed() == 4000 + FaultCode.PROTOCOL
        assert await dripping.read() == b""
        writer.close()
        silent.close()
        assert there.admission.tally["slow"] == 2


async def test_pings_are_answered_and_silence_is_not_taken_for_life() -> None:
    async with (
        world(ServerListenerLimits(ping_s=0.1)) as there,
        browsing(there) as (browser, device),
    ):
        browser.ping()
        assert isinstance(await browser.event(), Pong)
        async with serving(device):
            waiting = asyncio.get_running_loop().create_task(browser.received())
            await until(lambda: browser.pings > 4)  # longer than a silent one is borne with
            browser.send(call(1, "echo", 1))
            assert (await waiting)["result"] == 1
        browser.answers_pings = False
        assert await browser.closed() == 4000 + FaultCode.PROTOCOL
        assert there.admission.tally["slow"] == 1


async def test_f11_a_browser_that_does_not_read_is_lost_in_the_end() -> None:
    async with world(ServerListenerLimits(slow_s=0.3)) as there, browsing(there) as (_, device):
        note = {"jsonrpc": "2.0", "method": "n", "params": ["x" * 500_000]}

        async def talk() -> None:
            while True:
                device.send(note)
                await device.line.drained()

        talking = asyncio.get_running_loop().create_task(talk())
        await until(lambda: there.sessions.tally["slow"] == 1)
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)
        await until(lambda: there.admission.count == 2)


async def asked(place: tuple[str, int], request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*place)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /page HTTP/1.1", b"200"),
        (b"GET /page?x=1 HTTP/1.1", b"200"),
        (b"GET /none HTTP/1.1", b"404"),
        (b"GET /rpc HTTP/1.1", b"404"),
        (b"POST /page HTTP/1.1", b"405"),
        (b"rubbish", b"400"),
        (b"GET /rpc HTTP/1.1\r\nUpgrade: websocket\r\nOrigin: https://hub.example", b"400"),
    ],
)
async def test_pages_are_answered_and_everything_else_refused(
    request_line: bytes, status: bytes
) -> None:
    async with world() as there:
        answer = await asked(there.http, request_line + b"\r\nHost: a\r\n\r\n")
        assert answer.split()[1] == status
        assert (b"/page" in answer.partition(b"\r\n\r\n")[2]) == (status == b"200")


async def test_a_head_without_end_is_refused() -> None:
    async with world() as there:
        assert (await asked(there.http, b"GET /" + b"x" * 10_000)).split()[1] == b"431"
        assert there.admission.tally["rubbish"] == 1


async def test_a_server_that_stops_tells_browsers() -> None:
    async with world() as there, browsing(there) as (browser, _):
        idle = await Browser.open(there.http)
        assert await idle.accepted() == 101
        there.sessions.close()
        await there.web.close()
        assert await browser.closed() == 4000 + FaultCode.CLOSING
        assert await idle.closed() == 4000 + FaultCode.CLOSING
        idle.close()
