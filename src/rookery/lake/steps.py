"""The steps of the pipeline in their order, from landing to insights."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from rookery.lake.clean import clean_rows
from rookery.lake.engine.step import CleanStep, LakeStep, TransformStep
from rookery.lake.facts import edges, hours, link_hours, link_samples, rates, uptime
from rookery.lake.feedback import cost_advice, load_forecast
from rookery.lake.insights import (
    anomalies,
    availability,
    incidents,
    link_flaps,
    link_quality,
    places,
    topology_health,
    traffic,
)
from rookery.lake.schema import clean as cleaned
from rookery.lake.schema import facts, insights
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.schema.table import Table


def _clean(table: Table) -> CleanStep:
    [source] = table.sources
    return CleanStep(
        table,
        BY_PATH[source],
        partial(clean_rows.judged, table),
        partial(clean_rows.fresh, table),
        partial(clean_rows.rejected, table),
        clean_rows.LOOKBACK_DAYS,
    )


def _step(
    table: Table,
    transform: Callable[..., DataFrame],
    lookback_days: int = 0,
    lookahead_days: int = 0,
    weeks: int | None = None,
) -> TransformStep:
    """The transform's arguments are the table's sources, in their order."""

    def transformed(frames: Mapping[str, DataFrame]) -> DataFrame:
        return transform(*(frames[path] for path in table.sources))

    sources = tuple(BY_PATH[path] for path in table.sources)
    return TransformStep(table, sources, transformed, lookback_days, lookahead_days, weeks)


CLEAN = tuple(_clean(table) for table in cleaned.TABLES)

FACTS = (
    _step(facts.DEVICE_RATES, rates.device_rates, rates.LOOKBACK_DAYS),
    _step(facts.UPTIME_INTERVALS, uptime.uptime_intervals, uptime.LOOKBACK_DAYS),
    _step(facts.LINK_SAMPLES, link_samples.link_samples, link_samples.LOOKBACK_DAYS),
    _step(facts.LINK_HOURS, link_hours.link_hours, link_hours.LOOKBACK_DAYS),
    _step(facts.TOPOLOGY_EDGES, edges.topology_edges, edges.LOOKBACK_DAYS),
    _step(facts.DEVICE_HOURS, hours.device_hours),
    _step(facts.SERVER_HOURS, hours.server_hours),
    _step(facts.CALL_HOURS, hours.call_hours),
    _step(facts.SESSIONS, hours.sessions),
    _step(facts.REQUEST_HOURS, hours.request_hours),
    _step(facts.MESSAGE_HOURS, hours.message_hours),
    _step(facts.DECISION_HOURS, hours.decision_hours),
    _step(facts.SECURITY_HOURS, hours.security_hours),
)

_DAYS_SILENT = (availability.LOOKBACK_DAYS, availability.LOOKAHEAD_DAYS)

INSIGHTS = (
    _step(insights.PLACES, places.places),
    _step(insights.OUTAGES, availability.outages, *_DAYS_SILENT),
    _step(insights.AVAILABILITY, availability.availability, *_DAYS_SILENT),
    _step(insights.AVAILABILITY_WEEKS, availability.availability_weeks),
    _step(insights.UPTIME_SESSIONS, availability.uptime_sessions),
    _step(
        insights.TRAFFIC_MINUTES,
        traffic.traffic_minutes,
        traffic.LOOKBACK_DAYS,
        traffic.LOOKAHEAD_DAYS,
    ),
    _step(insights.TRAFFIC_HOURS, traffic.traffic_hours),
    _step(insights.TRAFFIC_DAYS, traffic.traffic_days),
    _step(insights.LINK_QUALITY, link_quality.link_quality, weeks=link_quality.WEEKS),
    _step(insights.LINK_DAYS, link_flaps.link_days, link_flaps.LINK_LOOKBACK_DAYS),
    _step(insights.FLAPPING_LINKS, link_flaps.flapping_links, link_flaps.FLAPPING_LOOKBACK_DAYS),
    _step(insights.TOPOLOGY_HEALTH, topology_health.topology_health),
    _step(insights.CRITICAL_ELEMENTS, topology_health.critical_elements),
    _step(insights.ANOMALIES, anomalies.anomalies, anomalies.LOOKBACK_DAYS),
    replace(
        _step(insights.INCIDENTS, incidents.incidents),
        references=frozenset({insights.PLACES.path}),  # who enrols today changes no past day
    ),
    _step(
        insights.SERVER_LOAD_FORECAST,
        load_forecast.server_load_forecast,
        weeks=load_forecast.WEEKS,
    ),
    _step(insights.LINK_COST_ADVICE, cost_advice.link_cost_advice, weeks=cost_advice.WEEKS),
)

STEPS: tuple[LakeStep, ...] = (*CLEAN, *FACTS, *INSIGHTS)
