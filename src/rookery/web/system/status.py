"""Status of the hub: stores, spool, reports, connected services."""

import asyncio
import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import msgspec

from rookery.errors import RookeryError
from rookery.runtime.version import build
from rookery.store.alerts.deliveries import AlertDeliveries
from rookery.web.site import WebSite

State = Literal["ok", "away", "none"]

# Of the counters of reports and hellos: those that were taken, and those that were refused.
TAKEN = ("reports", "repeats", "hellos")
REFUSED = (
    *("malformed", "plain_refused", "limited", "busy", "unknown", "ahead", "late", "stale"),
    *("forged", "old_secret", "foreign_key", "denied"),
)

_VERSIONS = ("rookery", "litestar", "sqlalchemy", "uvicorn")
_STATM = Path("/proc/self/statm")


class StoreShown(msgspec.Struct, frozen=True, kw_only=True):
    """One of the stores that the hub cannot do without."""

    name: str
    kind: str
    state: State


class SpoolShown(msgspec.Struct, frozen=True, kw_only=True):
    """Reports that are kept for the lake."""

    size_bytes: int
    bytes_max: int
    is_full: bool
    unlanded_bytes: int | None  # None: no lake reads this spool
    failed_writes: int


class ReportsShown(msgspec.Struct, frozen=True, kw_only=True):
    """What comes in by UDP, since the hub was started."""

    rate: float | None  # taken a second, lately
    rates: list[float]  # the same over the last minutes, the oldest first
    taken: dict[str, int]
    refused: dict[str, int]
    undecided: dict[str, int]  # not acknowledged, to be sent again; by reason
    dropped: int  # by the system, its buffer being full


class ConnectedServiceShown(msgspec.Struct, frozen=True, kw_only=True):
    """A service that the hub uses: mesh node or lake."""

    state: State
    detail: str = ""
    counts: dict[str, int] = {}
    changed_at: float | None = None


class LakeRunShown(msgspec.Struct, frozen=True, kw_only=True):
    """The last run of the lake's pipeline."""

    ok: bool
    ended_at: float
    step: str  # at which it failed
    error: str
    host: str  # that has the log
    log: str
    failures: int  # since the last one that was in order


class HubForecastShown(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the forecast of servers."""

    state: str
    expires_at: float | None
    refused: int


class AlertingShown(msgspec.Struct, frozen=True, kw_only=True):
    """State of alerting."""

    is_ours: bool  # whether this hub looks at the fleet; else another of the same database does
    channels: list[str]
    waiting: int  # to be sent
    delivered: int = msgspec.field(name="told")
    failures: int


class SystemShown(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the hub."""

    is_ready: bool
    hub: str  # hashname
    started_at: float
    memory_bytes: int | None
    versions: dict[str, str]
    stores: list[StoreShown]
    spool: SpoolShown
    reports: ReportsShown
    # By kind and state, as of the last count.
    presence: dict[str, dict[str, int]] = msgspec.field(name="census")
    unsaved_entries: int
    clock_steps: int
    refusals: dict[str, int]  # of HTTP, by status or reason
    mesh: ConnectedServiceShown
    lake: ConnectedServiceShown
    lake_run: LakeRunShown | None  # None: of none is anything known
    forecast: HubForecastShown
    alerting: AlertingShown


async def system_now(site: WebSite) -> SystemShown:
    """What does not answer is shown as away; the rest is complete."""
    hub, counts = site.hub, site.hub.counts
    hot, database, mesh, lake, lake_run, alerting = await asyncio.gather(
        hub.hot.ready(),
        hub.database.ready(),
        _mesh(site),
        _lake(site),
        _lake_run(site),
        _alerting(site),
    )
    kind = "SQLite" if hub.database.is_sqlite else "MySQL"
    hot_kind = "memory" if hub.settings.is_hot_in_memory else "Redis"
    return SystemShown(
        is_ready=hot and database,
        hub=hub.link.hashname or "",
        started_at=site.started_at,
        memory_bytes=await asyncio.to_thread(_memory),
        versions=_versions(),
        stores=[
            StoreShown(name="database", kind=kind, state="ok" if database else "away"),
            StoreShown(name="hot store", kind=hot_kind, state="ok" if hot else "away"),
        ],
        spool=_spool(site),
        reports=_reports(site),
        presence=_presence(site),
        unsaved_entries=hub.backlog.unsaved_entries,
        clock_steps=counts.clock_steps,
        refusals=dict(sorted(site.refusals.items())),
        mesh=mesh,
        lake=lake,
        lake_run=lake_run,
        forecast=_forecast(site),
        alerting=alerting,
    )


def _spool(site: WebSite) -> SpoolShown:
    backlog = site.hub.backlog
    return SpoolShown(
        size_bytes=backlog.spool_bytes,
        bytes_max=site.hub.settings.spool.bytes_max,
        is_full=backlog.is_full,
        unlanded_bytes=backlog.unlanded_bytes,
        failed_writes=site.hub.counts.failed_spool_writes,
    )


def _reports(site: WebSite) -> ReportsShown:
    fates: dict[str, int] = msgspec.structs.asdict(site.hub.report_counters)
    counts, rates = site.hub.counts, site.report_rates.rates()
    return ReportsShown(
        rate=round(rates[-1], 2) if rates else None,
        rates=[round(rate, 2) for rate in rates],
        taken={name: fates[name] for name in TAKEN},
        refused={name: fates[name] for name in REFUSED if fates[name]},
        undecided={reason: count for reason, count in counts.undecided_reports.items() if count},
        dropped=counts.dropped_datagrams,
    )


def _presence(site: WebSite) -> dict[str, dict[str, int]]:
    presence = site.hub.presence
    return {
        kind: {state: presence.get((kind, state), 0) for state in ("present", "silent")}
        for kind in ("router", "server")
    }


def _forecast(site: WebSite) -> HubForecastShown:
    forecasts = site.hub.forecasts
    return HubForecastShown(
        state=forecasts.state.value,
        expires_at=forecasts.expires_s or None,
        refused=forecasts.refused,
    )


async def _mesh(site: WebSite) -> ConnectedServiceShown:
    if site.mesh is None:
        return ConnectedServiceShown(state="none")
    try:
        graph = await site.mesh.graph()
    except RookeryError as error:
        return ConnectedServiceShown(state="away", detail=str(error))
    counts = {"members": len(graph.members), "up": sum(each.is_up for each in graph.members)}
    return ConnectedServiceShown(state="ok", counts={**counts, "links": len(graph.links)})


async def _lake(site: WebSite) -> ConnectedServiceShown:
    if site.lake is None:
        return ConnectedServiceShown(state="none")
    try:
        tables = await site.lake.freshness()
    except RookeryError as error:
        return ConnectedServiceShown(state="away", detail=str(error))
    changed_at = max((each.changed_at for each in tables.values()), default=None)
    counts = {"tables": len(tables), "rows": sum(each.rows for each in tables.values())}
    return ConnectedServiceShown(state="ok", counts=counts, changed_at=changed_at)


async def _lake_run(site: WebSite) -> LakeRunShown | None:
    if site.lake is None:
        return None
    try:
        last = await site.lake.last_run()
    except RookeryError:  # shown by the lake's state
        return None
    return None if last is None else msgspec.convert(last, LakeRunShown, from_attributes=True)


async def _alerting(site: WebSite) -> AlertingShown:
    waiting = 0
    with suppress(RookeryError):  # shown by the database's state
        waiting = await AlertDeliveries(site.hub.database).waiting()
    alerting = site.alerting
    return AlertingShown(
        is_ours=alerting.is_ours,
        channels=list(alerting.channels),
        waiting=waiting,
        delivered=alerting.sender.delivered,
        failures=alerting.sender.failures,
    )


def _memory() -> int | None:
    """Resident memory of this process; None where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "build": build()}
    for name in _VERSIONS:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
