"""Anomalies: entities that are far from their usual values.

    series      traffic, load and temperature of a device, loss and round trip of a link, load of a
                server: by the hour
    usual       median of the same hour of the 14 days before, at least five of them known
    scale       median of their distances from it, or a tenth of it, or the kind's least, if larger;
                a tenth of a temperature, whose zero is anywhere, says nothing
    anomaly     6 scales from the usual or more; hours in a row are one, cut at midnight

A silence is an outage that is as far from the device's outages of the 14 days before. The median of
an even number of values is the lower one of the two in the middle, so that all values are integers.
What does not fit 64 bits, which only forged reports can cause, is unknown.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.insights import seasonal

LOOKBACK_DAYS = 14
LOOKAHEAD_DAYS = 0

SCALES_MIN = 6
DAYS_MIN = 5

_PPM = 1_000_000
_LEAST = {
    "traffic": 1_000,  # B/s
    "loss": 5_000,  # ppm
    "rtt": 1_000,  # µs
    "load": 20_000,  # ppm
    "device load": 500,  # processes / 1000
    "temperature": 2_000,  # °C / 1000
}
_SILENCE_LEAST_US = 50_000_000
_COVERED_MS_MIN = 1_800_000  # of an hour whose traffic is taken for the whole hour's
_REPORTS_MIN = 4  # of an hour: values right after a start are not usual ones
_ENTITY = ("kind", "entity", "device", "node", "peer", "realm")


def anomalies(
    outages: DataFrame,
    traffic_hours: DataFrame,
    link_hours: DataFrame,
    server_hours: DataFrame,
    device_hours: DataFrame,
) -> DataFrame:
    """`insights/anomalies` from its sources, in the order that the table names them."""
    series = _traffic(traffic_hours)
    for more in (_links(link_hours), _servers(server_hours), _devices(device_hours)):
        series = series.unionByName(more)
    return _joined(_unusual(series.filter("value IS NOT NULL"))).unionByName(_silences(outages))


def _traffic(hours: DataFrame) -> DataFrame:
    """Bytes per second of all interfaces, in and out."""
    totals = hours.groupBy("device", "hour").agg(
        F.sum(F.col("received_bytes") + F.col("sent_bytes")).alias("bytes"),
        F.max("covered_ms").alias("covered_ms"),
    )
    return totals.filter(F.col("covered_ms") >= _COVERED_MS_MIN).select(
        F.lit("traffic").alias("kind"),
        F.col("device").alias("entity"),
        "device",
        *_no("node", "peer", "realm"),
        "hour",
        _div(F.try_multiply(F.col("bytes"), F.lit(1000)), F.col("covered_ms")).alias("value"),
    )


def _links(hours: DataFrame) -> DataFrame:
    """Means of loss and round trip, as one end measured them."""
    entity = F.concat_ws("/", F.coalesce("realm", F.lit("")), "node", "peer")
    loss = F.when(F.col("loss_samples") > 0, _div(F.col("loss_ppm_sum"), F.col("loss_samples")))
    rtt = F.when(F.col("rtt_samples") > 0, _div(F.col("rtt_us_sum"), F.col("rtt_samples")))
    both = F.explode(F.create_map(F.lit("loss"), loss, F.lit("rtt"), rtt)).alias("kind", "value")
    return hours.select(
        entity.alias("entity"), *_no("device"), "node", "peer", "realm", "hour", both
    )


def _servers(hours: DataFrame) -> DataFrame:
    """Share of seats that are taken."""
    offered = F.col("reports") * F.col("seats_max")
    return hours.filter("reports > 0 AND seats_max > 0").select(
        F.lit("load").alias("kind"),
        F.col("reporter").alias("entity"),
        F.col("reporter").alias("device"),
        *_no("node", "peer", "realm"),
        "hour",
        _div(F.try_multiply(F.col("seats_used_sum"), F.lit(_PPM)), offered).alias("value"),
    )


def _devices(hours: DataFrame) -> DataFrame:
    """Means of load and temperature, as a device reported them."""
    means = {
        kind: F.when(
            F.col(f"{name}_samples") >= _REPORTS_MIN,
            _div(F.col(f"{name}_milli_sum"), F.col(f"{name}_samples")),
        )
        for kind, name in (("device load", "load"), ("temperature", "temp"))
    }
    both = F.create_map(*(each for kind, mean in means.items() for each in (F.lit(kind), mean)))
    return hours.select(
        F.col("reporter").alias("entity"),
        F.col("reporter").alias("device"),
        *_no("node", "peer", "realm"),
        "hour",
        F.explode(both).alias("kind", "value"),
    )


def _unusual(series: DataFrame) -> DataFrame:
    """Hours that are far from the usual, and how far."""
    number = seasonal.hour_number("hour")
    before = (
        Window.partitionBy("kind", "entity", F.col("number") % 24)
        .orderBy(_div(F.col("number"), F.lit(24)))
        .rangeBetween(-LOOKBACK_DAYS, -1)
    )
    least = F.create_map(*(F.lit(each) for pair in _LEAST.items() for each in pair))
    tenth = F.when(F.col("kind") != "temperature", _tenth(F.col("expected")))
    known = (
        series.withColumn("number", number)
        .withColumn("known", F.collect_list("value").over(before))
        .filter(F.size("known") >= DAYS_MIN)
    )
    expected = _once(known, "expected", _median(F.col("known")))
    judged = _judged(expected.withColumn("least", F.greatest(least[F.col("kind")], tenth)))
    # Only with traffic is too little an anomaly.
    return judged.filter((F.col("away") > 0) | (F.col("kind") == "traffic"))


def _judged(known: DataFrame) -> DataFrame:
    """From `value`, `known`, `expected` and `least`: `away` and `score` of what is far off."""
    expected = F.col("expected")
    apart = F.transform("known", lambda each: F.abs(each - expected))
    scale = F.greatest(_median(apart), F.col("least"))
    return (
        _once(known, "scale", scale)
        .withColumn("away", F.col("value") - expected)
        .filter(F.abs(F.col("away")) >= F.col("scale") * SCALES_MIN)
        .withColumn("score", F.col("away").cast("double") / F.col("scale").cast("double"))
    )


def _joined(hours: DataFrame) -> DataFrame:
    """Merge hours in a row that are off to the same side; values are those of the worst."""
    # Columns, so that Spark can filter rows by them early.
    sides = hours.withColumns({"side": F.signum("away"), "date": F.to_date("hour")})
    in_order = Window.partitionBy("kind", "entity", "side", "date").orderBy("number")
    row = F.col("number") - F.row_number().over(in_order)
    worst = F.max_by(
        F.struct("expected", "value", "score"), F.struct(F.abs("score"), -F.col("number"))
    )
    spans = (
        sides.withColumn("row", row)
        .groupBy(*_ENTITY, "side", "row", "date")
        .agg(
            F.min("number").alias("first"),
            F.max("number").alias("last"),
            worst.alias("worst"),
            F.count("*").alias("hours"),
        )
    )
    return spans.select(
        *_ENTITY,
        seasonal.hour_at(F.col("first")).alias("from_at"),
        seasonal.hour_at(F.col("last") + 1).alias("to_at"),
        F.col("worst.expected").alias("expected"),
        F.col("worst.value").alias("observed"),
        F.col("worst.score").alias("score"),
        "hours",
        "date",
    )


def _silences(outages: DataFrame) -> DataFrame:
    before = (
        Window.partitionBy("device").orderBy(F.unix_date("date")).rangeBetween(-LOOKBACK_DAYS, -1)
    )
    least = F.lit(_SILENCE_LEAST_US).cast("bigint")
    known = outages.withColumn("known", F.collect_list("lasted_us").over(before))
    median = F.coalesce(_median(F.col("known")), F.lit(0).cast("bigint"))
    expected = _once(known, "expected", median).withColumns(
        {"least": F.greatest(least, _tenth(F.col("expected"))), "value": F.col("lasted_us")}
    )
    return (
        _judged(expected)
        .filter("away > 0")
        .select(
            F.lit("silence").alias("kind"),
            F.col("device").alias("entity"),
            "device",
            *_no("node", "peer", "realm"),
            "from_at",
            "to_at",
            "expected",
            F.col("value").alias("observed"),
            "score",
            F.lit(0).cast("bigint").alias("hours"),
            "date",
        )
    )


def _once(rows: DataFrame, name: str, value: Column) -> DataFrame:
    """Add a column that is computed once per row, after rows of other days are filtered out.

    Else Spark inlines its expression into everything that uses it: a median of all values would be
    computed again for each of them.
    """
    return rows.select("*", F.inline(F.array(F.struct(value.alias(name)))))


def _median(values: Column) -> Column:
    """The lower one, where two are in the middle; null of nothing."""
    middle = F.call_function("div", F.size(values) - 1, F.lit(2)).cast("int")
    return F.get(F.array_sort(values), F.greatest(middle, F.lit(0)))


def _tenth(value: Column) -> Column:
    return _div(value, F.lit(10))


def _div(dividend: Column, divisor: Column) -> Column:
    return F.call_function("div", dividend, divisor.cast("bigint"))


def _no(*names: str) -> list[Column]:
    return [F.lit(None).cast("string").alias(name) for name in names]
