"""What people hold at a fleet, watched until it ends: seats, consoles, live pages, API calls."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import msgspec

from rookery.fleet.rendezvous.server_keys import stream_keys
from rookery.fleet.rendezvous.wish import Grant
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.web.devices.connecting import DeviceConnectOutcome
from rookery.wire.fleet.messages import AttendMessage, FaultMessage, WelcomeMessage, decode, encode
from tests.e2e.fleet.world import Hub
from tests.patience import PATIENCE_S
from tests.server.browser import Browser

API = "/api/v1"
POLL_S = 0.02  # between API calls
End = Coroutine[object, object, float]

_CONNECTED = msgspec.json.Decoder(DeviceConnectOutcome)


class Held(NamedTuple):
    """Something that is held, and the moment at which it will have ended."""

    effect: str
    ended_at: "asyncio.Task[float]"


class Holder:
    """An account at a hub, by a session or by a token."""

    def __init__(self, http: httpx.AsyncClient, way: str) -> None:
        self.http = http
        self.way = way

    async def seat(self, stack: AsyncExitStack, mac: str, identity: Identity) -> Held:
        """As the command line has it."""
        grant = await self._grant(mac)
        host, _, port = grant.tcp.rpartition(":")
        line = await SealedConnection.dial(
            identity, grant.server, stream_keys(grant), host, int(port), timeout_s=PATIENCE_S
        )
        stack.callback(line.abort)
        line.send(encode(AttendMessage(grant.seat, grant.ticket)))
        welcome = await line.receive()
        assert welcome is not None
        assert isinstance(decode(welcome), WelcomeMessage), decode(welcome)
        return self._held(stack, "seat", _line_end(line))

    async def console(self, stack: AsyncExitStack, mac: str) -> Held:
        """As a page has it: the same over a WebSocket."""
        grant = await self._grant(mac)
        url = urlsplit(grant.ws)
        assert url.hostname is not None
        assert url.port is not None
        browser = await Browser.open((url.hostname, url.port))
        stack.callback(browser.close)
        assert await browser.accepted() == 101
        browser.send({"ticket": grant.ticket, "seat": grant.seat})
        assert (await browser.received())["mac"] == mac
        return self._held(stack, "console", _browser_end(browser))

    async def live(self, stack: AsyncExitStack, mac: str = "") -> Held:
        """A page that follows its devices; with a MAC, until that one is gone from it."""
        stream = self.http.stream("GET", f"{API}/live", params={"topic": "devices"})
        answer = await stack.enter_async_context(stream)
        assert answer.status_code == 200
        lines = answer.aiter_lines()
        await anext(lines)
        if mac:  # as it is in it to begin with
            while mac not in await anext(lines):
                pass
        return self._held(stack, "live stream", _stream_end(lines, mac))

    def calls(self, stack: AsyncExitStack, path: str = "/me") -> Held:
        """Calls of the API, until one is refused."""
        return self._held(stack, "API call", self._refused(path))

    async def _refused(self, path: str) -> float:
        refused = (401, 403)
        while (await self.http.get(f"{API}{path}")).status_code not in refused:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
        return time.monotonic()

    async def _grant(self, mac: str) -> Grant:
        headers = {"Accept": "application/json"}
        answer = await self.http.post(f"{API}/devices/{mac}/connect", headers=headers)
        assert answer.status_code == 200, answer.text
        grant = _CONNECTED.decode(answer.content).grant
        assert grant is not None
        return grant

    def _held(
        self, stack: AsyncExitStack, effect: str, end: Coroutine[object, object, float]
    ) -> Held:
        task = asyncio.get_running_loop().create_task(_patiently(end))
        stack.push_async_callback(_over, task)
        return Held(f"{effect} by {self.way}", task)


class Account:
    """Somebody who signs in, and makes tokens."""

    def __init__(self, hub: Hub, login: str, password: str, stack: AsyncExitStack) -> None:
        self.login = login
        self.password = password
        self._hub = hub
        self._stack = stack

    async def session(self) -> Holder:
        http = await self._client()
        body = {"login": self.login, "password": self.password}
        answer = await http.post(f"{API}/session", json=body)
        assert answer.status_code in (200, 201), answer.text
        return Holder(http, "session")

    async def token(self, session: Holder) -> tuple[Holder, int]:
        """And its number."""
        wanted = {"name": os.urandom(4).hex(), "scopes": ["read", "connect", "write"]}
        answer = await session.http.post(f"{API}/tokens", json=wanted)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        http = await self._client({"Authorization": f"Bearer {made['token']}"})
        number = int(made["id"])
        # There may be so many; one that was revoked is gone already.
        self._stack.push_async_callback(http.delete, f"{API}/token")
        return Holder(http, "token"), number

    async def _client(self, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
        client = httpx.AsyncClient(base_url=self._hub.url, headers=headers, timeout=PATIENCE_S)
        return await self._stack.enter_async_context(client)


async def _patiently(end: End) -> float:
    async with asyncio.timeout(PATIENCE_S):
        return await end


async def _over(task: "asyncio.Task[float]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _line_end(line: SealedConnection) -> float:
    while (tlv := await line.receive()) is not None:
        assert isinstance(decode(tlv), FaultMessage)
    return time.monotonic()


async def _browser_end(browser: Browser) -> float:
    assert await browser.closed() == 4004
    return time.monotonic()


async def _stream_end(lines: AsyncIterator[str], mac: str) -> float:
    event = ""
    async for line in lines:
        event = line if line.startswith("event:") else event
        gone = line.partition('"gone"')[2]
        if event == "event: end" or (mac and mac in gone):
            break
    return time.monotonic()
