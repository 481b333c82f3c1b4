"""Availability of devices, of the time that they are expected (P4)."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.insights import availability
from rookery.lake.schema.facts import UPTIME_INTERVALS
from rookery.lake.schema.insights import (
    AVAILABILITY,
    AVAILABILITY_WEEKS,
    OUTAGES,
    UPTIME_SESSIONS,
)
from tests.lake.fact_tables import computed, expected, facts_of, made, spark_frame
from tests.lake.oracle import availability as oracle
from tests.lake.oracle import database
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR_US = 3_600_000_000
MINUTE_US = 60_000_000


def at(day: int, hours: float = 0.0) -> datetime:
    return MONDAY + timedelta(days=day, hours=hours)


def interval(
    reporter: str, boot: int, from_at: datetime, to_at: datetime, is_continued: bool = False
) -> dict[str, object]:
    return {
        "reporter": reporter,
        "boot": boot,
        "from_at": from_at,
        "to_at": to_at,
        "up_us": (to_at - from_at) // timedelta(microseconds=1),
        "reports": 10,
        "is_continued": is_continued,
        "date": to_at.date(),
    }


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """`gone` is last heard of on Monday; `new` comes on Tuesday and reboots; `old` stays."""
    last = at(2) - timedelta(seconds=10)
    return made(
        UPTIME_INTERVALS,
        [
            interval("gone", 1, at(0, 12), at(0, 13)),
            interval("old", 1, at(0, 9), at(0, 13)),
            interval("old", 1, at(1), last),
            interval("old", 1, last, at(2, 18), is_continued=True),
            interval("new", 1, at(1, 6), at(1, 12)),
            interval("new", 2, at(1, 12.5), last),
            interval("new", 2, last, at(2, 17), is_continued=True),
        ],
    )


def frame(spark: SparkSession, rows: Sequence[tuple[object, ...]], like: DataFrame) -> DataFrame:
    return spark.createDataFrame(rows, like.schema)


def test_what_is_missed_is_missed_from_the_first_report_on(
    spark: SparkSession, rows: pa.Table
) -> None:
    found = availability.availability(spark_frame(spark, UPTIME_INTERVALS, rows))
    hours = [
        # device, there, expected, outages, the longest, reboots, day
        ("gone", 1, 1, 0, 0, 0, 0),
        ("old", 4, 4, 0, 0, 0, 0),
        ("gone", 0, 24, 1, 24, 0, 1),
        ("old", 24, 24, 0, 0, 0, 1),
        ("new", 17.5, 18, 1, 0.5, 1, 1),
        ("gone", 0, 18, 1, 18, 0, 2),
        ("old", 18, 18, 0, 0, 0, 2),
        ("new", 17, 18, 1, 1, 0, 2),
    ]
    known = [
        (
            device,
            int(there * HOUR_US),
            int(should * HOUR_US),
            there / should,
            outages,
            int(longest * HOUR_US),
            reboots,
            at(day).date(),
        )
        for device, there, should, outages, longest, reboots, day in hours
    ]
    assertDataFrameEqual(found, frame(spark, known, found))


def test_an_outage_ends_with_midnight_or_with_what_is_known(
    spark: SparkSession, rows: pa.Table
) -> None:
    found = availability.outages(spark_frame(spark, UPTIME_INTERVALS, rows))
    known = [
        ("gone", at(1), at(2), 24 * HOUR_US, False, True, at(1).date()),
        ("gone", at(2), at(2, 18), 18 * HOUR_US, False, True, at(2).date()),
        ("new", at(1, 12), at(1, 12.5), HOUR_US // 2, True, False, at(1).date()),
        ("new", at(2, 17), at(2, 18), HOUR_US, False, True, at(2).date()),
    ]
    assertDataFrameEqual(found, frame(spark, known, found))


def test_a_start_takes_65_seconds_and_not_a_microsecond_more(spark: SparkSession) -> None:
    """What may lie between two reports is no outage, but the device was absent."""
    edge, beyond = timedelta(seconds=65), timedelta(seconds=65, microseconds=1)
    intervals = spark_frame(
        spark,
        UPTIME_INTERVALS,
        made(
            UPTIME_INTERVALS,
            [
                interval("quick", 1, at(0), at(0, 12)),
                interval("quick", 2, at(0, 12) + edge, at(0, 18)),
                interval("slow", 1, at(0), at(0, 12)),
                interval("slow", 2, at(0, 12) + beyond, at(0, 18)),
            ],
        ),
    )
    [outage] = availability.outages(intervals).collect()
    assert (outage.device, outage.lasted_us) == ("slow", 65_000_001)
    days = {row.device: row for row in availability.availability(intervals).collect()}
    assert [days[each].outages for each in ("quick", "slow")] == [0, 1]
    assert days["quick"].present_us == 18 * HOUR_US - 65_000_000


def test_a_boot_after_a_week_is_a_reboot_and_after_longer_a_new_device(spark: SparkSession) -> None:
    intervals = made(
        UPTIME_INTERVALS,
        [
            interval("week", 1, at(0), at(0, 12)),
            interval("week", 2, at(7, 6), at(7, 12)),
            interval("longer", 1, at(0), at(0, 12)),
            interval("longer", 2, at(8, 6), at(8, 12)),
        ],
    )
    found = availability.availability(spark_frame(spark, UPTIME_INTERVALS, intervals)).collect()
    days = {(row.device, row.date): (row.expected_us, row.reboots) for row in found}
    assert days["week", at(7).date()] == (12 * HOUR_US, 1)
    assert days["longer", at(8).date()] == (6 * HOUR_US, 0)


def test_a_week_keeps_the_promise_or_does_not(spark: SparkSession) -> None:
    week = 7 * 24 * HOUR_US
    days = [
        ("good", week - week // 1000, week, 0.0, 1, MINUTE_US, 1, date(2026, 3, 4)),
        ("good", 0, 0, None, 0, 0, 0, date(2026, 3, 8)),
        ("bad", week - week // 1000 - 1, week, 0.0, 2, MINUTE_US, 3, date(2026, 3, 2)),
        ("good", 5, 10, 0.5, 0, 0, 0, date(2026, 3, 9)),
    ]
    schema = [field for field in AVAILABILITY.struct if field.name != "lineage"]
    found = availability.availability_weeks(
        spark.createDataFrame(days, type(AVAILABILITY.struct)(schema))
    )
    longest, present = MINUTE_US, week - week // 1000
    known = [
        ("good", date(2026, 3, 2), 2, present, week, 0.999, 1, longest, 1, 0.999, True),
        ("good", date(2026, 3, 9), 1, 5, 10, 0.5, 0, 0, 0, 0.999, False),
        (
            "bad",
            date(2026, 3, 2),
            1,
            present - 1,
            week,
            (present - 1) / week,
            2,
            longest,
            3,
            0.999,
            False,
        ),
    ]
    assertDataFrameEqual(found, frame(spark, known, found))


def test_a_session_goes_on_over_midnight(spark: SparkSession, rows: pa.Table) -> None:
    found = availability.uptime_sessions(spark_frame(spark, UPTIME_INTERVALS, rows))
    known = [
        ("gone", 1, at(0, 12), at(0, 13), HOUR_US, 10, 1),
        ("old", 1, at(0, 9), at(0, 13), 4 * HOUR_US, 10, 1),
        ("old", 1, at(1), at(2, 18), 42 * HOUR_US, 20, 2),
        ("new", 1, at(1, 6), at(1, 12), 6 * HOUR_US, 10, 1),
        ("new", 2, at(1, 12.5), at(2, 17), 57 * HOUR_US // 2, 20, 2),
    ]
    assertDataFrameEqual(found, frame(spark, known, found))


def test_a_history_is_what_duckdb_makes_of_it(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: row for row; and outages that were planted are found."""
    facts = facts_of(synthetic.lake.url)
    intervals = spark_frame(spark, UPTIME_INTERVALS, facts[UPTIME_INTERVALS.path]).cache()
    days = computed(AVAILABILITY, availability.availability(intervals))
    outages = computed(OUTAGES, availability.outages(intervals))
    sessions = computed(UPTIME_SESSIONS, availability.uptime_sessions(intervals))
    weeks = computed(
        AVAILABILITY_WEEKS,
        availability.availability_weeks(
            spark.createDataFrame(days.append_column("lineage", pa.nulls(len(days), pa.string())))
        ),
    )
    intervals.unpersist()
    facts = {**facts, AVAILABILITY.path: days}
    for table, found, sql in (
        (AVAILABILITY, days, oracle.sql()),
        (OUTAGES, outages, oracle.outages_sql()),
        (UPTIME_SESSIONS, sessions, oracle.sessions_sql()),
        (AVAILABILITY_WEEKS, weeks, oracle.weeks_sql()),
    ):
        known = expected(table, facts, sql)
        assert known.num_rows > 0
        assert database.differences(known, found) == []
    for planted in synthetic.truth.outages():
        of_device = outages.filter(pc.equal(outages["device"], planted.sender)).to_pylist()
        assert any(
            each["from_at"] <= planted.from_at
            and each["to_at"] >= min(planted.to_at, each["to_at"])
            for each in of_device
        ), planted


def test_a_day_alone_is_the_same_as_among_others(spark: SparkSession) -> None:
    """P3: what is recomputed with a day does not matter, nor how long ago somebody was there."""
    chance = random.Random(7)
    rows = [each for device in range(12) for each in random_intervals(chance, f"d{device:02}")]
    whole = made(UPTIME_INTERVALS, rows)
    known = expected(AVAILABILITY, {UPTIME_INTERVALS.path: whole}, oracle.sql())
    out = expected(OUTAGES, {UPTIME_INTERVALS.path: whole}, oracle.outages_sql())
    for day in (at(9).date(), at(18).date()):
        first = day - timedelta(days=availability.LOOKBACK_DAYS)
        last = day + timedelta(days=availability.LOOKAHEAD_DAYS)
        near = whole.filter((pc.field("date") >= first) & (pc.field("date") <= last))
        intervals = spark_frame(spark, UPTIME_INTERVALS, near)
        alone = computed(AVAILABILITY, availability.availability(intervals))
        lost = computed(OUTAGES, availability.outages(intervals))
        of_day = pc.field("date") == day
        assert known.filter(of_day).num_rows > 0
        assert database.differences(known.filter(of_day), alone.filter(of_day)) == []
        assert database.differences(out.filter(of_day), lost.filter(of_day)) == []


def random_intervals(chance: random.Random, reporter: str) -> list[dict[str, object]]:
    """Three weeks with absences of minutes to twelve days; some starts come back, as clones do."""
    now, boot, found = at(chance.randint(0, 3), 24 * chance.random()), 1, []
    while now < at(21):
        end = now + timedelta(seconds=chance.choice((0, 600, 40_000, 200_000)))
        midnight = datetime.combine(now.date(), datetime.min.time(), UTC) + timedelta(days=1)
        since, is_continued = now, False
        while end > midnight:
            last = midnight - timedelta(seconds=chance.randint(1, 30))
            if last > since:
                found.append(interval(reporter, boot, since, last, is_continued))
                since, is_continued = last, True
            midnight += timedelta(days=1)
        if end > since or not is_continued:
            found.append(interval(reporter, boot, since, end, is_continued))
        now = end + timedelta(seconds=chance.choice((30, 90, 5_000, 90_000, 700_000, 1_050_000)))
        boot = chance.choice((boot, boot + 1, max(boot - 1, 1)))
    return found
