"""The hub: composition root. It starts and ends the parts, and decides nothing itself.

UDP  ──▶ ReportSocket ──▶ ReportFlow ──▶ spool, hot store ──▶ acknowledgements
TCP  ──▶ HubListener ──▶ HubRequestHandler ┬─▶ Matchmaker ──▶ RendezvousDriver ──▶ servers
                                           └─▶ LeaseService ──▶ servers
HTTP ──▶ web (above) ──▶ `wish`, `steps`, `entry`, `servers`
         EntryWriter ──▶ database
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from rookery.errors import CongestionError, UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous import seat_authority as authorities
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.fleet.rendezvous.seat_authority import SeatAuthority
from rookery.fleet.rendezvous.wish import Wish, WishStep
from rookery.fleet.reports.report_validator import ReportValidator
from rookery.fleet.reports.validator_settings import (
    ReportValidatorCounters,
    ReportValidatorSettings,
)
from rookery.hub.audit_log import AuditLog
from rookery.hub.clock import HubClock
from rookery.hub.errors import SilentDeviceError, StoreUnavailableError, UnknownDeviceError
from rookery.hub.key_files import hub_authority, hub_identity
from rookery.hub.metrics import HubCounts, HubMetrics
from rookery.hub.registry.code_redemption import CodeRedemption
from rookery.hub.registry.entry_removal import EntryRemoval
from rookery.hub.registry.entry_writer import EntryWriter, HubBacklog
from rookery.hub.registry.fleet_counts import FleetCounts
from rookery.hub.rendezvous.failed_sessions import FailedSessionLog
from rookery.hub.rendezvous.forecasts import Forecasts
from rookery.hub.rendezvous.lease_answers import EXPECTED_S, LeaseService
from rookery.hub.rendezvous.matchmaker import Matchmaker
from rookery.hub.rendezvous.server_list import ServerList
from rookery.hub.reports.recent_telemetry import RecentTelemetry
from rookery.hub.reports.report_flow import ReportFlow
from rookery.hub.reports.report_socket import ReportSocket
from rookery.hub.server_certificates import ServerCertificates
from rookery.hub.settings import HubSettings
from rookery.hub.tcp_listener import HubListener, HubRequestHandler
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.identity import Identity
from rookery.runtime.net.address import advertised_ip, parse_address
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.store.accounts.audit import AuditTrail
from rookery.store.database.database import Database
from rookery.store.fleet.entries import Entries
from rookery.store.hot.backends import open_hot_store
from rookery.store.hot.hot_store import HotStore
from rookery.store.hubs.drains import Drains
from rookery.store.hubs.settings import Settings
from rookery.store.spool.name import SPOOL, spool_name
from rookery.store.spool.spool import Spool
from rookery.wire.fleet.mac import mac_text
from rookery.wire.link.path import NetPath, Path, UrlPath, net_path
from rookery.wire.link.uri import LinkAddress

CLOSE_S = 2.0  # for pending work; reports beyond it are sent again

_WISH_MARGIN_S = 10.0


class Hub:
    """`async with await Hub.start(settings) as hub:`, or call `close` yourself."""

    def __init__(
        self,
        settings: HubSettings,
        database: Database,
        hot: HotStore,
        spool: Spool,
        socket: ReportSocket,
        identity: Identity,
        master: bytes,
        authority: CertificateAuthority | None = None,
    ) -> None:
        self.settings = settings
        self.authority = authority
        self.database = database
        self.hot = hot
        self._spool = spool
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._paths: list[Path] = []
        self._is_closed = False
        self._identity = identity
        clock = self._clock = HubClock(settings.silent_after_s)
        validator_settings = ReportValidatorSettings(
            policy=settings.policy,
            renewal_s=settings.renewal_s,
            legacy_plain=settings.is_legacy_plain,
        )
        self._validator = ReportValidator(
            identity, master, os.urandom, clock.now(), validator_settings
        )
        self._audit_log = AuditLog(AuditTrail(database), clock)
        self._session_log = FailedSessionLog(identity.hashname, spool, clock)
        self._forecasts = Forecasts(settings, clock)
        self._fleet_counts = FleetCounts(hot, clock)
        self._servers = ServerList(hot, clock, Drains(database))
        self.recent = RecentTelemetry()
        self._matchmaker = Matchmaker(
            identity,
            hot,
            clock,
            self._servers.loads,
            self._audit_log.security,
            self._session_log.failed,
            self._forecasts.ask,
            settings.rendezvous,
            self._expect,
        )
        self._forgetting = EntryRemoval(database, hot, clock, settings.unclaimed_s)
        self._leases = LeaseService(database, hot, clock, self._expect)
        certifying = ServerCertificates(
            authority,
            identity,
            hot,
            clock,
            self._audit_log.certified,
            self._audit_log.uncertified,
        )
        handler = HubRequestHandler(
            self._matchmaker, self._leases, certifying, settings.listener.idle_s
        )
        self._listener = HubListener(identity, handler.handle, settings.listener)
        self._entry_writer = EntryWriter(
            spool_name(settings.data), settings, database, hot, spool, clock
        )
        self._flow = ReportFlow(
            self._validator,
            hot,
            spool,
            CodeRedemption(database, clock),
            clock,
            send=socket.send,
            note=self._audit_log.security,
            called=self._matchmaker.called,
            welcome=self._audit_log.enrolled,
            relayed=self._audit_log.called,
            recent=self.recent,
            limits=settings.reports,
        )

    @classmethod
    async def start(cls, settings: HubSettings) -> Self:
        """Open the stores, bring the registry up to date, then listen.

        UsageError for what cannot be used, UnreachableError for a store that does not answer.
        """
        async with AsyncExitStack() as stack:
            settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            database = await Database.open(settings.database_url)
            stack.push_async_callback(database.close)
            await database.migrate()
            spool = await Spool.open(
                settings.data / SPOOL,
                segment_bytes=settings.spool.segment_bytes,
                bytes_max=settings.spool.bytes_max,
            )
            stack.push_async_callback(spool.close)
            entries = Entries(database)
            hot = await open_hot_store(
                settings.hot,
                snapshot=settings.data / "hot.snapshot",
                fallback=entries.find,
                everything=entries.load_all,
            )
            stack.push_async_callback(hot.close)
            socket = await ReportSocket.bind(*parse_address(settings.udp))
            stack.callback(socket.close)
            shared = Settings(database)
            identity = await hub_identity(settings.data, shared)
            master = await shared.master_secret(os.urandom)
            authority = None
            if settings.is_authority:
                fleet = identity.hashname[:8]
                authority = await hub_authority(settings.data, shared, fleet, time.time())
            hub = cls(settings, database, hot, spool, socket, identity, master, authority)
            await hub._listen()
            stack.pop_all()
        return hub

    async def close(self) -> None:
        """Stop listening, settle what is on its way, then write down all there is; once."""
        if self._is_closed:
            return
        self._is_closed = True
        self._socket.stop()
        await self._listener.close()
        await self._matchmaker.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(UnreachableError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._flow.finish()
                await self._entry_writer.flush(self._flow)
                await self._audit_log.flush()
        self._socket.close()
        await self._spool.close()
        await self.hot.close()
        await self.database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def hashname(self) -> str:
        return self._identity.hashname

    @property
    def link(self) -> LinkAddress:
        """How devices, servers and the CLI reach this hub: keys, udp and tcp paths, HTTP URL."""
        return LinkAddress(
            self.hashname, dict(self._identity.keys), tuple(self._paths), stream=ROOKERY_CSID
        )

    def advertise_http(self, url: str) -> None:
        """Add this URL to the link, once the web is served there."""
        self._paths = [path for path in self._paths if isinstance(path, NetPath)]
        self._paths.append(UrlPath(url))

    async def wish(
        self, mac: bytes, client: str, authority: SeatAuthority, address: str = ""
    ) -> Wish:
        """Make a wish of `client` for this device, with its authority and address.

        Raises UnknownDeviceError, SilentDeviceError (with `last_seen`), StoreUnavailableError, or
        CongestionError when too many wait already.
        """
        entry = await self.entry(mac)
        if entry is None:
            raise UnknownDeviceError(f"no device {mac_text(mac)} has ever reported")
        if self.is_silent(entry):
            text = f"the device {mac_text(mac)} has not reported for too long"
            raise SilentDeviceError(text, entry.last_seen)
        new = Wish(
            _wish_id(),
            mac,
            client,
            self._clock.now(),
            self.hashname,
            authorities.encode(authority),
            (entry.address.rpartition(":")[0].strip("[]"), address),
        )
        seconds = self.settings.rendezvous.total_s + _WISH_MARGIN_S
        with _store_away():
            wish = await self.hot.add_wish(new, seconds)
            if wish.id == new.id and not self._matchmaker.begin(wish, entry):
                await self.hot.end_wish(wish.id)
                raise CongestionError("too many wishes are being seen to; try again soon")
        return wish

    def steps(self, wish: Wish) -> AsyncIterator[WishStep]:
        """What happens to a wish, from the first step on; ends after `done` or `failed`."""
        return self.hot.steps(wish.id)

    async def cancel(self, wish: Wish) -> None:
        """The client no longer waits."""
        with _store_away():
            await self._matchmaker.cancel(wish)

    async def entry(self, mac: bytes) -> FleetEntry | None:
        """What is known of a device; StoreUnavailableError."""
        with _store_away():
            (entry,) = await self.hot.entries([mac])
        return entry if entry is not None and entry.kind == "router" else None

    def is_silent(self, entry: FleetEntry) -> bool:
        """Whether it has not reported for too long."""
        return self._clock.is_silent(entry.last_seen)

    def is_claimed(self, entry: FleetEntry, typed: str) -> bool:
        """Whether `typed` is the claim code that this device's agent shows."""
        return self._validator.is_claimed(entry, typed, self._clock.now())

    async def servers(self) -> list[ServerLoad]:
        """The servers that report, with what they carry; StoreUnavailableError."""
        with _store_away():
            return await self._servers.loads()

    @property
    def forecasts(self) -> Forecasts:
        """What is expected of servers, and whether it is followed."""
        return self._forecasts

    @property
    def backlog(self) -> HubBacklog:
        """What is kept for the lake and for the database."""
        landed, position = self._entry_writer.landed, self._spool.position
        unlanded = None if landed is None else max(position - landed, 0)
        return HubBacklog(self._spool.size, unlanded, self._spool.is_full, len(self._flow.dirty))

    @property
    def report_counters(self) -> ReportValidatorCounters:
        """Reports and hellos by outcome."""
        return self._validator.counters

    @property
    def counts(self) -> HubCounts:
        """Datagrams, spool writes and clock steps, as of now."""
        return HubCounts(
            dict(self._flow.tally),
            self._socket.dropped,
            self._spool.failed_writes,
            self._clock.steps,
        )

    @property
    def presence(self) -> Mapping[tuple[str, str], int]:
        """Devices and servers by kind and state, as of the last count."""
        return self._fleet_counts.counts

    def metrics_text(self) -> bytes:
        """Counters and gauges in Prometheus' text format."""
        return HubMetrics(
            self._validator,
            self._socket,
            self._flow,
            self._listener,
            self._matchmaker,
            self._entry_writer,
            self._spool,
            self._fleet_counts,
            self._audit_log,
            self._clock,
            self._forecasts,
            self._leases,
            self._forgetting,
        ).text()

    async def is_ready(self) -> bool:
        """Whether the stores answer."""
        hot, database = await asyncio.gather(self.hot.ready(), self.database.ready())
        return hot and database

    async def _listen(self) -> None:
        settings, flow = self.settings, self._flow
        flow.dirty |= await self._entry_writer.load(self._validator)
        await self._forgetting.catch_up()
        tcp = await self._listener.listen(*parse_address(settings.tcp))
        for server in await self.hot.all("server"):
            self._listener.expect(server.address, EXPECTED_S)
        for carrier, (ip, port) in (("udp", self._socket.address), ("tcp", tcp)):
            self._paths.append(net_path(carrier, settings.advertise or advertised_ip(ip), port))
        for work in (flow.run(), self._entry_writer.run(flow), self._fleet_counts.run()):
            self._own(work)
        self._own(self._audit_log.run())
        self._own(self._leases.run())
        self._own(self._forgetting.run())
        self._own(self._forecasts.run())
        self._socket.read(flow.offer, lambda: flow.is_full)

    def _expect(self, address: str, seconds: float) -> None:
        """Expect a connection from this address: strangers do not use up its room."""
        self._listener.expect(address, seconds)

    def _own(self, work: Coroutine[object, object, None]) -> None:
        self._tasks.add(self._loop.create_task(work))


@contextlib.contextmanager
def _store_away() -> Iterator[None]:
    try:
        yield
    except UnreachableError as error:
        raise StoreUnavailableError(f"a store of the hub does not answer: {error}") from error


def _wish_id() -> int:
    return int.from_bytes(os.urandom(8), "big") or 1
