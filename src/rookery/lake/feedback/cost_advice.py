"""Cost advice: hours in which a link will probably be worse than usual, as in earlier weeks.

    factor = 1 + 10 × (loss above the link's median) + (round trip above its median) ÷ median

between 1 and 2, of both directions together. A sample that found the link down lost everything.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.insights import seasonal

WEEKS = seasonal.WEEKS + 1  # of the source: the newest may be one that has just begun

_PPM = 1_000_000
_WORSE_PPM = 1_100_000  # what counts as worse at all
_FACTOR_MAX_PPM = 2_000_000
_LOSS_WEIGHT = 10
_KEYS = ("realm", "a", "b")


def link_cost_advice(hours: DataFrame) -> DataFrame:
    """`insights/link_cost_advice` from `facts/link_hours`."""
    factors = _factors(_link_hours(hours))
    agreeing = F.size(F.filter("values", lambda each: each >= _WORSE_PPM)).cast("bigint")
    bad = (
        seasonal.expected(factors, _KEYS)
        .filter(F.col("value") >= _WORSE_PPM)
        .withColumn("sure", seasonal.confidence_ppm(agreeing))
    )
    in_order = Window.partitionBy(*_KEYS).orderBy("target")
    # Hours in a row are all as far from their place in the row.
    row = bad.withColumn("row", F.col("target") - F.row_number().over(in_order))
    windows = row.groupBy(*_KEYS, "row").agg(
        F.min("target").alias("first"),
        F.max("target").alias("last"),
        F.max("value").alias("factor"),
        F.min("sure").alias("sure"),
        F.min("evidence").alias("evidence"),
        F.sum("samples").alias("samples"),
    )
    return windows.select(
        *_KEYS,
        seasonal.hour_at(F.col("first")).alias("from_at"),
        seasonal.hour_at(F.col("last") + 1).alias("to_at"),
        (F.col("factor") / _PPM).alias("factor"),
        (F.col("sure") / _PPM).alias("confidence"),
        "evidence",
        "samples",
    )


def _link_hours(hours: DataFrame) -> DataFrame:
    """Both directions of a link in an hour: its loss and round trip; nodes' own samples only."""
    sums = (
        hours.filter("realm <> '' AND node <> peer")
        .groupBy(
            "realm",
            F.least("node", "peer").alias("a"),
            F.greatest("node", "peer").alias("b"),
            seasonal.hour_number("hour").alias("number"),
        )
        .agg(
            *(
                F.sum(name).alias(name)
                for name in (
                    "samples",
                    "up_samples",
                    "loss_samples",
                    "loss_ppm_sum",
                    "rtt_samples",
                    "rtt_us_sum",
                )
            )
        )
    )
    down = _whole((F.col("samples") - F.col("up_samples")) * _PPM, "samples")
    lost = F.coalesce(_whole(F.col("loss_ppm_sum"), "loss_samples"), F.lit(0))
    return sums.filter("samples > 0").select(
        *_KEYS,
        "number",
        "samples",
        F.greatest(down, lost).alias("loss_ppm"),
        _whole(F.col("rtt_us_sum"), "rtt_samples").alias("rtt_us"),
    )


def _factors(hours: DataFrame) -> DataFrame:
    usual = hours.groupBy(*_KEYS).agg(
        _median("loss_ppm").alias("usual_loss_ppm"),
        _median("rtt_us").alias("usual_rtt_us"),
    )
    loss = F.greatest(F.col("loss_ppm") - F.col("usual_loss_ppm"), F.lit(0)) * _LOSS_WEIGHT
    slower = F.greatest(F.col("rtt_us") - F.col("usual_rtt_us"), F.lit(0)) * _PPM
    slow = F.call_function("div", slower, F.greatest(F.col("usual_rtt_us"), F.lit(1)))
    factor = F.least(F.lit(_PPM) + loss + F.coalesce(slow, F.lit(0)), F.lit(_FACTOR_MAX_PPM))
    return hours.join(usual, list(_KEYS), "inner").select(
        *_KEYS, "number", "samples", factor.cast("bigint").alias("value")
    )


def _median(name: str) -> Column:
    """Of an even number of values the lower one of the two in the middle."""
    found = F.expr(f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {name})")
    return found.cast("bigint")


def _whole(dividend: Column, divisor: str) -> Column:
    """Whole division; null where there is nothing to divide by."""
    some = F.when(F.col(divisor) > 0, F.col(divisor))
    return F.call_function("div", dividend, some)
