"""Traffic: what interfaces carried by minute, hour and day, from counters in reports.

    report ─────────── delta ─────────── report        total T, length L
         |  minute  |  minute  |  minute  |            up to t passed C(t) = ⌊T × t ÷ L⌋,
         C(s)       C(e)                               in a minute C(e) less C(s)

What lies between two reports is spread over the minutes between them in proportion to time, in
whole bytes: what minutes get is what was counted, to the byte. Time is in whole milliseconds here,
so that no product outgrows 63 bits.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

LOOKBACK_DAYS = 0
LOOKAHEAD_DAYS = 1  # a delta is a row of the day that it ends on

_MINUTE_MS = 60_000
_DIRECTIONS = ("received", "sent")
_PEAKS = ("received_peak_bps", "sent_peak_bps")
_COUNTERS = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")


def traffic_minutes(rates: DataFrame) -> DataFrame:
    """`insights/traffic_minutes` from `facts/device_rates`."""
    since, until, number = F.col("since_ms"), F.col("until_ms"), F.col("number")
    spans = rates.select(
        F.col("reporter").alias("device"),
        "interface",
        *_COUNTERS,
        F.unix_millis("since").alias("since_ms"),
        F.unix_millis("at").alias("until_ms"),
    )
    # A moment that ends a minute belongs to it; a delta without any length to the one it is in.
    length = F.greatest(until - since, F.lit(1))
    last = _div(since + length - 1, _MINUTE_MS)
    numbered = F.sequence(_div(since, _MINUTE_MS), last)
    # What is the same for all minutes of a span is computed before it is taken apart.
    minutes = spans.withColumn("length_ms", length).select(
        "device",
        "interface",
        "since_ms",
        "until_ms",
        "length_ms",
        *(_div(F.col(name), F.col("length_ms")).alias(f"{name}_whole") for name in _COUNTERS),
        *((F.col(name) % F.col("length_ms")).alias(f"{name}_rest") for name in _COUNTERS),
        F.explode(numbered).alias("number"),
    )
    start = F.greatest(since, number * _MINUTE_MS) - since
    end = F.least(until, (number + 1) * _MINUTE_MS) - since
    parts = minutes.withColumns({"start": start, "end": end}).select(
        "device",
        "interface",
        "number",
        (F.col("end") - F.col("start")).alias("covered_ms"),
        *(_part(name).alias(name) for name in _COUNTERS),
    )
    totals = parts.groupBy("device", "interface", "number").agg(*_sums("covered_ms", *_COUNTERS))
    minute = F.timestamp_millis(number * _MINUTE_MS)
    return _described(totals.withColumn("minute", minute), "minute")


def traffic_hours(minutes: DataFrame) -> DataFrame:
    """`insights/traffic_hours` from `insights/traffic_minutes`."""
    hour = F.date_trunc("hour", "minute").alias("hour")
    peaks = [
        (F.max(f"{direction}_bytes").cast("double") * 8 / F.lit(60.0)).alias(
            f"{direction}_peak_bps"
        )
        for direction in _DIRECTIONS
    ]
    grouped = minutes.groupBy("device", "interface", hour)
    return _described(grouped.agg(*_sums("covered_ms", *_COUNTERS), *peaks), "hour", _PEAKS)


def traffic_days(hours: DataFrame) -> DataFrame:
    """`insights/traffic_days` from `insights/traffic_hours`."""
    day = F.date_trunc("day", "hour").alias("day")
    peaks = [F.max(name).alias(name) for name in _PEAKS]
    grouped = hours.groupBy("device", "interface", day)
    return _described(grouped.agg(*_sums("covered_ms", *_COUNTERS), *peaks), "day", _PEAKS)


def _described(totals: DataFrame, start: str, peaks: Sequence[str] = ()) -> DataFrame:
    return totals.select(
        "device",
        "interface",
        start,
        "covered_ms",
        *_COUNTERS,
        _rate("received_bytes").alias("received_bps"),
        _rate("sent_bytes").alias("sent_bps"),
        *peaks,
        F.to_date(start).alias("date"),
    )


def _rate(name: str) -> Column:
    """Bits per second; null where the bytes came at one moment."""
    return F.try_divide(F.col(name).cast("double") * 8000, F.col("covered_ms").cast("double"))


def _sums(*names: str) -> list[Column]:
    return [F.sum(name).alias(name) for name in names]


def _part(name: str) -> Column:
    """What of a span's total is of a part of it; all of it, where it has no length."""
    until = F.when(F.col("until_ms") == F.col("since_ms"), F.lit(1)).otherwise(F.col("end"))
    return _passed(name, until) - _passed(name, F.col("start"))


def _passed(name: str, elapsed: Column) -> Column:
    """⌊total × elapsed ÷ length⌋, whose product would be too long as it stands."""
    rest = F.col(f"{name}_rest") * elapsed
    return F.col(f"{name}_whole") * elapsed + _div(rest, F.col("length_ms"))


def _div(dividend: Column, divisor: Column | int) -> Column:
    """Whole division; dividends are never negative here."""
    return F.call_function("div", dividend, F.lit(divisor).cast("bigint"))
