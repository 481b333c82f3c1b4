"""Conditions in the lake: incidents and anomalies without an end as of its last run."""

from datetime import UTC, datetime

from rookery.fleet.alerts.alert import AlertCondition, Severity
from rookery.web.insights.lake_reader import HubLakeReader, Row

GOING_ON_S = 2 * 3600.0  # an analysis of the past is that far behind, with its hours
ROWS_MAX = 50
SCORE_MIN = 8.0  # median deviations; what is less is in the insights' own page

_INCIDENTS = """
SELECT id, kind, from_at, to_at, members, entities, sites, cause, cause_entity
FROM insights.incidents WHERE to_at >= ? AND members > 1 ORDER BY members DESC
"""
_ANOMALIES = """
SELECT kind, entity, device, node, peer, from_at, expected, observed
FROM insights.anomalies
WHERE to_at >= ? AND abs(score) >= ? AND kind <> 'silence' ORDER BY abs(score) DESC
"""
_UNITS: dict[str, tuple[float, str]] = {  # a figure of the table is so many of these
    "traffic": (1e-3, "kB/s"),
    "loss": (1e-4, "%"),
    "rtt": (1e-3, "ms"),
    "load": (1e-4, "%"),
    "device load": (1e-3, "processes"),
    "temperature": (1e-3, "°C"),
}
_TITLES = {
    "traffic": "Unusual traffic",
    "loss": "Unusual loss",
    "rtt": "Unusual round trip",
    "load": "Unusual load",
    "device load": "Unusual load",
    "temperature": "Unusual temperature",
}


async def insight_conditions(lake: HubLakeReader, now: float) -> list[AlertCondition]:
    """Those of the last hours, the gravest first."""
    since = datetime.fromtimestamp(now - GOING_ON_S, UTC)
    incidents = await lake.rows(_INCIDENTS, since, rows_max=ROWS_MAX)
    anomalies = await lake.rows(_ANOMALIES, since, SCORE_MIN, rows_max=ROWS_MAX)
    return [*map(_incident, incidents), *map(_anomaly, anomalies)]


def _incident(row: Row) -> AlertCondition:
    cause, entity = _text(row, "cause"), _text(row, "cause_entity")
    severity: Severity = "warning" if _text(row, "kind") == "outage" else "notice"
    entities = row.get("entities")
    return AlertCondition(
        key=f"insight {_text(row, 'id')}",
        kind="insight",
        severity=severity,
        title=f"Failed together: {row.get('members')} of kind {_text(row, 'kind')}",
        cause=f"{cause} {entity}".strip() if cause != "unknown" else "",
        entities=tuple(map(str, entities)) if isinstance(entities, list) else (),
        note=f"{row.get('members')} members",
        began_at=_seconds(row, "from_at"),
        is_immediate=True,
    )


def _anomaly(row: Row) -> AlertCondition:
    kind, entity = _text(row, "kind"), _text(row, "entity")
    factor, unit = _UNITS.get(kind, (1.0, ""))
    figures = [f"{_number(row, name) * factor:.4g} {unit}" for name in ("observed", "expected")]
    return AlertCondition(
        key=f"insight {kind} {entity}",
        kind="insight",
        severity="notice",
        title=f"{_TITLES.get(kind, kind)}: {_entity(row)}",
        entities=(_entity(row),),
        note=f"{figures[0]} where {figures[1]} is usual",
        began_at=_seconds(row, "from_at"),
        is_immediate=True,
    )


def _entity(row: Row) -> str:
    device = _text(row, "device")
    if not device:
        return "link " + " ".join(sorted((_text(row, "node"), _text(row, "peer"))))
    return f"server {device}" if _text(row, "kind") == "load" else f"router {device}"


def _number(row: Row, name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)


def _seconds(row: Row, name: str) -> float | None:
    value = row.get(name)
    return value.timestamp() if isinstance(value, datetime) else None
