"""Availability: how long a device was present, of the time that it was expected.

    reports       ×××××××  ×××××    ××××××××××|×××        |: midnight
    expected   |--------------------------------|         from midnight, or from the first report
    outages           ~~~~     ~~~~                       more than a minute without any

A device is expected if it reported in the week before; after a longer silence only from its next
report on. If no device at all reported until midnight, the day ends with the last report of any:
then the devices are not known to have failed.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.uptime import GAP_MAX_S

LOOKBACK_DAYS = 7  # for how long a silent device is still expected
LOOKAHEAD_DAYS = 1  # what continues over midnight is a row of the next day

OUTAGE_US_MAX = GAP_MAX_S * 1_000_000  # at most this between two reports is no outage
SLA_PPM = 999_000

_DAY_US = 86_400_000_000
_PPM = 1_000_000


def outages(intervals: DataFrame) -> DataFrame:
    """`insights/outages` from `facts/uptime_intervals`."""
    return (
        _stretches(intervals)
        .filter(F.col("gap_us") > OUTAGE_US_MAX)
        .select(
            F.col("reporter").alias("device"),
            F.timestamp_micros("since_us").alias("from_at"),
            F.timestamp_micros("start_us").alias("to_at"),
            F.col("gap_us").alias("lasted_us"),
            F.col("is_reboot"),
            F.col("is_end").alias("is_open"),
            F.col("day").alias("date"),
        )
    )


def availability(intervals: DataFrame) -> DataFrame:
    """`insights/availability` from `facts/uptime_intervals`."""
    outage = F.when(F.col("gap_us") > OUTAGE_US_MAX, F.col("gap_us"))
    expected = F.max(F.when(F.col("is_end"), F.col("start_us") - F.col("expected_us")))
    days = (
        _stretches(intervals)
        .groupBy("reporter", "day")
        .agg(
            expected.alias("expected"),
            F.sum("gap_us").alias("absent"),
            F.count(outage).alias("outages"),
            F.coalesce(F.max(outage), F.lit(0)).cast("bigint").alias("longest_outage_us"),
            F.count(F.when(F.col("is_first_of_boot"), True)).alias("reboots"),
        )
    )
    present = F.col("expected") - F.col("absent")
    return days.select(
        F.col("reporter").alias("device"),
        present.alias("present_us"),
        F.col("expected").alias("expected_us"),
        _share(present, F.col("expected")).alias("share"),
        F.col("outages"),
        F.col("longest_outage_us"),
        F.col("reboots"),
        F.col("day").alias("date"),
    )


def availability_weeks(days: DataFrame, sla_ppm: int = SLA_PPM) -> DataFrame:
    """`insights/availability_weeks` from `insights/availability`."""
    week = F.trunc("date", "week").alias("week")
    weeks = days.groupBy("device", week).agg(
        F.count("*").alias("days"),
        F.sum("present_us").alias("present_us"),
        F.sum("expected_us").alias("expected_us"),
        F.sum("outages").alias("outages"),
        F.max("longest_outage_us").alias("longest_outage_us"),
        F.sum("reboots").alias("reboots"),
    )
    return weeks.select(
        "device",
        "week",
        "days",
        "present_us",
        "expected_us",
        _share(F.col("present_us"), F.col("expected_us")).alias("share"),
        "outages",
        "longest_outage_us",
        "reboots",
        F.lit(sla_ppm / _PPM).alias("sla_share"),
        (F.col("present_us") * _PPM >= F.col("expected_us") * sla_ppm).alias("is_met"),
    )


def uptime_sessions(intervals: DataFrame) -> DataFrame:
    """`insights/uptime_sessions` from `facts/uptime_intervals`, joined over midnight."""
    in_order = Window.partitionBy("reporter", "boot").orderBy("from_at", "to_at")
    begins = F.when(F.col("is_continued"), 0).otherwise(1)
    return (
        intervals.withColumn("session", F.sum(begins).over(in_order))
        .groupBy("reporter", "boot", "session")
        .agg(
            F.min("from_at").alias("from_at"),
            F.max("to_at").alias("to_at"),
            F.sum("reports").alias("reports"),
        )
        .select(
            F.col("reporter").alias("device"),
            "boot",
            "from_at",
            "to_at",
            (F.unix_micros("to_at") - F.unix_micros("from_at")).alias("up_us"),
            "reports",
            (F.datediff("to_at", "from_at") + 1).cast("bigint").alias("days"),
        )
    )


def _stretches(intervals: DataFrame) -> DataFrame:
    """Each presence with the gap before it; each expected day ends with an empty presence."""
    pieces = _pieces(intervals)
    starts = pieces.groupBy("reporter", "day").agg(F.min("start_us").alias("first_us"))
    ends = _expected_days(pieces, starts)
    presences = pieces.join(
        ends.select("reporter", "day", "expected_us"), ["reporter", "day"], "inner"
    ).withColumn("is_end", F.lit(False))
    nothing = [
        F.lit(None).cast("bigint").alias("boot"),
        F.col("end_us").alias("start_us"),
        F.lit(False).alias("is_first_of_boot"),
        F.lit(False).alias("is_reboot"),
        F.lit(True).alias("is_end"),
    ]
    last = ends.select("reporter", "day", "end_us", "expected_us", *nothing)
    earlier = (
        Window.partitionBy("reporter", "day")
        .orderBy("start_us", "is_end", "end_us", "boot")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    since = F.coalesce(F.max("end_us").over(earlier), F.col("expected_us"))
    both = presences.unionByName(last).withColumn("since_us", since)
    return both.withColumn(
        "gap_us", F.greatest(F.col("start_us") - F.col("since_us"), F.lit(0).cast("bigint"))
    )


def _pieces(intervals: DataFrame) -> DataFrame:
    """Presences by day, and whether they are the first of a boot after another one."""
    spans = intervals.select(
        "reporter",
        "boot",
        F.unix_micros("from_at").alias("from_us"),
        F.unix_micros("to_at").alias("to_us"),
        F.explode(F.sequence(F.to_date("from_at"), F.to_date("to_at"))).alias("day"),
    )
    midnight = F.unix_date("day").cast("bigint") * _DAY_US
    pieces = spans.select(
        "reporter",
        "boot",
        "day",
        F.greatest("from_us", midnight).alias("start_us"),
        F.least("to_us", midnight + _DAY_US).alias("end_us"),
    )
    of_boot = Window.partitionBy("reporter", "boot").orderBy("start_us", "end_us")
    of_device = Window.partitionBy("reporter").orderBy("start_us", "end_us", "boot")
    is_known = _within_a_week(F.lag("day").over(of_boot))
    is_reboot = _within_a_week(F.lag("day").over(of_device)) & (
        F.lag("boot").over(of_device) != F.col("boot")
    )
    return pieces.withColumns({"is_reboot": is_reboot, "is_first_of_boot": is_reboot & ~is_known})


def _within_a_week(before: Column) -> Column:
    """Days further back do not count, so that results do not depend on what is recomputed."""
    return F.coalesce(F.datediff(F.col("day"), before) <= LOOKBACK_DAYS, F.lit(False))


def _expected_days(pieces: DataFrame, starts: DataFrame) -> DataFrame:
    """Days that a device is expected on: from when (expected_us), until when (end_us)."""
    ends = pieces.groupBy("day").agg(F.max("end_us").alias("end_us"))
    lasting = F.explode(F.sequence(F.lit(0), F.lit(LOOKBACK_DAYS))).alias("later")
    days = (
        starts.select("reporter", "first_us", F.col("day").alias("seen"), lasting)
        .withColumn("day", F.date_add("seen", F.col("later")))
        .groupBy("reporter", "day")
        .agg(
            F.max("later").alias("later"),
            F.min(F.when(F.col("later") == 0, F.col("first_us"))).alias("first_us"),
        )
    )
    midnight = F.unix_date("day").cast("bigint") * _DAY_US
    expected = F.when(F.col("later") == 0, F.col("first_us")).otherwise(midnight)
    return days.join(F.broadcast(ends), "day", "inner").select(
        "reporter", "day", "end_us", expected.alias("expected_us")
    )


def _share(part: Column, whole: Column) -> Column:
    return F.try_divide(part.cast("double"), whole.cast("double"))
