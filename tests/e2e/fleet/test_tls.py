"""A fleet over TLS by its own authority: hub, server, agent and clients as programs (M7)."""

import asyncio
import json
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from rookery.cli.fleet.hub_access import SignInOptions
from rookery.client.api import HubApi
from rookery.client.known_hubs import KnownHubs
from rookery.fleet.rendezvous.wish import Grant
from rookery.wire.fleet.mac import parse_mac
from tests.cli.fleet.tls_hub import AutoHub, auto_hub, sign_in
from tests.cli.program import Running, rookery, running
from tests.patience import PATIENCE_S
from tests.server.browser import Browser

MAC = "02:fc:00:00:00:01"


class Fleet(NamedTuple):
    folder: Path
    hub: AutoHub
    server: dict[str, str]  # what it printed

    @property
    def ann(self) -> Path:
        return self.folder / "ann"

    @property
    def trusting(self) -> ssl.SSLContext:
        """As somebody who pinned the authority; an independent look at every chain."""
        pinned = KnownHubs(self.ann).authority(self.hub.url)
        context = ssl.create_default_context(cadata=pinned)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context


@contextmanager
def server_of(folder: Path, *options: str) -> Iterator[tuple[Running, dict[str, str]]]:
    places = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with running(
        *("server", "--hub", folder / "hub.link", "--id", folder / "server"), *places, *options
    ) as server:
        yield server, json.loads(server.line())


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("tls")
    with auto_hub(folder / "hub") as hub:
        (folder / "hub.link").write_text(hub.link)
        made = sign_in(hub.url, folder / "ann", "--register", "--fingerprint", hub.fingerprint)
        assert made.code == 0, made.err
        code = rookery("fleet", "code", "--server", "--data", folder / "hub").out
        (folder / "server.code").write_text(code)
        options = ("--code-file", str(folder / "server.code"), "--tls", "auto")
        with server_of(folder, *options) as (_, told):
            claim = ("fleet", "code", "--router", "--owner", "ann", "--data", folder / "hub")
            (folder / "router.code").write_text(rookery(*claim).out)
            agent = ("agent", "--hub", folder / "hub.link", "--id", folder / "router")
            with running(
                *agent, "--mac", MAC, "--interval", "1", "--claim-file", folder / "router.code"
            ):
                yield Fleet(folder, hub, told)


async def ready(fleet: Fleet, url: str) -> None:
    """Wait for the server to have its certificate, and for the hub to know it."""

    def look() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/readyz", context=fleet.trusting) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(look):  # noqa: ASYNC110 - a process of its own
            await asyncio.sleep(0.1)


async def enrolled(api: HubApi) -> None:
    """Wait for the device to be ann's."""
    async with asyncio.timeout(PATIENCE_S):
        while not await api.devices():  # noqa: ASYNC110 - a process of its own
            await asyncio.sleep(0.1)


async def granted(fleet: Fleet) -> Grant:
    """A seat with the device, by the API over the pinned connection."""
    api = SignInOptions(data=fleet.ann).api()
    await enrolled(api)
    async for step in api.connect(parse_mac(MAC)):
        if step.grant is not None:
            return step.grant
    raise AssertionError("no grant")


async def test_a_browser_reaches_the_device_over_wss_by_the_hubs_authority(fleet: Fleet) -> None:
    assert fleet.server["http"].startswith("https://")
    assert fleet.server["ws"].startswith("wss://")
    await ready(fleet, fleet.server["http"])
    grant = await granted(fleet)
    assert grant.ws == fleet.server["ws"]
    place = urlsplit(grant.ws)
    assert place.hostname is not None
    assert place.port is not None
    browser = await Browser.open(
        (place.hostname, place.port), place.path, fleet.hub.url, tls=fleet.trusting
    )
    assert await browser.accepted() == 101
    browser.send({"seat": grant.seat, "ticket": grant.ticket})
    assert (await browser.received())["mac"] == MAC
    browser.send({"jsonrpc": "2.0", "method": "system.uptime", "id": 1})
    assert (await browser.received())["id"] == 1
    browser.close()


async def test_the_command_line_calls_the_device_with_the_pin_alone(fleet: Fleet) -> None:
    await ready(fleet, fleet.server["http"])
    await enrolled(SignInOptions(data=fleet.ann).api())
    called = await asyncio.to_thread(rookery, "rpc", MAC, "system.uptime", "--data", fleet.ann)
    assert called.code == 0, called.err


def handshake(place: str, ca: Path) -> str:
    """As openssl tells of it."""
    options = ("-verify_ip", "127.0.0.1", "-verify_return_error", "-x509_strict")
    done = subprocess.run(
        ["openssl", "s_client", "-connect", place, "-CAfile", str(ca), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr


async def test_the_chain_of_both_is_good_to_openssl(fleet: Fleet) -> None:
    await ready(fleet, fleet.server["http"])
    ca = fleet.folder / "pinned.pem"
    ca.write_text(KnownHubs(fleet.ann).authority(fleet.hub.url))
    for url in (fleet.hub.url, fleet.server["http"]):
        told = await asyncio.to_thread(handshake, urlsplit(url).netloc, ca)
        assert "Verify return code: 0 (ok)" in told
        assert "TLSv1.3" in told


async def test_keys_are_in_files_of_their_owner_alone(fleet: Fleet) -> None:
    await ready(fleet, fleet.server["http"])
    for name in ("hub/authority.pem", "hub/hub-tls.pem", "server/server-tls.pem"):
        assert (fleet.folder / name).stat().st_mode & 0o777 == 0o600


def test_a_server_that_starts_again_has_its_certificate_at_once(fleet: Fleet) -> None:
    """Also while its hub is away: it is kept."""
    twin = fleet.folder / "twin"
    twin.mkdir()
    (twin / "hub.link").write_text(fleet.hub.link)
    code = rookery("fleet", "code", "--server", "--data", fleet.folder / "hub").out
    (twin / "server.code").write_text(code)
    with server_of(twin, "--tls", "auto", "--code-file", str(twin / "server.code")) as (_, told):
        asyncio.run(ready(fleet, told["http"]))
    gone = json.loads(fleet.hub.link)
    for path in gone["paths"]:
        if "port" in path:
            path["port"] = 9
    (twin / "hub.link").write_text(json.dumps(gone))
    with server_of(twin, "--tls", "auto") as (_, told):
        url = f"{told['http']}/healthz"
        with urllib.request.urlopen(url, context=fleet.trusting) as answer:
            assert answer.status == 200
