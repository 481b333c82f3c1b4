"""Load forecast: how full each server will be, hour by hour, for the next two days."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.insights import seasonal

WEEKS = seasonal.WEEKS + 1  # of the source: the newest may be one that has just begun

_PPM = 1_000_000


def server_load_forecast(hours: DataFrame) -> DataFrame:
    """`insights/server_load_forecast` from `facts/server_hours`."""
    # What does not fit 64 bits, which only forged reports can cause, is unknown.
    taken = F.try_multiply(F.col("seats_used_sum"), F.lit(_PPM))
    used = F.call_function("div", taken, F.col("reports") * F.col("seats_max"))
    shares = (
        hours.filter("reports > 0 AND seats_max > 0")
        .filter(taken.isNotNull())
        .select(
            F.col("reporter").alias("server"),
            seasonal.hour_number("hour").alias("number"),
            F.least(used, F.lit(_PPM)).alias("value"),
            F.col("reports").alias("samples"),
        )
    )
    apart = F.array_sort(F.transform("values", lambda each: F.abs(each - F.col("value"))))
    middle = F.call_function("div", F.col("evidence") - 1, F.lit(2)).cast("int")
    forecast = seasonal.expected(shares, ["server"]).withColumn("apart", F.get(apart, middle))
    doubt = F.greatest(F.lit(0), _PPM - 2 * F.col("apart"))
    sure = F.call_function("div", seasonal.confidence_ppm(F.col("evidence")) * doubt, F.lit(_PPM))
    return forecast.select(
        "server",
        seasonal.hour_at(F.col("target")).alias("hour"),
        (F.col("value") / _PPM).alias("share"),
        (F.col("high") / _PPM).alias("high_share"),
        "evidence",
        "is_weekly",
        (sure / _PPM).alias("confidence"),
    )
