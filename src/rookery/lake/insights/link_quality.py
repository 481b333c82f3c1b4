"""Link quality: what a link is like at each hour of the week, from histograms that add up.

A quantile is that of all samples: the largest value of the histogram's step that the sample of that
rank is in. So it is never below the true one, and less than 5 % above.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.histogram import BOUNDS
from rookery.lake.insights import seasonal

WEEKS = 8

_PERCENTILES = (50, 95, 99)
_KEYS = ("realm", "node", "peer", "hour_of_week")
_COUNTS = ("hours", "samples", "up_samples", "loss_samples", "loss_ppm_sum")


def link_quality(hours: DataFrame) -> DataFrame:
    """`insights/link_quality` from `facts/link_hours`."""
    of_link = Window.partitionBy(*_KEYS)
    up_to = of_link.orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
    ranked = _buckets(hours).withColumns(
        {"so_far": F.sum("count").over(up_to), "total": F.sum("count").over(of_link)}
    )
    links = ranked.groupBy(*_KEYS).agg(
        *(F.sum(name).alias(name) for name in _COUNTS),
        *(_holding(each).alias(f"p{each}") for each in _PERCENTILES),
    )
    return links.select(
        *_KEYS,
        F.col("hours").alias("weeks"),
        "samples",
        *(_largest(f"p{each}").alias(f"rtt_p{each}_us") for each in _PERCENTILES),
        _share(F.col("loss_ppm_sum"), F.col("loss_samples") * 1_000_000).alias("loss"),
        _share(F.col("up_samples"), F.col("samples")).alias("up_share"),
    )


def _buckets(hours: DataFrame) -> DataFrame:
    """Round trips by bucket; what else is counted stands once, beside an hour's first bucket."""
    steps = hours.withColumns(
        {"hour_of_week": seasonal.hour_of_week("hour"), "hours": F.lit(1).cast("bigint")}
    ).select(*_KEYS, *_COUNTS, F.posexplode_outer("rtt_histogram").alias("place", "step"))
    is_first = F.coalesce(F.col("place"), F.lit(0)) == 0
    return steps.groupBy(*_KEYS, F.col("step.bucket").alias("bucket")).agg(
        F.sum("step.count").alias("count"),
        *(F.sum(F.when(is_first, F.col(name))).alias(name) for name in _COUNTS),
    )


def _holding(percent: int) -> Column:
    """The bucket of the sample that so many of a hundred do not exceed."""
    is_reached = F.col("so_far") * 100 >= F.col("total") * percent
    return F.min(F.when(is_reached, F.col("bucket")))


def _largest(bucket: str) -> Column:
    """Value in a bucket."""
    return F.get(F.lit(list(BOUNDS)), (F.col(bucket) + 1).cast("int")) - 1


def _share(part: Column, whole: Column) -> Column:
    return F.try_divide(part.cast("double"), whole.cast("double"))
