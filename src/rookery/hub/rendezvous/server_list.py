"""Server list: the servers that report and their loads, for placement and for pages."""

import asyncio
import contextlib

from rookery.errors import DecodeError, DeniedError, UnreachableError
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.hub.clock import HubClock
from rookery.identity.cs40 import CSID as ROOKERY_CSID
from rookery.identity.hashname import intermediate
from rookery.store.hot.hot_store import HotStore
from rookery.store.hubs.drains import Drains
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, LoadReport

DRAINS_S = 1.0  # how old the operators' wishes may be


class ServerList:
    """Reads the hot store anew each time: reservations of all hubs count."""

    def __init__(self, hot: HotStore, clock: HubClock, drains: Drains) -> None:
        self._hot = hot
        self._clock = clock
        self._drains = drains
        self._draining: frozenset[str] = frozenset()
        self._read_at = float("-inf")
        self._loop = asyncio.get_running_loop()

    async def loads(self) -> list[ServerLoad]:
        """UnreachableError when the hot store is away."""
        draining = await self._drained()
        loads = []
        for entry in await self._hot.all("server"):
            report = load_report(entry)
            if report is None:
                continue
            loads.append(
                ServerLoad(
                    entry.hashname,
                    report.tcp,
                    report.ws,
                    report.key2a,
                    intermediate(entry.key),
                    report.seats_max,
                    report.seats_used,
                    await self._hot.reserved(entry.hashname),
                    report.cpu,
                    report.mem,
                    self._clock.counted(entry.last_seen),
                    entry.hashname in draining,
                    entry.key if report.stream >= ROOKERY_CSID else b"",
                )
            )
        return loads

    async def _drained(self) -> frozenset[str]:
        """As the database said last: while it is away, servers are chosen all the same."""
        now = self._loop.time()
        if now - self._read_at >= DRAINS_S:
            self._read_at = now
            with contextlib.suppress(UnreachableError):
                self._draining = frozenset(await self._drains.all())
        return self._draining


def load_report(entry: FleetEntry) -> LoadReport | None:
    """Its last report, if that names the key which its hashname is made of."""
    try:
        report = telemetry.decode(entry.content)
    except DecodeError:
        return None
    if not isinstance(report, LoadReport) or intermediate(report.key2a) != entry.digest:
        return None
    return report


def check_sealing(entry: FleetEntry, csid: int | None) -> None:
    """DeniedError for who came with less than the cipher set that its own reports name."""
    with contextlib.suppress(DecodeError):
        report = telemetry.decode(entry.content)
        if isinstance(report, LoadReport | DeviceReport) and report.stream >= ROOKERY_CSID != csid:
            raise DeniedError("your reports say that you take cipher set 40; use it")
