"""Steps from facts to insights: what each follows from, and how far back and ahead it looks."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from rookery.lake import (
    anomalies,
    availability,
    cost_advice,
    incidents,
    link_quality,
    load_forecast,
    places,
    topology_health,
    traffic,
)
from rookery.lake.schema import clean, facts, insights
from rookery.lake.schema.table import Table
from rookery.lake.step import Step

AVAILABILITY_WEEKS = 53
UPTIME_WEEKS = 13

_SOURCES = {table.path: table for table in (*clean.TABLES, *facts.TABLES, *insights.TABLES)}


def _days(
    target: Table, transform: Callable[..., DataFrame], lookback_days: int, lookahead_days: int
) -> Step:
    sources = tuple(_SOURCES[path] for path in target.sources)
    return Step(target, sources, _called(target, transform), lookback_days, lookahead_days)


def _whole(target: Table, transform: Callable[..., DataFrame], weeks: int | None) -> Step:
    sources = tuple(_SOURCES[path] for path in target.sources)
    return Step(target, sources, _called(target, transform), weeks=weeks)


def _called(
    target: Table, transform: Callable[..., DataFrame]
) -> Callable[[Mapping[str, DataFrame]], DataFrame]:
    """Arguments of a transform are the table's sources, in their order."""
    return lambda frames: transform(*(frames[path] for path in target.sources))


_SEEN = (availability.LOOKBACK_DAYS, availability.LOOKAHEAD_DAYS)

INSIGHTS = (
    _whole(insights.PLACES, places.places, None),
    _days(insights.OUTAGES, availability.outages, *_SEEN),
    _days(insights.AVAILABILITY, availability.availability, *_SEEN),
    _whole(insights.AVAILABILITY_WEEKS, availability.availability_weeks, AVAILABILITY_WEEKS),
    _whole(insights.UPTIME_SESSIONS, availability.uptime_sessions, UPTIME_WEEKS),
    _days(
        insights.TRAFFIC_MINUTES,
        traffic.traffic_minutes,
        traffic.LOOKBACK_DAYS,
        traffic.LOOKAHEAD_DAYS,
    ),
    _days(insights.TRAFFIC_HOURS, traffic.traffic_hours, 0, 0),
    _days(insights.TRAFFIC_DAYS, traffic.traffic_days, 0, 0),
    _whole(insights.LINK_QUALITY, link_quality.link_quality, link_quality.WEEKS),
    _days(
        insights.TOPOLOGY_HEALTH,
        topology_health.topology_health,
        topology_health.LOOKBACK_DAYS,
        topology_health.LOOKAHEAD_DAYS,
    ),
    _days(
        insights.CRITICAL_ELEMENTS,
        topology_health.critical_elements,
        topology_health.LOOKBACK_DAYS,
        topology_health.LOOKAHEAD_DAYS,
    ),
    _days(
        insights.ANOMALIES,
        anomalies.anomalies,
        anomalies.LOOKBACK_DAYS,
        anomalies.LOOKAHEAD_DAYS,
    ),
    Step(
        insights.INCIDENTS,
        tuple(_SOURCES[path] for path in insights.INCIDENTS.sources),
        _called(insights.INCIDENTS, incidents.incidents),
        incidents.LOOKBACK_DAYS,
        incidents.LOOKAHEAD_DAYS,
        references=frozenset({insights.PLACES.path}),
    ),
    _whole(insights.SERVER_LOAD_FORECAST, load_forecast.server_load_forecast, load_forecast.WEEKS),
    _whole(insights.LINK_COST_ADVICE, cost_advice.link_cost_advice, cost_advice.WEEKS),
)
"""In an order in which each follows from those before it."""
