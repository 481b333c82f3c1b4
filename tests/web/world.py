"""A hub without sockets on real stores, and HTTP clients of its web application."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import httpx
import msgspec
from litestar import Litestar
from litestar.types import Receive, Scope, Send

from rookery.fleet.enrolment.secrets import claim_code, derive
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.seat_authority import SeatAuthority, encode
from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep, WishStepName
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.validator_settings import ReportValidatorCounters
from rookery.hub.clock import HubClock
from rookery.hub.errors import SilentDeviceError, UnknownDeviceError
from rookery.hub.hub import Hub
from rookery.hub.metrics import HubCounts
from rookery.hub.registry.entry_writer import HubBacklog
from rookery.hub.rendezvous.forecasts import Forecasts
from rookery.hub.reports.recent_telemetry import RecentTelemetry
from rookery.hub.settings import HubSettings
from rookery.identity.hashname import hashname
from rookery.store.accounts.accounts import Account, Role
from rookery.store.database.database import Database
from rookery.store.hot.ram_store import RamHotStore
from rookery.store.hubs.settings import Settings
from rookery.web.accounts.caller import Role as CallerRole
from rookery.web.app import app, offer_topics, routes
from rookery.web.settings import LoginThrottleLimits, PasswordCost, WebLimits, WebSettings
from rookery.web.site import WebSite
from rookery.wire import base32
from rookery.wire.fleet.mac import mac_text
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress
from tests.fleet.identities import ACCEPTOR
from tests.patience import PATIENCE_S

HOST = "hub.test"
PASSWORD = "correct horse"
MAC = bytes.fromhex("02fc00000001")
CHEAP = PasswordCost(time=1, memory_kib=8)
SETTINGS = WebSettings(
    password_cost=CHEAP,
    guesses=LoginThrottleLimits(registrations_per_address=1000),
    limits=WebLimits(changes_burst=10_000),
)
MASTER = bytes(range(32))
HASHNAME = hashname({0x40: bytes(64)})
GRANT = Grant(
    "seat1", "ticket1", HASHNAME, "127.0.0.1:9", "ws://127.0.0.1:9/rpc", b"k", b"d", 30, ""
)


class StagedHub(Hub):
    """The part of a hub that the web uses; tests set its counters and make the steps of wishes."""

    def __init__(self, database: Database, data: Path) -> None:
        self.database = database
        self.hot = self.ram = RamHotStore()
        self.settings = HubSettings(data=data, policy="open")
        self.recent = RecentTelemetry()
        self.authority = None
        self.loads: list[ServerLoad] = []
        self._clock = HubClock(60.0)
        self._validator = ReportValidator(ACCEPTOR, MASTER, os.urandom, self._clock.now())
        self._forecasts = Forecasts(self.settings, self._clock)
        self.waiting = HubBacklog(0, None, is_full=False, unsaved_entries=0)
        self.judged = ReportValidatorCounters()
        self.counted = HubCounts({}, 0, 0, 0)
        self.present: dict[tuple[str, str], int] = {}
        self.cancelled: list[int] = []
        self.wishes: asyncio.Queue[Wish] = asyncio.Queue()
        self.is_up = True

    @property
    def backlog(self) -> HubBacklog:
        return self.waiting

    @property
    def report_counters(self) -> ReportValidatorCounters:
        return self.judged

    @property
    def counts(self) -> HubCounts:
        return self.counted

    @property
    def presence(self) -> dict[tuple[str, str], int]:
        return self.present

    @property
    def link(self) -> LinkAddress:
        return LinkAddress(HASHNAME, {0x40: bytes(64)}, (NetPath("udp4", "127.0.0.1", 4242),))

    async def close(self) -> None:
        await self.hot.close()
        await self.database.close()

    async def wish(
        self, mac: bytes, client: str, authority: SeatAuthority, address: str = ""
    ) -> Wish:
        entry = await self.entry(mac)
        if entry is None:
            raise UnknownDeviceError(f"no device {mac_text(mac)}")
        if self.is_silent(entry):
            raise SilentDeviceError(f"{mac_text(mac)} is silent", entry.last_seen)
        number = len(self.cancelled) + self.wishes.qsize() + 1
        made = Wish(number, mac, client, time.time(), "hub", encode(authority))
        made = await self.hot.add_wish(made, 60)
        await self.say(made, "wished")
        self.wishes.put_nowait(made)
        return made

    def steps(self, wish: Wish) -> AsyncIterator[WishStep]:
        return self.hot.steps(wish.id)

    async def cancel(self, wish: Wish) -> None:
        await self.hot.end_wish(wish.id)
        self.cancelled.append(wish.id)

    async def entry(self, mac: bytes) -> FleetEntry | None:
        return (await self.hot.entries([mac]))[0]

    def is_silent(self, entry: FleetEntry) -> bool:
        return time.time() - entry.last_seen > self.settings.silent_after_s

    async def servers(self) -> list[ServerLoad]:
        return self.loads

    def metrics_text(self) -> bytes:
        return b"rookery_reports_total 1\n"

    async def is_ready(self) -> bool:
        return self.is_up

    async def report(
        self, mac: bytes = MAC, *, ago_s: float = 1.0, content: bytes = b"", address: str = ""
    ) -> None:
        """Enter a report of a device with that MAC address."""
        seen = time.time() - ago_s
        entry = FleetEntry(mac, "router", HASHNAME, bytes(64), bytes(32), 7, 1, 1, 1, seen, seen)
        entry.content, entry.address = content, address
        known = await self.entry(mac)
        entry.version = 0 if known is None else known.version
        await self.ram.put([entry])
        self.recent.take([entry])

    async def say(self, wish: Wish, name: WishStepName) -> None:
        grant = msgspec.structs.replace(GRANT, mac=mac_text(wish.mac)) if name == "done" else None
        step = WishStep(wish.id, name, f"text of {name}", time.time(), grant=grant)
        await self.hot.add_step(step)

    async def grant_next(self) -> None:
        """Complete the next wish with a grant."""
        wish = await self.wishes.get()
        for name in ("called", "router_here", "done"):
            await self.say(wish, name)


def code_of(mac: bytes = MAC) -> str:
    """The claim code that the agent of a device that reported shows."""
    return claim_code(derive(MASTER, mac, base32.decode(HASHNAME), 7))


_site: ContextVar[WebSite] = ContextVar("site")


@cache
def _usual_routes() -> Litestar:
    """Shared by all worlds with default settings: building them takes longer than most tests."""
    return routes(SETTINGS, _site.get)


class World:
    """The application on its hub, and clients of it."""

    def __init__(self, hub: StagedHub, site: WebSite, *, has_own_routes: bool) -> None:
        self.hub = hub
        self.site = site
        if has_own_routes:
            self.app = app(site)
        else:
            offer_topics(site)
            self.app = _usual_routes()

    def anonymous(self, address: str = "192.0.2.1", **headers: str) -> httpx.AsyncClient:
        """A client that is not signed in."""
        # Two descriptions of ASGI that differ in how exactly they say it.
        transport = httpx.ASGITransport(self._ask, client=(address, 1234))  # type: ignore[arg-type]
        return httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers=headers, timeout=PATIENCE_S
        )

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        _site.set(self.site)
        await self.app(scope, receive, send)

    async def account(self, login: str, role: Role | CallerRole = "user") -> Account:
        hashed = await self.site.passwords.hash(PASSWORD)
        return await self.site.accounts.add(login, hashed, now=time.time(), role=role)

    async def signed_in(self, login: str, role: CallerRole = "user") -> httpx.AsyncClient:
        """A new account of that role with a session."""
        await self.account(login, role)
        client = self.anonymous()
        body = {"login": login, "password": PASSWORD}
        answer = await client.post("/api/v1/session", json=body)
        assert answer.status_code == 201, answer.text
        return client

    async def owner(self, login: str = "alice", mac: bytes = MAC) -> httpx.AsyncClient:
        """A signed-in client that owns a reporting device."""
        client = await self.signed_in(login)
        account = await self.site.accounts.find(login)
        assert account is not None
        await self.hub.report(mac)
        await self.site.devices.claim(mac, account.id, "attic", now=time.time() - 3600)
        return client


@asynccontextmanager
async def world(
    folder: Path, template: Path, settings: WebSettings = SETTINGS, *, has_own_routes: bool = False
) -> AsyncIterator[World]:
    """A new world on a copy of a migrated database."""
    shutil.copy(template, folder / "hub.sqlite")
    database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
    hub = StagedHub(database, folder)
    await Settings(database).first("master secret", MASTER)
    site = WebSite(hub, settings)
    try:
        yield World(hub, site, has_own_routes=has_own_routes or settings is not SETTINGS)
    finally:
        site.close()
        await site.closed()
        await hub.close()
