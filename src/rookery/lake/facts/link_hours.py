"""Link hours: samples of a link in one direction, added up by the hour.

Samples are first counted by the bucket of their round trip, which is where they become few; what is
left of an hour is then brought together with its histogram.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.histogram import bucket
from rookery.lake.facts.quantities import hour
from rookery.lake.schema.facts import LINK_HOURS

LOOKBACK_DAYS = 0

_KEY = LINK_HOURS.key
_SUMS = (
    "samples",
    "up_samples",
    "rtt_samples",
    "rtt_us_sum",
    "jitter_samples",
    "jitter_us_sum",
    "loss_samples",
    "loss_ppm_sum",
    "cost_samples",
    "cost_us_sum",
)
_MAXIMA = ("rtt_us_max", "loss_ppm_max", "rate_bps_max", "cost_us_max")


def link_hours(samples: DataFrame) -> DataFrame:
    """Facts of rows in facts/link_samples."""
    counted = (
        samples.withColumns({"hour": hour(F.col("at")), "bucket": bucket(F.col("rtt_us"))})
        .groupBy(*_KEY, "bucket")
        .agg(
            F.count("*").alias("samples"),
            F.count_if("is_up").alias("up_samples"),
            F.count("rtt_us").alias("rtt_samples"),
            F.sum("rtt_us").alias("rtt_us_sum"),
            F.min("rtt_us").alias("rtt_us_min"),
            F.max("rtt_us").alias("rtt_us_max"),
            F.count("jitter_us").alias("jitter_samples"),
            F.sum("jitter_us").alias("jitter_us_sum"),
            F.count("loss_ppm").alias("loss_samples"),
            F.sum("loss_ppm").alias("loss_ppm_sum"),
            F.max("loss_ppm").alias("loss_ppm_max"),
            F.max("rate_bps").alias("rate_bps_max"),
            F.count("cost_us").alias("cost_samples"),
            F.sum("cost_us").alias("cost_us_sum"),
            F.max("cost_us").alias("cost_us_max"),
        )
    )
    counts = F.struct("bucket", F.col("rtt_samples").alias("count"))
    histogram = F.sort_array(F.collect_list(F.when(F.col("bucket").isNotNull(), counts)))
    rows = counted.groupBy(*_KEY).agg(
        histogram.alias("rtt_histogram"),
        F.min("rtt_us_min").alias("rtt_us_min"),
        *(F.sum(name).alias(name) for name in _SUMS),
        *(F.max(name).alias(name) for name in _MAXIMA),
    )
    return rows.withColumn("date", F.to_date("hour")).select(*LINK_HOURS.arrow.names)
