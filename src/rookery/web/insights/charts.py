"""Charts of insights: lines over time, as `chart.js` draws them."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta

import msgspec

from rookery.web.http.problems import RequestRefusedError
from rookery.web.insights.catalogue import insight
from rookery.web.insights.lake_reader import VIEW_KEPT_S, HubLakeReader, Row, Value

POINTS_MAX = 3000
SERVERS_MAX = 8

_TRAFFIC = {
    "traffic_minutes": """
SELECT epoch(minute) AS "at", sum(received_bytes) / 60.0 AS received,
    sum(sent_bytes) / 60.0 AS sent
FROM insights.traffic_minutes WHERE date > ? AND minute > ? {of_device}
GROUP BY minute ORDER BY minute""",
    "traffic_hours": """
SELECT epoch(hour) AS "at", sum(received_bytes) / 3600.0 AS received,
    sum(sent_bytes) / 3600.0 AS sent
FROM insights.traffic_hours WHERE date > ? {of_device}
GROUP BY hour ORDER BY hour""",
    "traffic_days": """
SELECT epoch(day) AS "at", sum(received_bytes) / 86400.0 AS received,
    sum(sent_bytes) / 86400.0 AS sent
FROM insights.traffic_days WHERE date > ? {of_device}
GROUP BY day ORDER BY day""",
}
_DAYS = {"traffic_minutes": 1, "traffic_hours": 14, "traffic_days": 365, "topology_health": 14}
_LAST_MINUTE = "SELECT max(minute) AS last FROM insights.traffic_minutes WHERE date > ?"
_MINUTES = timedelta(hours=6)
_TOPOLOGY = """
SELECT epoch(hour) AS "at", sum(nodes)::DOUBLE AS nodes, sum(edges)::DOUBLE AS edges,
    sum(articulation_points)::DOUBLE AS articulation_points, sum(bridges)::DOUBLE AS bridges
FROM insights.topology_health WHERE date > ? GROUP BY hour ORDER BY hour"""
_FORECAST = """
SELECT epoch(hour) AS "at", server, share FROM insights.server_load_forecast ORDER BY hour"""

NAMES = frozenset({*_TRAFFIC, "topology_health", "server_load_forecast"})


class ChartLine(msgspec.Struct, frozen=True, kw_only=True):
    """One series."""

    label: str
    values: list[float | None]


class InsightChart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines over the same times."""

    unit: str  # as in chart.js: `bytes/s`, `ratio`, or none
    times: list[float]  # wall seconds
    series: list[ChartLine]


async def chart(lake: HubLakeReader, name: str, text: str, now: float) -> InsightChart:
    """A problem of 404 for insights that are no lines over time."""
    if name not in NAMES:
        raise RequestRefusedError(404, "unknown", "this insight has no chart")
    last = (await insight(lake, name, now)).last
    if name == "server_load_forecast":
        return _by_server(await lake.rows(_FORECAST, rows_max=POINTS_MAX, kept_s=VIEW_KEPT_S))
    if not last:
        return InsightChart(unit="", times=[], series=[])
    since = date.fromisoformat(last) - timedelta(days=_DAYS[name])
    if name == "topology_health":
        rows = await lake.rows(_TOPOLOGY, since, rows_max=POINTS_MAX, kept_s=VIEW_KEPT_S)
        return _chart(rows, "", ("nodes", "edges", "articulation_points", "bridges"))
    sql = _TRAFFIC[name].format(of_device="AND contains(device, ?)" if text else "")
    parameters: list[Value] = [since]
    if name == "traffic_minutes":
        [row] = await lake.rows(_LAST_MINUTE, since, kept_s=VIEW_KEPT_S)
        newest = row["last"]
        assert isinstance(newest, datetime)
        parameters.append(newest - _MINUTES)
    if text:
        parameters.append(text.lower())
    rows = await lake.rows(sql, *parameters, rows_max=POINTS_MAX, kept_s=VIEW_KEPT_S)
    return _chart(rows, "bytes/s", ("received", "sent"))


def _chart(rows: list[Row], unit: str, names: Iterable[str]) -> InsightChart:
    return InsightChart(
        unit=unit,
        times=[_number(row["at"]) or 0.0 for row in rows],
        series=[
            ChartLine(label=name, values=[_number(row[name]) for row in rows]) for name in names
        ],
    )


def _by_server(rows: list[Row]) -> InsightChart:
    times = sorted({_number(row["at"]) or 0.0 for row in rows})
    shares: dict[str, dict[float, float | None]] = {}
    for row in rows:
        hours = shares.setdefault(str(row["server"]), {})
        hours[_number(row["at"]) or 0.0] = _number(row["share"])
    return InsightChart(
        unit="ratio",
        times=times,
        series=[
            ChartLine(label=server, values=[hours.get(at) for at in times])
            for server, hours in sorted(shares.items())[:SERVERS_MAX]
        ],
    )


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
