"""What interfaces carried, to the byte (P4)."""

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.insights import traffic
from rookery.lake.schema.facts import DEVICE_RATES
from rookery.lake.schema.insights import TRAFFIC_DAYS, TRAFFIC_HOURS, TRAFFIC_MINUTES
from tests.lake.fact_tables import computed, expected, facts_of, made, spark_frame
from tests.lake.oracle import database
from tests.lake.oracle import traffic as oracle
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
COUNTERS = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")


def delta(
    since: datetime, until: datetime, *counts: int, interface: str = "wan0"
) -> dict[str, object]:
    return {
        "reporter": "r",
        "boot": 1,
        "interface": interface,
        "sequence": 1,
        "since": since,
        "at": until,
        "span_us": (until - since) // timedelta(microseconds=1),
        **dict(zip(COUNTERS, counts, strict=True)),
        "date": until.date(),
    }


def test_a_delta_belongs_to_the_minutes_it_lies_in(spark: SparkSession) -> None:
    """Of 100 bytes in 100 s from 12:00:30 on, 30 are of the first minute; 7 packets are 2, 4, 1."""
    second = timedelta(seconds=1)
    rows = [
        delta(NOON + 30 * second, NOON + 130 * second, 100, 1000, 7, 10),
        delta(NOON + 130 * second, NOON + 130 * second, 5, 0, 0, 0),  # at one moment
        delta(NOON + 130 * second, NOON + 180 * second, 50, 0, 0, 0),  # up to the minute's end
    ]
    minutes = traffic.traffic_minutes(spark_frame(spark, DEVICE_RATES, made(DEVICE_RATES, rows)))
    day = NOON.date()
    known = [
        ("r", "wan0", NOON, 30_000, 30, 300, 2, 3, 8.0, 80.0, day),
        ("r", "wan0", NOON + 60 * second, 60_000, 60, 600, 4, 6, 8.0, 80.0, day),
        ("r", "wan0", NOON + 120 * second, 60_000, 65, 100, 1, 1, 65 * 8 / 60, 100 * 8 / 60, day),
    ]
    assertDataFrameEqual(minutes, spark.createDataFrame(known, minutes.schema), rtol=0, atol=0)
    hours = traffic.traffic_hours(minutes)
    in_hour = (150_000, 155, 1000, 7, 10, 155 * 8 / 150, 1000 * 8 / 150, 65 * 8 / 60, 80.0)
    [hour] = hours.collect()
    assert tuple(hour) == ("r", "wan0", NOON.replace(tzinfo=None), *in_hour, day)


def test_a_history_is_what_duckdb_makes_of_it(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: row for row, and nothing is lost or made up on the way to days."""
    facts = facts_of(synthetic.lake.url)
    rates = facts[DEVICE_RATES.path]
    devices = [synthetic.dataset.population.device_id(each) for each in (0, 3, 8, 10)]  # see faults
    some = rates.filter(pc.field("reporter").isin(devices))
    minutes = traffic.traffic_minutes(spark_frame(spark, DEVICE_RATES, some)).cache()
    tables = {TRAFFIC_MINUTES.path: computed(TRAFFIC_MINUTES, minutes)}
    hours = traffic.traffic_hours(minutes)
    tables[TRAFFIC_HOURS.path] = computed(TRAFFIC_HOURS, hours)
    tables[TRAFFIC_DAYS.path] = computed(TRAFFIC_DAYS, traffic.traffic_days(hours))
    minutes.unpersist()
    for table, sql in (
        (TRAFFIC_MINUTES, oracle.minutes_sql()),
        (TRAFFIC_HOURS, oracle.longer_sql("hour")),
        (TRAFFIC_DAYS, oracle.longer_sql("day")),
    ):
        sources = {DEVICE_RATES.path: some, TRAFFIC_MINUTES.path: tables[TRAFFIC_MINUTES.path]}
        known = expected(table, sources, sql)
        assert known.num_rows > 0
        assert database.differences(known, tables[table.path]) == []
        for name in COUNTERS:
            assert pc.sum(tables[table.path][name]) == pc.sum(some[name])


def test_a_day_alone_is_the_same_as_among_others(spark: SparkSession) -> None:
    """P3: what was counted over midnight is part of both days, whichever is recomputed."""
    chance = random.Random(3)
    rows, now = [], NOON
    while now < NOON + timedelta(days=4):
        until = now + timedelta(milliseconds=chance.choice((1, 10_000, 3_600_000, 82_800_000)))
        counts = [chance.randrange(1 << chance.choice((1, 20, 43))) for _ in COUNTERS]
        rows.append(delta(now, until, *counts))
        now = until
    whole = made(DEVICE_RATES, rows)
    known = expected(TRAFFIC_MINUTES, {DEVICE_RATES.path: whole}, oracle.minutes_sql())
    day = NOON.date() + timedelta(days=2)
    last = day + timedelta(days=traffic.LOOKAHEAD_DAYS)
    near = whole.filter((pc.field("date") >= day) & (pc.field("date") <= last))
    alone = computed(
        TRAFFIC_MINUTES, traffic.traffic_minutes(spark_frame(spark, DEVICE_RATES, near))
    )
    of_day = pc.field("date") == day
    assert known.filter(of_day).num_rows == 24 * 60
    assert database.differences(known.filter(of_day), alone.filter(of_day)) == []
    sums = [pc.sum(known[name]) for name in COUNTERS]
    assert sums == [pc.sum(pa.chunked_array(whole[name])) for name in COUNTERS]
