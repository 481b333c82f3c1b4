"""Uptime: stretches of reports of one start of a device without a gap.

A stretch that continues over midnight UTC is two rows: the second begins with the last report of
the day before, so that rows of several days join up and each day follows from its own reports and
the last one before them.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.quantities import MICROS_A_SECOND, span_us
from rookery.lake.schema.facts import UPTIME_INTERVALS

LOOKBACK_DAYS = 1
GAP_MAX_S = 65  # a minute, and some lateness of a report

_SERIES = ("reporter", "boot")


def uptime_intervals(reports: DataFrame, gap_max_s: int = GAP_MAX_S) -> DataFrame:
    """Facts of rows in clean/device_reports."""
    in_order = Window.partitionBy(*_SERIES).orderBy("at")
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = F.lag("at").over(in_order)
    follows = F.coalesce(
        span_us(F.col("before"), F.col("at")) <= gap_max_s * MICROS_A_SECOND, F.lit(False)
    )
    is_next_day = follows & (F.to_date("before") < F.col("date"))
    marked = (
        reports.select(*_SERIES, "at", "date")
        .withColumn("before", before)
        .withColumns({"is_continued": is_next_day, "begins": ~follows | is_next_day})
        .withColumn("stretch", F.sum(F.col("begins").cast("int")).over(until_here))
    )
    first = F.min(F.when(F.col("is_continued"), F.col("before")).otherwise(F.col("at")))
    rows = marked.groupBy(*_SERIES, "stretch").agg(
        first.alias("from_at"),
        F.max("at").alias("to_at"),
        F.count("*").alias("reports"),
        F.max("is_continued").alias("is_continued"),
        F.max("date").alias("date"),
    )
    up_us = span_us(F.col("from_at"), F.col("to_at"))
    return rows.withColumn("up_us", up_us).select(*UPTIME_INTERVALS.arrow.names)
