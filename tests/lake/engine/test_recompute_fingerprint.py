"""What concerns the day before is known, so that it is computed anew when it must be (P3)."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from rookery.lake.engine import commit, spark_tables
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.schema.facts import DEVICE_RATES
from rookery.lake.schema.insights import LINEAGE, TRAFFIC_MINUTES
from rookery.lake.steps import STEPS
from tests.lake.fact_tables import made, spark_frame
from tests.lake.insights.test_traffic import delta
from tests.lake.oracle.database import differences

pytestmark = pytest.mark.xdist_group("spark")

MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)
TODAY = MIDNIGHT.date()
YESTERDAY = TODAY - timedelta(days=1)
MINUTE = timedelta(minutes=1)

Delta = dict[str, object]


def span(minute: int, minutes: int, received: int) -> Delta:
    """A delta from a minute after midnight on, or before it."""
    since = MIDNIGHT + minute * MINUTE
    return delta(since, since + minutes * MINUTE, received, 0, 0, 0)


def put(tables: SparkTables, day: date, rows: Iterable[Delta]) -> None:
    frame = spark_frame(tables.spark, DEVICE_RATES, made(DEVICE_RATES, list(rows)))
    tables.replace(DEVICE_RATES, frame, [day], [], {})


def recomputed(tables: SparkTables) -> set[date]:
    """The days of traffic that a run writes."""
    steps = [each for each in STEPS if each.target == TRAFFIC_MINUTES]
    before = tables.lake.version(TRAFFIC_MINUTES)
    report = Pipeline(tables, steps).run()
    assert report.is_ok, report
    changes = tables.lake.changes(TRAFFIC_MINUTES, before)
    assert changes is not None
    return set(changes.dates or tables.lake.dates(TRAFFIC_MINUTES))


def test_a_day_before_is_recomputed_only_when_the_fingerprint_changed(
    spark: SparkSession, lake: Lake
) -> None:
    tables = SparkTables(spark, lake)
    over_midnight, morning = span(-10, 20, 1000), span(600, 1, 7)
    put(tables, YESTERDAY, [span(-600, 5, 50)])
    put(tables, TODAY, [over_midnight, morning])
    assert recomputed(tables) == {YESTERDAY, TODAY}
    put(tables, TODAY, [morning, span(660, 1, 8), over_midnight])
    assert recomputed(tables) == {TODAY}
    put(tables, TODAY, [span(-10, 20, 2000), morning])
    assert recomputed(tables) == {YESTERDAY, TODAY}
    put(tables, TODAY, [morning])
    assert recomputed(tables) == {YESTERDAY, TODAY}
    put(tables, TODAY, [morning, span(-10, 20, 3000)])
    recomputed(tables)
    at_once = SparkTables(spark, Lake(f"{lake.url}/at-once"))
    put(at_once, YESTERDAY, [span(-600, 5, 50)])
    put(at_once, TODAY, [morning, span(-10, 20, 3000)])
    recomputed(at_once)
    found, known = (
        each.lake.dataset(TRAFFIC_MINUTES).to_table().drop_columns([LINEAGE.name])
        for each in (tables, at_once)
    )
    assert differences(known, found) == []


def test_many_days_get_no_mark(spark: SparkSession, lake: Lake) -> None:
    tables = SparkTables(spark, lake)
    days = [
        TODAY + timedelta(days=number) for number in range(spark_tables.FINGERPRINT_DAYS_MAX + 1)
    ]
    rows = spark_frame(spark, DEVICE_RATES, made(DEVICE_RATES, [span(-10, 20, 1000)]))
    tables.replace(DEVICE_RATES, rows, days[:-1], [], {})
    tables.replace(DEVICE_RATES, rows, days, [], {})
    many, few, *_ = lake.delta_table(DEVICE_RATES).history()
    assert commit.FINGERPRINT in few
    assert commit.FINGERPRINT not in many
