"""Traffic: what interfaces carried by minute, hour and day, from counters read now and then.

    report ─────────── delta ─────────── report        total T, length L
         |  minute  |  minute  |  minute  |            up to t passed C(t) = ⌊T × t ÷ L⌋,
         C(s)       C(e)                               in a minute C(e) less C(s)

What lies between two reports is spread over the minutes between them in proportion to time, in
whole bytes: what minutes get is what was counted, to the byte. Time is in whole milliseconds here,
so that no product outgrows 63 bits.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

LOOKBACK_DAYS = 0
LOOKAHEAD_DAYS = 1  # a delta is a row of the day that it ends on

_MINUTE_MS = 60_000
_WAYS = ("received", "sent")
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
    last = F.when(until > since, _div(until - 1, _MINUTE_MS)).otherwise(_div(until, _MINUTE_MS))
    minutes = spans.withColumn("number", F.explode(F.sequence(_div(since, _MINUTE_MS), last)))
    start = F.greatest(since, number * _MINUTE_MS)
    end = F.least(until, (number + 1) * _MINUTE_MS)
    parts = minutes.select(
        "device",
        "interface",
        F.timestamp_millis(number * _MINUTE_MS).alias("minute"),
        (end - start).alias("covered_ms"),
        *(_part(F.col(name), since, until, start, end).alias(name) for name in _COUNTERS),
    )
    totals = parts.groupBy("device", "interface", "minute").agg(*_sums("covered_ms", *_COUNTERS))
    return _described(totals, "minute")


def traffic_hours(minutes: DataFrame) -> DataFrame:
    """`insights/traffic_hours` from `insights/traffic_minutes`."""
    hour = F.date_trunc("hour", "minute").alias("hour")
    peaks = [
        (F.max(f"{way}_bytes").cast("double") * 8 / F.lit(60.0)).alias(f"{way}_peak_bps")
        for way in _WAYS
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


def _part(total: Column, since: Column, until: Column, start: Column, end: Column) -> Column:
    length = until - since
    passed = _passed(total, length, end - since) - _passed(total, length, start - since)
    return F.when(length > 0, passed).otherwise(total)


def _passed(total: Column, length: Column, elapsed: Column) -> Column:
    """⌊total × elapsed ÷ length⌋, whose product would be too long as it stands."""
    some = F.when(length > 0, length).otherwise(1)
    return _div(total, some) * elapsed + _div((total % some) * elapsed, some)


def _div(dividend: Column, divisor: Column | int) -> Column:
    """Whole division; dividends are never negative here."""
    return F.call_function("div", dividend, F.lit(divisor).cast("bigint"))
