"""When devices were there (P3)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts import uptime
from rookery.lake.schema import clean, facts
from tests.lake.frames import frame, noon

pytestmark = pytest.mark.xdist_group("spark")

MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)


def reports(reporter: str, boot: int, *times: datetime) -> list[dict[str, object]]:
    return [{"reporter": reporter, "boot": boot, "at": at} for at in times]


def test_a_gap_or_a_start_ends_an_interval_and_midnight_cuts_it(spark: SparkSession) -> None:
    before, after = MIDNIGHT - timedelta(seconds=20), MIDNIGHT + timedelta(seconds=20)
    later = MIDNIGHT + timedelta(seconds=86)
    rows = [
        *reports("a", 1, noon(65), noon(0), noon(130.001), noon(140)),
        *reports("a", 2, noon(150), noon(150)),
        *reports("b", 1, before, after, later),
        *reports("clone", 1, noon(0), noon(20), noon(40)),
        *reports("clone", 2, noon(10), noon(30), noon(300)),
    ]
    found = uptime.uptime_intervals(frame(spark, clean.DEVICE_REPORTS, rows))
    day, next_day = before.date(), after.date()
    second = 1_000_000
    expected = [
        ("a", 1, noon(0), noon(65), 65 * second, 2, False, day),
        ("a", 1, noon(130.001), noon(140), 9_999_000, 2, False, day),
        ("a", 2, noon(150), noon(150), 0, 2, False, day),
        ("b", 1, before, before, 0, 1, False, day),
        ("b", 1, before, after, 40 * second, 1, True, next_day),
        ("b", 1, later, later, 0, 1, False, next_day),
        ("clone", 1, noon(0), noon(40), 40 * second, 3, False, day),
        ("clone", 2, noon(10), noon(30), 20 * second, 2, False, day),
        ("clone", 2, noon(300), noon(300), 0, 1, False, day),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.UPTIME_INTERVALS.struct))


def test_how_long_a_gap_may_be_is_a_parameter(spark: SparkSession) -> None:
    rows = frame(spark, clean.DEVICE_REPORTS, reports("a", 1, noon(0), noon(300), noon(900)))
    found = uptime.uptime_intervals(rows, gap_max_s=300).select("reports").collect()
    assert sorted(row.reports for row in found) == [1, 2]
