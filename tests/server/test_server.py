"""The whole server: listeners, reports to a hub over UDP, pages, the program (F5, F9 to F11)."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from rookery.errors import UnreachableError, UsageError
from rookery.fleet.entry import server_id
from rookery.fleet.rpc.parts import RpcJoiner, split
from rookery.fleet.rpc.relay import RelayedCall
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.server.reports import AUDITS_MAX, ServerReports
from rookery.server.server import Server
from rookery.server.settings import ServerSettings
from rookery.wire.fleet.messages import (
    FaultCode,
    FaultMessage,
    Message,
    ReservedMessage,
    WelcomeMessage,
    decode,
    encode,
)
from rookery.wire.fleet.telemetry import LoadReport
from tests.fleet.identities import ACCEPTOR
from tests.patience import PATIENCE_S
from tests.server.browser import Browser
from tests.server.hub_reports import FakeReportHub
from tests.server.test_web_listener import asked
from tests.server.world import CLIENT, DEVICE, HUB, plan, until


@asynccontextmanager
async def report_hub() -> AsyncIterator[FakeReportHub]:
    hub = await FakeReportHub.open()
    try:
        yield hub
    finally:
        await hub.close()


@asynccontextmanager
async def running(settings: ServerSettings, hub: FakeReportHub) -> AsyncIterator[Server]:
    server = await Server.start(settings, ACCEPTOR, hub.address)
    try:
        yield server
    finally:
        await server.close()


def place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.rpartition("/")[2], int(port)


async def dialled(who: Identity, tcp: str, *messages: Message) -> SealedConnection:
    line = await SealedConnection.dial(
        who, ACCEPTOR.hashname, ACCEPTOR.keys, *place(tcp), timeout_s=PATIENCE_S
    )
    line.send(*map(encode, messages))
    return line


async def heard(line: SealedConnection) -> Message | None:
    async with asyncio.timeout(PATIENCE_S):
        tlv = await line.receive()
    return None if tlv is None else decode(tlv)


async def test_f5_a_server_with_a_code_enrols_and_reports_its_load(tmp_path: Path) -> None:
    async with report_hub() as hub:
        settings = ServerSettings(
            folder=tmp_path, code=hub.code(), seats_max=7, report_s=0.05, http="127.0.0.1:0"
        )
        async with running(settings, hub) as server:
            await until(lambda: len(hub.loads) > 2)
            load = hub.loads[-1]
            assert (load.seats_max, load.seats_used, load.tcp) == (7, 0, server.tcp)
            assert load.key2a == ACCEPTOR.keys[0x2A]
            assert load.ws == server.ws
            assert 0.0 < load.mem < 1.0
            assert load.t > 1_700_000_000_000
            assert hub.entries[server_id(ACCEPTOR.hashname)].kind == "server"
            planned = plan()
            at_hub = await dialled(HUB, server.tcp, planned.reserve)
            assert await heard(at_hub) == ReservedMessage("seat-1")
            device = await dialled(DEVICE, server.tcp, planned.arrive)
            await until(lambda: hub.loads[-1].seats_used == 1)
            device.abort()
            at_hub.abort()
        await until(lambda: hub.loads[-1].seats_max == 0)  # its last word


async def test_f11_every_call_is_reported_to_the_hub_without_its_parameters(tmp_path: Path) -> None:
    async with report_hub() as hub:
        settings = ServerSettings(folder=tmp_path, code=hub.code())
        async with running(settings, hub) as server:
            planned = plan()
            at_hub = await dialled(HUB, server.tcp, planned.reserve)
            await heard(at_hub)
            device = await dialled(DEVICE, server.tcp, planned.arrive)
            assert isinstance(await heard(device), WelcomeMessage)
            client = await dialled(CLIENT, server.tcp, planned.attend)
            assert isinstance(await heard(client), WelcomeMessage)
            for number in range(40):
                call = {"jsonrpc": "2.0", "method": f"m{number}", "params": ["x"], "id": number}
                client.send(*split(json.dumps(call).encode()))
                passed = json.loads(await joined(device))
                answer = {"jsonrpc": "2.0", "result": 1, "id": passed["id"]}
                device.send(*split(json.dumps(answer).encode()))
                await joined(client)
            await until(lambda: len(hub.calls) == 40)
            for line in (at_hub, device, client):
                line.abort()
    assert [call.method for call in hub.calls] == [f"m{number}" for number in range(40)]
    assert {(call.who, call.router, call.code, call.seat) for call in hub.calls} == {
        ("ann", "02:fc:00:00:00:01", 0, "seat-1")
    }


async def test_p2_every_seat_that_ended_is_reported_to_the_hub(tmp_path: Path) -> None:
    """One that was used, and one whose device never came."""
    async with report_hub() as hub:
        settings = ServerSettings(folder=tmp_path, code=hub.code())
        async with running(settings, hub) as server:
            planned = plan()
            at_hub = await dialled(HUB, server.tcp, planned.reserve)
            await heard(at_hub)
            device = await dialled(DEVICE, server.tcp, planned.arrive)
            await heard(device)
            client = await dialled(CLIENT, server.tcp, planned.attend)
            await heard(client)
            client.send(*split(b'{"jsonrpc":"2.0","method":"m","id":1}'))
            passed = await joined(device)
            answer = b'{"jsonrpc":"2.0","result":1,"id":%d}' % json.loads(passed)["id"]
            device.send(*split(answer))
            await joined(client)
            device.abort()
            await until(lambda: len(hub.sessions) == 1)
            await heard(client)
            client.abort()
            at_hub.send(encode(plan(seat="seat-2").reserve))
            await heard(at_hub)
            at_hub.abort()
            await until(lambda: len(hub.sessions) == 2)
    used, unused = hub.sessions
    assert used == msgspec.structs.replace(
        used,
        seat="seat-1",
        who="ann",
        router="02:fc:00:00:00:01",
        server=ACCEPTOR.hashname,
        reason="the router has left",
        sent_bytes=len(passed),
        received_bytes=len(answer),
    )
    assert used.opened_at <= used.closed_at == used.t
    assert (unused.seat, unused.reason, unused.sent_bytes) == ("seat-2", "the hub has gone", 0)


async def joined(line: SealedConnection) -> bytes:
    joiner = RpcJoiner()
    async with asyncio.timeout(PATIENCE_S):
        while (tlv := await line.receive()) is not None:
            if (message := joiner.add(tlv)) is not None:
                return message
    raise AssertionError("closed")


async def test_a_server_without_a_code_is_not_ready(tmp_path: Path) -> None:
    async with report_hub() as hub:
        settings = ServerSettings(folder=tmp_path, http="127.0.0.1:0")
        async with running(settings, hub) as server:
            assert server.http is not None
            await until(lambda: server.counters()["reports"][2].get("refused denied", 0) > 0)
            answer = await asked(place(server.http), b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b" 503 " in answer
            assert b"the hub does not know it yet" in answer
            answer = await asked(place(server.http), b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b" 200 " in answer
        assert hub.entries == {}


async def test_its_pages_tell_how_it_is(tmp_path: Path) -> None:
    async with report_hub() as hub:
        settings = ServerSettings(folder=tmp_path, http="127.0.0.1:0", code=hub.code(), seats_max=9)
        async with running(settings, hub) as server:
            assert server.http is not None
            await until(lambda: not server.problems)
            answer = await asked(place(server.http), b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b" 200 " in answer
            answer = await asked(place(server.http), b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"rookery_server_seats_max 9.0" in answer
            assert b"rookery_server_ready 1.0" in answer
            assert b'rookery_server_reports_total{what="loads"} 1.0' in answer
            answer = await asked(place(server.http), b"GET /else HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b" 404 " in answer


async def test_f5_a_server_that_starts_again_needs_no_code(tmp_path: Path) -> None:
    async with report_hub() as hub:
        async with running(ServerSettings(folder=tmp_path, code=hub.code()), hub):
            await until(lambda: len(hub.loads) == 1)
        async with running(ServerSettings(folder=tmp_path), hub):
            await until(lambda: hub.loads[-1].seats_max > 0 and len(hub.loads) > 2)


async def test_f5_calls_that_the_hub_did_not_hear_of_are_told_after_a_restart(
    tmp_path: Path,
) -> None:
    async with report_hub() as hub:
        async with running(ServerSettings(folder=tmp_path, code=hub.code()), hub) as server:
            await until(lambda: len(hub.loads) == 1)
            hub.is_silent = True
            planned = plan()
            at_hub = await dialled(HUB, server.tcp, planned.reserve)
            await heard(at_hub)
            device = await dialled(DEVICE, server.tcp, planned.arrive)
            await heard(device)
            client = await dialled(CLIENT, server.tcp, planned.attend)
            await heard(client)
            client.send(*split(b'{"jsonrpc":"2.0","method":"reboot"}'))
            await joined(device)
            for line in (at_hub, device, client):
                line.abort()
        assert hub.calls == []
        hub.is_silent = False
        async with running(ServerSettings(folder=tmp_path), hub):
            await until(lambda: [call.method for call in hub.calls] == ["reboot"])


async def test_audits_that_wait_have_a_bound(tmp_path: Path) -> None:
    async with report_hub() as hub:
        hub.is_silent = True
        reports = await ServerReports.open(ACCEPTOR, hub.address, tmp_path, None, load, 20.0)
        for number in range(AUDITS_MAX + 3):
            reports.audit("seat-1", RelayedCall("ann" * 200, "mac", "m" * 200, number, 0))
        assert reports.waiting == AUDITS_MAX
        assert reports.tally["dropped"] == 3
        await reports.close()


def load() -> LoadReport:
    return LoadReport(t=1, seats_max=1, seats_used=0, tcp="", key2a=b"")


@pytest.mark.parametrize(
    ("advertise", "tcp"),
    [
        ("", "127.0.0.1:{port}"),
        ("192.0.2.7", "192.0.2.7:{port}"),
        ("192.0.2.7:4433", "192.0.2.7:4433"),
        ("2001:db8::7", "[2001:db8::7]:{port}"),
        ("[2001:db8::7]", "[2001:db8::7]:{port}"),
        ("[2001:db8::7]:4433", "[2001:db8::7]:4433"),
    ],
)
async def test_others_are_told_the_address_that_leads_here(
    advertise: str, tcp: str, tmp_path: Path
) -> None:
    async with report_hub() as hub:
        settings = ServerSettings(folder=tmp_path, advertise=advertise, http="127.0.0.1:0")
        async with running(settings, hub) as server:
            assert server.tcp == tcp.format(port=server.port)
            host = tcp.rpartition(":")[0]
            assert server.ws.startswith(f"ws://{host}:")


async def test_keys_of_both_sets_are_needed(tmp_path: Path) -> None:
    async with report_hub() as hub:
        half = Identity({0x40: ACCEPTOR.pairs[0x40]})
        with pytest.raises(UsageError, match="40 and 2a"):
            await Server.start(ServerSettings(folder=tmp_path), half, hub.address)


async def test_a_port_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    async with report_hub() as hub, running(ServerSettings(folder=tmp_path), hub) as server:
        settings = ServerSettings(folder=tmp_path / "b", http=server.tcp)
        with pytest.raises(UsageError, match="already in use"):
            await Server.start(settings, ACCEPTOR, hub.address)


async def test_the_program_says_where_it_is_and_leaves_in_good_order(tmp_path: Path) -> None:
    """SIGTERM: peers are told, and it is over within five seconds."""
    folder = tmp_path / "server"
    keystore.save(folder, ACCEPTOR)
    async with report_hub() as hub:
        (tmp_path / "hub.link").write_text(json.dumps(hub.link.json()))
        (tmp_path / "code").write_text(f"{hub.code()}\n")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from rookery.cli.main import run; run()",
            "server", "--hub", str(tmp_path / "hub.link"), "--id", str(folder),
            "--code-file", str(tmp_path / "code"), "--http", "127.0.0.1:0", "--seats", "3",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = json.loads(await asyncio.wait_for(process.stdout.readline(), PATIENCE_S))
            assert line["hashname"] == ACCEPTOR.hashname
            assert line["ws"].endswith("/rpc")
            await until(lambda: len(hub.loads) == 1)
            planned = plan()
            at_hub = await dialled(HUB, line["tcp"], planned.reserve)
            assert await heard(at_hub) == ReservedMessage("seat-1")
            device = await dialled(DEVICE, line["tcp"], planned.arrive)
            assert isinstance(await heard(device), WelcomeMessage)
            browser = await Browser.open(place(line["http"]), origin="")
            assert await browser.accepted() == 101
            browser.send({"seat": "seat-1", "ticket": planned.client_ticket})
            assert (await browser.received())["seat"] == "seat-1"
            process.send_signal(signal.SIGTERM)
            assert await browser.closed() == 4000 + FaultCode.CLOSING
            browser.close()
            fault = await heard(device)
            assert isinstance(fault, FaultMessage)
            assert fault.code == FaultCode.CLOSING
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
            await until(lambda: hub.loads[-1].seats_max == 0)
            for end in (at_hub, device):
                end.abort()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def test_it_says_that_it_takes_cipher_set_40_and_insists_where_the_hub_does(
    tmp_path: Path,
) -> None:
    """Who has the RSA key of the hub alone reserves no seat."""
    async with report_hub() as hub:
        link = msgspec.structs.replace(hub.link, stream=0x40)
        settings = ServerSettings(folder=tmp_path, code=hub.code(), report_s=0.05)
        server = await Server.start(settings, ACCEPTOR, HubAddress(link))
        try:
            await until(lambda: bool(hub.loads))
            assert hub.loads[-1].stream == 0x40
            thief = {0x2A: ACCEPTOR.keys[0x2A]}
            with pytest.raises(UnreachableError):
                await SealedConnection.dial(
                    HUB, ACCEPTOR.hashname, thief, *place(server.tcp), timeout_s=PATIENCE_S
                )
            at_hub = await dialled(HUB, server.tcp, plan().reserve)
            assert await heard(at_hub) == ReservedMessage("seat-1")
            assert at_hub.csid == 0x40
            # Others come as they always did.
            line = await SealedConnection.dial(
                DEVICE, ACCEPTOR.hashname, thief, *place(server.tcp), timeout_s=PATIENCE_S
            )
            assert line.csid == 0x2A
            line.abort()
            at_hub.abort()
        finally:
            await server.close()
