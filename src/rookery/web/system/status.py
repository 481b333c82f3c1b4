"""The hub itself: its stores, its spool, what comes in, and what stands beside it."""

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
from rookery.web.system.metrics_history import REFUSED, TAKEN, HubMetricSamples

State = Literal["ok", "away", "none"]

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
    unlanded_bytes: int | None  # None: nobody lands it
    failed_writes: int


class ReportsShown(msgspec.Struct, frozen=True, kw_only=True):
    """What comes in by UDP, since the hub was started."""

    rate: float | None  # taken a second, lately
    rates: list[float]  # the same over the last minutes, the oldest first
    taken: dict[str, int]
    refused: dict[str, int]
    undecided: dict[str, int]  # left to come again, by reason
    dropped: int  # that the system had no room for


class ConnectedServiceShown(msgspec.Struct, frozen=True, kw_only=True):
    """Something beside the hub: the mesh's node, the lake."""

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
    """How alerts are found and told."""

    is_ours: bool  # whether this hub looks at the fleet; else another of the same database does
    channels: list[str]
    waiting: int  # to be told outside
    told: int
    failures: int


class SystemShown(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    is_ready: bool
    hub: str  # hashname
    started_at: float
    memory_bytes: int | None
    versions: dict[str, str]
    stores: list[StoreShown]
    spool: SpoolShown
    reports: ReportsShown
    census: dict[str, dict[str, int]]  # by kind and state, as of the last count
    unsaved_entries: int
    clock_steps: int
    refusals: dict[str, int]  # of HTTP, by status or reason
    mesh: ConnectedServiceShown
    lake: ConnectedServiceShown
    lake_run: LakeRunShown | None  # None: of none is anything known
    forecast: HubForecastShown
    alerting: AlertingShown


async def system_now(site: WebSite) -> SystemShown:
    """Whatever does not answer is away, and the rest is there all the same."""
    hub, figures = site.hub, site.metrics.figures()
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
        started_at=site.metrics.started_at,
        memory_bytes=await asyncio.to_thread(_memory),
        versions=_versions(),
        stores=[
            StoreShown(name="database", kind=kind, state="ok" if database else "away"),
            StoreShown(name="hot store", kind=hot_kind, state="ok" if hot else "away"),
        ],
        spool=_spool(site, figures),
        reports=_reports(site, figures),
        census=_presence(figures),
        unsaved_entries=_whole(figures, "rookery_unsaved_entries"),
        clock_steps=_whole(figures, "rookery_clock_steps_total"),
        refusals=dict(sorted(site.refusals.items())),
        mesh=mesh,
        lake=lake,
        lake_run=lake_run,
        forecast=_forecast(figures),
        alerting=alerting,
    )


def _whole(figures: HubMetricSamples, name: str) -> int:
    return int(figures.get(name) or 0)


def _spool(site: WebSite, figures: HubMetricSamples) -> SpoolShown:
    unlanded = figures.get("rookery_spool_unlanded_bytes")
    return SpoolShown(
        size_bytes=_whole(figures, "rookery_spool_size_bytes"),
        bytes_max=site.hub.settings.spool.bytes_max,
        is_full=bool(figures.get("rookery_spool_is_full")),
        unlanded_bytes=None if unlanded is None else int(unlanded),
        failed_writes=_whole(figures, "rookery_spool_failed_writes_total"),
    )


def _reports(site: WebSite, figures: HubMetricSamples) -> ReportsShown:
    fates = figures.by("rookery_report_datagrams_total", "fate")
    rates = site.metrics.rates()
    undecided = figures.by("rookery_undecided_reports_total", "reason")
    return ReportsShown(
        rate=round(rates[-1], 2) if rates else None,
        rates=[round(rate, 2) for rate in rates],
        taken={name: int(fates.get(name, 0)) for name in TAKEN},
        refused={name: int(fates[name]) for name in REFUSED if fates.get(name)},
        undecided={name: int(count) for name, count in undecided.items() if count},
        dropped=_whole(figures, "rookery_socket_dropped_datagrams_total"),
    )


def _presence(figures: HubMetricSamples) -> dict[str, dict[str, int]]:
    return {
        kind: {
            state: int(figures.get("rookery_reporters", kind=kind, state=state) or 0)
            for state in ("present", "silent")
        }
        for kind in ("router", "server")
    }


def _forecast(figures: HubMetricSamples) -> HubForecastShown:
    states = figures.by("rookery_forecast_state", "state")
    expires = figures.get("rookery_forecast_expires_seconds")
    return HubForecastShown(
        state=next((name for name, is_so in states.items() if is_so), "off"),
        expires_at=expires or None,
        refused=_whole(figures, "rookery_forecast_refused_files_total"),
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
    except RookeryError:  # the lake's state says so itself
        return None
    return None if last is None else msgspec.convert(last, LakeRunShown, from_attributes=True)


async def _alerting(site: WebSite) -> AlertingShown:
    waiting = 0
    with suppress(RookeryError):  # the database's state says so itself
        waiting = await AlertDeliveries(site.hub.database).waiting()
    alerting = site.alerting
    return AlertingShown(
        is_ours=alerting.is_ours,
        channels=list(alerting.channels),
        waiting=waiting,
        told=alerting.sender.delivered,
        failures=alerting.sender.failures,
    )


def _memory() -> int | None:
    """What of this process is in memory, where the system tells."""
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
