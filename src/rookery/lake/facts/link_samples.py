"""Link samples: measurements of mesh links by devices and by nodes, in one shape."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.facts.quantities import micros, ppm, whole
from rookery.lake.schema.facts import LINK_SAMPLES

LOOKBACK_DAYS = 0

_HEAD = ("reporter", "boot", "sequence", "at", "date")


def link_samples(reports: DataFrame, samples: DataFrame) -> DataFrame:
    """Facts of rows in clean/device_reports and clean/link_samples."""
    return _of_devices(reports).unionByName(_of_nodes(samples))


def _of_devices(reports: DataFrame) -> DataFrame:
    """A device knows neither realm nor direction of a loss; a rate of 0 is not measured."""
    exploded = F.posexplode("links").alias("number", "link")
    loss = F.col("link.loss")
    rows = reports.select(*_HEAD, exploded).withColumns(
        {
            "realm": F.lit(""),
            "node": F.col("reporter"),
            "peer": F.col("link.peer"),
            "path": F.col("link.path"),
            "rtt_us": micros(F.col("link.rtt_ms")),
            "jitter_us": _unknown(),
            "loss_in_ppm": _unknown(),
            "loss_out_ppm": _unknown(),
            "loss_ppm": ppm(loss),
            "rate_bps": F.when(F.col("link.rate_kbps") > 0, whole(F.col("link.rate_kbps"), 1000)),
            "cost_us": _unknown(),
            "is_up": F.coalesce(loss < 1.0, F.lit(True)),
            "number": F.col("number").cast("long"),
        }
    )
    return rows.select(*LINK_SAMPLES.arrow.names)


def _of_nodes(samples: DataFrame) -> DataFrame:
    rows = samples.withColumns(
        {
            "number": F.lit(0).cast("long"),
            "rtt_us": micros(F.col("rtt_ms")),
            "jitter_us": micros(F.col("jitter_ms")),
            "loss_in_ppm": ppm(F.col("loss_in")),
            "loss_out_ppm": ppm(F.col("loss_out")),
            "loss_ppm": ppm(F.greatest("loss_in", "loss_out")),
            "rate_bps": whole(F.col("rate_kbps"), 1000),
        }
    )
    return rows.select(*LINK_SAMPLES.arrow.names)


def _unknown() -> Column:
    return F.lit(None).cast("long")
