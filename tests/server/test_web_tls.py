"""WebSockets over TLS: admitted before the handshake, and let go when there is none (M7)."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rookery.runtime.loop import new_event_loop
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.live_context import LiveContext
from rookery.server.settings import ServerListenerLimits
from tests.patience import PATIENCE_S
from tests.server.browser import Browser
from tests.server.test_tcp_listener import call, serving
from tests.server.test_web_listener import first
from tests.server.world import World, plan, until, world

AUTHORITY = CertificateAuthority.make("abcdefgh", time.time())

Run = Callable[[Coroutine[object, object, None]], None]


@pytest.fixture(params=["asyncio", "the one that programs use"])
def run(request: pytest.FixtureRequest) -> Run:
    """Loops differ in how they hand over a connection."""
    factory = asyncio.new_event_loop if request.param == "asyncio" else new_event_loop

    def runner(work: Coroutine[object, object, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as loop:
            loop.run(work)

    return runner


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=AUTHORITY.pem.decode())


@asynccontextmanager
async def secured(folder: Path, limits: ServerListenerLimits | None = None) -> AsyncIterator[World]:
    """The world, with a web listener that speaks TLS."""
    file, live = folder / "tls.pem", LiveContext()
    file.write_bytes(AUTHORITY.credential({"127.0.0.1"}, time.time()).serialize())
    live.load(file)
    async with world(limits) as made:
        await made.web.close()
        made.http = await made.web.listen("127.0.0.1", 0, live.context)
        yield made


def test_a_browser_calls_its_device_over_tls(run: Run, tmp_path: Path) -> None:
    async def work() -> None:
        async with secured(tmp_path) as there:
            planned = plan()
            await there.reserved(planned)
            device = await there.arrived(planned)
            browser = await Browser.open(there.http, tls=trusting())
            assert await browser.accepted() == 101
            browser.send(first(planned))
            assert (await browser.received())["seat"] == "seat-1"
            async with serving(device):
                browser.send(call(1, "echo", "é€😀"))
                assert await browser.received() == {"jsonrpc": "2.0", "result": "é€😀", "id": 1}
            browser.close()

    run(work())


def test_silent_strangers_are_counted_and_end_in_time(run: Run, tmp_path: Path) -> None:
    """Before their handshake: they would otherwise hold any number of connections."""

    async def work() -> None:
        limits = ServerListenerLimits(authenticate_s=0.4, address_connections_max=6)
        async with secured(tmp_path, limits) as there:
            strangers = [await asyncio.open_connection(*there.http) for _ in range(9)]
            await until(lambda: there.admission.tally["address_full"] == 3)
            assert there.admission.count == 6
            async with asyncio.timeout(PATIENCE_S):
                for reader, writer in strangers:
                    with contextlib.suppress(ConnectionError):
                        await reader.read()
                    writer.close()
            await until(lambda: there.admission.count == 0)
            assert there.admission.tally["no_tls"] == 6
            browser = await Browser.open(there.http, tls=trusting())
            assert await browser.accepted() == 101
            browser.close()

    run(work())


def test_what_is_no_tls_is_closed_and_the_listener_stays_open(run: Run, tmp_path: Path) -> None:
    async def work() -> None:
        async with secured(tmp_path) as there:
            for said in (b"GET /healthz HTTP/1.1\r\n\r\n", bytes(300), b"\x16\x03\x01\xff\xff"):
                reader, writer = await asyncio.open_connection(*there.http)
                writer.write(said)
                writer.write_eof()
                async with asyncio.timeout(PATIENCE_S):
                    with contextlib.suppress(ConnectionError):
                        assert b"HTTP" not in await reader.read()
                writer.close()
            await until(lambda: there.admission.tally["no_tls"] == 3 and there.admission.count == 0)
            browser = await Browser.open(there.http, tls=trusting())
            assert await browser.accepted() == 101
            browser.close()

    run(work())
