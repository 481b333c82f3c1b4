"""Checks of the fleet: what is wrong now, as conditions.

    devices, servers ─ hot store ┐
    security ─ audit             ├─▶ rules ─▶ conditions, and which kinds were checked
    mesh ─ the hub's mesh node   │
    staleness, insights ─ lake   ┘

A source that does not answer was not checked: no alert of its kinds ends.
"""

import asyncio
import ipaddress
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

import msgspec

from rookery.errors import DecodeError, RookeryError
from rookery.fleet.alerts import rules
from rookery.fleet.alerts.alert import AlertCondition, AlertKind
from rookery.fleet.alerts.rules import SeenEvents, SeenLink, SeenMember, SeenServer, SeenSpool
from rookery.fleet.alerts.silence import GROUP_MIN, SeenDevice, silences
from rookery.fleet.entry import FleetEntry
from rookery.fleet.rendezvous.placement import DEAD_AFTER_S
from rookery.runtime.net.address import parse_address
from rookery.store.fleet.devices import PAGE, Device
from rookery.web.alerts.lake_conditions import insight_conditions
from rookery.web.alerts.settings import AlertSettings
from rookery.web.alerts.sources import AlertSources
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.telemetry import DeviceReport

SECURITY_S = 600.0  # events of so long are one condition
_EVENTS_MAX = 1000
_SENDERS_MAX = 20
_ROSTER_S = 30.0  # between two readings of whose devices there are
_PEERS_OF_MAX = 10_000  # devices whose reports are read for what they share
_FORGOTTEN_S = 7 * 86_400.0  # a server that has been silent for so long was taken away
_SITE_BITS = {4: 24, 6: 48}

DEVICES: tuple[AlertKind, ...] = ("device_silent", "devices_silent")
SERVERS: tuple[AlertKind, ...] = ("server_silent", "server_full")
MESH: tuple[AlertKind, ...] = ("member_gone", "link_down", "link_lossy")
SPOOL: tuple[AlertKind, ...] = ("spool_behind", "spool_full")


class AlertCheckResult(msgspec.Struct):
    """Conditions that hold, and the kinds that were checked."""

    conditions: list[AlertCondition] = []
    checked: set[AlertKind] = set()


class AlertChecks:
    """Checks of the whole fleet, and of this hub alone."""

    def __init__(self, site: AlertSources, settings: AlertSettings, spool: str) -> None:
        self._site = site
        self._settings = settings
        self._spool = spool
        self._started_at: float | None = None
        self._roster: list[Device] = []
        self._roster_at = float("-inf")
        self._lake_result = AlertCheckResult()
        self._lake_at = float("-inf")
        self._names: dict[str, str] = {}

    async def fleet(self, open_keys: Collection[str], now: float) -> AlertCheckResult:
        """Conditions that any hub of the database would find; `now` is monotonic."""
        result = AlertCheckResult()
        if self._started_at is None:
            self._started_at = now
        parts: list[tuple[tuple[AlertKind, ...], Callable[[], Awaitable[list[AlertCondition]]]]] = [
            (MESH, lambda: self._mesh(open_keys)),
            (("security",), self._security),
        ]
        if now - self._started_at >= self._grace_s:
            parts.append((DEVICES, lambda: self._devices(open_keys, now)))
            parts.append((SERVERS, lambda: self._servers(open_keys)))
        for kinds, part in parts:
            with suppress(RookeryError, TimeoutError):
                result.conditions += await part()
                result.checked.update(kinds)
        lake = await self._lake(now)
        result.conditions += lake.conditions
        result.checked |= lake.checked
        return result

    async def local(self, open_keys: Collection[str]) -> AlertCheckResult:
        """Conditions of this hub alone: its spool."""
        backlog = self._site.hub.backlog
        seen = SeenSpool(
            name=self._spool,
            bytes_max=self._site.hub.settings.spool.bytes_max,
            is_full=backlog.is_full,
            unlanded_bytes=backlog.unlanded_bytes,
        )
        return AlertCheckResult(rules.spool(seen, open_keys), set(SPOOL))

    @property
    def _grace_s(self) -> float:
        """After a start, devices need that long to report before they count as silent."""
        grace_s = self._settings.grace_s
        return self._site.hub.settings.silent_after_s if grace_s is None else grace_s

    # Devices

    async def _devices(self, open_keys: Collection[str], now: float) -> list[AlertCondition]:
        if now - self._roster_at >= _ROSTER_S or len(self._roster) < PAGE:
            self._roster, self._roster_at = await self._read_roster(), now
        pairs: list[tuple[Device, FleetEntry]] = []
        for start in range(0, len(self._roster), PAGE):
            chunk = self._roster[start : start + PAGE]
            entries = await self._site.hub.hot.entries([device.mac for device in chunk])
            found = zip(chunk, entries, strict=True)
            pairs += [(device, entry) for device, entry in found if entry is not None]
            await asyncio.sleep(0)
        silent = sum(self._site.hub.is_silent(entry) for _, entry in pairs)
        has_peers = silent >= GROUP_MIN and len(pairs) <= _PEERS_OF_MAX
        seen = [self._seen_device(*pair, has_peers=has_peers) for pair in pairs]
        return silences(seen, open_keys, self._names)

    async def _read_roster(self) -> list[Device]:
        roster: list[Device] = []
        while chunk := await self._site.devices.all(after=roster[-1].mac if roster else b""):
            roster += chunk
        return roster

    def _seen_device(self, device: Device, entry: FleetEntry, *, has_peers: bool) -> SeenDevice:
        shares = (_site_of(entry.address),) if entry.address else ()
        return SeenDevice(
            mac=mac_text(device.mac),
            name=device.name,
            is_silent=self._site.hub.is_silent(entry),
            last_seen=entry.last_seen,
            shares=tuple(each for each in shares if each) + (_peers(entry) if has_peers else ()),
        )

    # The rest of the fleet

    async def _servers(self, open_keys: Collection[str]) -> list[AlertCondition]:
        now = self._site.wall()
        seen = [
            SeenServer(
                hashname=load.hashname,
                address=load.tcp,
                is_silent=now - load.reported_at > DEAD_AFTER_S,
                last_seen=load.reported_at,
                seats_used=load.seats_used + load.reserved,
                seats_max=load.seats_max,
            )
            for load in await self._site.hub.servers()
            if now - load.reported_at < _FORGOTTEN_S
        ]
        return rules.servers(seen, open_keys)

    async def _mesh(self, open_keys: Collection[str]) -> list[AlertCondition]:
        if self._site.mesh is None:
            return []
        graph = await self._site.mesh.graph()
        members = [
            SeenMember(hashname=each.hashname, name=each.name, is_up=each.is_up)
            for each in graph.members
        ]
        self._names = {f"node {each.hashname}": f"node {each.name}" for each in members}
        links = [
            SeenLink(a=each.a, b=each.b, state=each.state, loss=_worse(each.loss_ab, each.loss_ba))
            for each in graph.links
        ]
        return rules.mesh(members, links, open_keys)

    async def _security(self) -> list[AlertCondition]:
        since = self._site.wall() - SECURITY_S
        rows = await self._site.audit.since(since, "security", limit=_EVENTS_MAX)
        counts = Counter(row.what for row in rows)
        addresses: dict[str, set[str]] = defaultdict(set)
        senders: dict[str, dict[str, None]] = defaultdict(dict)
        for row in rows:
            addresses[row.what].add(row.address.rpartition(":")[0])
            senders[row.what][row.who] = None
        seen = [
            SeenEvents(
                event=what.partition(".")[2],
                count=count,
                addresses=len(addresses[what]),
                senders=tuple(senders[what])[:_SENDERS_MAX],
            )
            for what, count in sorted(counts.items())
        ]
        return rules.security(seen)

    async def _lake(self, now: float) -> AlertCheckResult:
        """Conditions in the lake, read less often: it changes by the minute and is slow."""
        if self._site.lake is None or now - self._lake_at < self._settings.lake_s:
            return self._lake_result
        self._lake_at, result = now, AlertCheckResult()
        with suppress(RookeryError, TimeoutError):
            tables = await self._site.lake.freshness()
            newest = max((each.changed_at for each in tables.values()), default=None)
            age_s = None if newest is None else self._site.wall() - newest
            result.conditions += rules.lake(age_s, self._settings.lake_stale_s)
            result.checked.add("lake_stale")
        with suppress(RookeryError, TimeoutError):
            result.conditions += await insight_conditions(self._site.lake, self._site.wall())
            result.checked.add("insight")
        self._lake_result = result
        return result


def _worse(one: float | None, other: float | None) -> float | None:
    known = [each for each in (one, other) if each is not None]
    return max(known, default=None)


def _site_of(address: str) -> str:
    """The network that an address is of, as the lake has it; empty: none."""
    try:
        ip = ipaddress.ip_address(parse_address(address)[0])
    except (RookeryError, ValueError):
        return ""
    return f"site {ipaddress.ip_network((ip, _SITE_BITS[ip.version]), strict=False)}"


def _peers(entry: FleetEntry) -> tuple[str, ...]:
    """Mesh nodes that it had links with in its last report."""
    try:
        report = telemetry.decode(entry.content)
    except DecodeError:
        return ()
    if not isinstance(report, DeviceReport):
        return ()
    return tuple(dict.fromkeys(f"node {link.peer}" for link in report.links))
