"""Telemetry of a device: its last report, and its history.

The last minutes come from this hub's memory, the rest from the lake. Columns, as charts take
them: `at` and the others have the same length, None is a gap.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from rookery.errors import DecodeError
from rookery.fleet.entry import FleetEntry
from rookery.web.http.problems import RequestRefusedError
from rookery.web.insights.lake_reader import Row
from rookery.web.site import WebSite
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.mac import mac_text
from rookery.wire.fleet.telemetry import CHART_FIELDS, SCALAR_FIELDS, DeviceReport

Span = Literal["now", "1h", "24h", "7d", "14d"]


class _TelemetryHead(msgspec.Struct, frozen=True, kw_only=True):
    """History in columns, oldest first."""

    mac: str
    span: Span
    source: Literal["hub", "lake"]
    step_s: int  # of the lake's values, each a mean; 0: reports as they came
    at: list[float]
    received: list[float | None]  # bytes a second
    sent: list[float | None]


if TYPE_CHECKING:
    DeviceTelemetry = _TelemetryHead
else:  # with a column for each field that has a chart
    DeviceTelemetry = msgspec.defstruct(
        "DeviceTelemetry",
        [(field.public_name, list[float | None]) for field in CHART_FIELDS],
        bases=(_TelemetryHead,),
        module=__name__,
        namespace={"__doc__": _TelemetryHead.__doc__},
        frozen=True,
        kw_only=True,
    )


class _TelemetryRange(NamedTuple):
    seconds: int
    step_s: int
    table: str  # of traffic
    column: str


_HOUR, _DAY = 3600, 86_400
_RANGES: dict[str, _TelemetryRange] = {
    "1h": _TelemetryRange(_HOUR, 60, "insights.traffic_minutes", "minute"),
    "24h": _TelemetryRange(_DAY, 900, "insights.traffic_minutes", "minute"),
    "7d": _TelemetryRange(7 * _DAY, 2 * _HOUR, "insights.traffic_hours", "hour"),
    "14d": _TelemetryRange(14 * _DAY, 4 * _HOUR, "insights.traffic_hours", "hour"),
}
_COMBINE = {"mean": "avg", "max": "max"}
_STATES = ", ".join(
    f'{_COMBINE[field.chart]}("{field.public_name}") AS "{field.public_name}"'
    for field in CHART_FIELDS
    if field.in_lake
)
_STATE = f"""
SELECT floor(epoch("at") / $1) * $1 AS t, {_STATES}
FROM clean.device_reports
WHERE reporter = $2 AND date >= CAST($3 AS DATE) AND "at" >= $4
GROUP BY 1 ORDER BY 1
"""  # noqa: S608 - names of the schema
_TRAFFIC = """
SELECT floor(epoch({column}) / $1) * $1 AS t,
       sum(received_bytes)::DOUBLE AS received, sum(sent_bytes)::DOUBLE AS sent,
       sum(covered_ms)::DOUBLE AS covered_ms,
       count(DISTINCT interface) AS interfaces
FROM {table}
WHERE device = $2 AND date >= CAST($3 AS DATE) AND {column} >= $4 AND interface <> 'lo'
GROUP BY 1 ORDER BY 1
"""


def recent_telemetry(site: WebSite, mac: bytes, *, since: float = 0.0) -> DeviceTelemetry:
    """The reports in this hub's memory since then."""
    points = [point for point in site.hub.recent.points(mac) if point.at >= since]
    columns = {
        field.public_name: [point.values[field.public_name] for point in points]
        for field in CHART_FIELDS
    }

    return DeviceTelemetry(
        mac=mac_text(mac),
        span="now",
        source="hub",
        step_s=0,
        at=[point.at for point in points],
        received=[point.received for point in points],
        sent=[point.sent for point in points],
        **columns,  # which only the real struct has
    )


async def lake_telemetry(
    site: WebSite, mac: bytes, span: Span, *, since: float = 0.0
) -> DeviceTelemetry:
    """The lake's rows of the span that ends now, none before `since`."""
    if site.lake is None:
        raise RequestRefusedError(404, "no_lake", "this hub has no lake; start it with --lake")
    chosen = _RANGES[span]
    start = max((site.wall() - chosen.seconds) // chosen.step_s * chosen.step_s, since)
    moment = datetime.fromtimestamp(start, UTC)
    parameters = (chosen.step_s, mac_text(mac), moment.date(), moment)
    sql = _TRAFFIC.format(table=chosen.table, column=chosen.column)
    states = _by_time(await site.lake.rows(_STATE, *parameters))
    traffic = _by_time(await site.lake.rows(sql, *parameters))
    times = sorted(states.keys() | traffic.keys())
    columns = {
        field.public_name: [_number(states.get(at, {}).get(field.public_name)) for at in times]
        for field in CHART_FIELDS
    }

    return DeviceTelemetry(
        mac=mac_text(mac),
        span=span,
        source="lake",
        step_s=chosen.step_s,
        at=times,
        received=[_rate(traffic.get(at), "received") for at in times],
        sent=[_rate(traffic.get(at), "sent") for at in times],
        **columns,  # which only the real struct has
    )


def _by_time(rows: Iterable[Row]) -> dict[float, Row]:
    return {at: row for row in rows if (at := _number(row["t"])) is not None}


def _rate(row: Row | None, name: str) -> float | None:
    """All interfaces together, over the time that any of them was counted in."""
    if row is None:
        return None
    count, covered_ms = _number(row[name]), _number(row["covered_ms"])
    interfaces = _number(row["interfaces"])
    if count is None or not covered_ms or not interfaces:
        return None
    return count * 1000 * interfaces / covered_ms


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


class InterfaceShown(msgspec.Struct, frozen=True, kw_only=True):
    """Counters since the interface came up."""

    name: str
    received_bytes: int
    sent_bytes: int
    received_packets: int
    sent_packets: int
    errors: int
    drops: int


class ReportedLinkShown(msgspec.Struct, frozen=True, kw_only=True):
    """A mesh link of the node beside the agent."""

    peer: str  # hashname
    path: str  # kind of the path in use; empty: none
    rtt_ms: float
    loss: float  # share
    rate_kbps: float


class _ReportHead(msgspec.Struct, frozen=True, kw_only=True):
    """The last report."""

    at: float  # wall seconds, when the hub had it
    sampled_at: float  # the same by the device's own clock
    interfaces: list[InterfaceShown]
    links: list[ReportedLinkShown]


if TYPE_CHECKING:
    DeviceReportShown = _ReportHead
else:  # with all fields that are one value
    DeviceReportShown = msgspec.defstruct(
        "DeviceReportShown",
        [(field.public_name, field.annotation) for field in SCALAR_FIELDS],
        bases=(_ReportHead,),
        module=__name__,
        namespace={"__doc__": _ReportHead.__doc__},
        frozen=True,
        kw_only=True,
    )


def last_report(entry: FleetEntry | None) -> DeviceReportShown | None:
    """None if the device has sent no telemetry that decodes."""
    if entry is None:
        return None
    try:
        report = telemetry.decode(entry.content)
    except DecodeError:
        return None
    if not isinstance(report, DeviceReport):
        return None
    values = {field.public_name: getattr(report, field.name) for field in SCALAR_FIELDS}
    return DeviceReportShown(
        at=entry.last_seen,
        sampled_at=report.t / 1000,
        interfaces=[
            InterfaceShown(name=name, **msgspec.structs.asdict(counters))
            for name, counters in report.ifs.items()
        ],
        links=[
            ReportedLinkShown(**msgspec.structs.asdict(link))
            for link in sorted(report.links, key=lambda link: (not link.path, link.rtt_ms))
        ],
        **values,  # which only the real struct has
    )
