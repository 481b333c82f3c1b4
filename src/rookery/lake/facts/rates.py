"""Rates: what interfaces carried between two reports, from their counters.

Samples of an interface are compared within one boot, so that a clone, which has boots of its own,
is another series. They are ordered by time. A clock that is set back by less than the lake notices
leaves samples among older ones: their sequence gives them away, they make no row, and the next
sample is compared with the one before them.

A counter that fell has wrapped at 32 bits if what it then counted is at most 2^31, and the
interface began again at 0 if it is not, for one counter at least. After that all of its counters
are what was carried since.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.quantities import MICROS_A_SECOND, span_us
from rookery.lake.schema.facts import DEVICE_RATES
from rookery.lake.schema.landing import INTERFACE

LOOKBACK_DAYS = 1
SPAN_MAX_US = 23 * 3600 * MICROS_A_SECOND
STRAY_MAX_US = 3600 * MICROS_A_SECOND  # together with SPAN_MAX_US no more than LOOKBACK_DAYS
A_SECOND_MAX = 1 << 37  # bytes: more than any interface carries; such rows are dropped

COUNTERS = tuple(field.name for field in INTERFACE if field.name != "name")

_WRAP = 1 << 32
_WRAPPED_MAX = 1 << 31
_SERIES = ("reporter", "boot", "interface")


def device_rates(reports: DataFrame) -> DataFrame:
    """Facts of rows in clean/device_reports."""
    paired = _paired(_samples(reports))
    fell = {name: F.col(name) < F.col(f"base.{name}") for name in COUNTERS}
    is_reset = _any([fell[name] & ~_is_wrap(name) for name in COUNTERS])
    judged = paired.withColumns({"is_reset": is_reset, "has_fallen": _any(list(fell.values()))})
    rows = judged.select(
        *_SERIES,
        "sequence",
        F.col("base.at").alias("since"),
        "at",
        span_us(F.col("base.at"), F.col("at")).alias("span_us"),
        *(_carried(name).alias(name) for name in COUNTERS),
        "is_reset",
        (F.col("has_fallen") & ~F.col("is_reset")).alias("is_wrapped"),
        "date",
    )
    seconds = F.greatest(F.lit(1), F.ceil(F.col("span_us") / MICROS_A_SECOND))
    return rows.where(F.greatest(*COUNTERS) <= seconds * A_SECOND_MAX).select(
        *DEVICE_RATES.arrow.names
    )


def _samples(reports: DataFrame) -> DataFrame:
    """One row for each interface; the narrow reports are shuffled, not the exploded rows."""
    narrow = reports.select("reporter", "boot", "sequence", "at", "date", "interfaces")
    together = narrow.repartition("reporter")
    columns = [F.col(name) for name in ("reporter", "boot", "sequence", "at", "date")]
    return together.select(*columns, F.inline("interfaces")).withColumnRenamed("name", "interface")


def _paired(samples: DataFrame) -> DataFrame:
    """Samples in order with `base`: what each is compared with."""
    in_order = Window.partitionBy(*_SERIES).orderBy("at", "sequence")
    values = F.struct("sequence", "at", *COUNTERS)
    before = {
        "before": F.lag(values, 1).over(in_order),
        "earlier": F.lag(values, 2).over(in_order),
    }
    is_stray = (F.col("before.sequence") < F.col("earlier.sequence")) & (
        span_us(F.col("earlier.at"), F.col("before.at")) <= STRAY_MAX_US
    )
    base = F.when(is_stray, F.col("earlier")).otherwise(F.col("before"))
    paired = samples.withColumns(before).withColumn("base", base)
    return paired.where(
        (F.col("sequence") > F.col("base.sequence"))
        & (span_us(F.col("base.at"), F.col("at")) <= SPAN_MAX_US)
    )


def _is_wrap(name: str) -> Column:
    base = F.col(f"base.{name}")
    return (base < _WRAP) & (F.col(name) - base + _WRAP <= _WRAPPED_MAX)


def _carried(name: str) -> Column:
    value, base = F.col(name), F.col(f"base.{name}")
    since = F.when(value < base, value - base + _WRAP).otherwise(value - base)
    return F.when(F.col("is_reset"), value).otherwise(since)


def _any(conditions: Sequence[Column]) -> Column:
    return reduce(or_, (F.coalesce(each, F.lit(False)) for each in conditions))
