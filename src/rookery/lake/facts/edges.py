"""Edges: links of a mesh that both ends claim, and for how long.

A record holds from when it is received until the node's next one, its withdrawal or the end of its
lifetime, of which a day counts at most. An older one that comes late is ignored. Each day is
computed from that day and the one before alone, so that it does not depend on what else is
recomputed.

    a claims b   ──────────5 ms──────────┐     ┌──6 ms──
    b claims a        ┌─────────5 ms─────┴─────┴────────
    edge              └───5, 5───┘             └─6, 5───
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.schema.facts import TOPOLOGY_EDGES

LOOKBACK_DAYS = 1
LIFETIME_MAX_S = 86_400

_NODE = ("realm", "date", "node")
_SPAN = ("from_at", "to_at")
_PAIR = ("realm", "date", "a", "b")


def topology_edges(changes: DataFrame) -> DataFrame:
    """Facts of rows in clean/record_changes."""
    claims = _merged(_claims(_records(changes)))
    first = claims.where("node < peer").withColumnsRenamed({"node": "a", "peer": "b"})
    second = claims.where("node > peer").withColumnsRenamed({"node": "b", "peer": "a"})
    theirs = second.select(
        *_PAIR,
        F.col("from_at").alias("their_from_at"),
        F.col("to_at").alias("their_to_at"),
        F.col("cost_us").alias("cost_ba_us"),
    )
    both = first.withColumnRenamed("cost_us", "cost_ab_us").join(theirs, list(_PAIR), "inner")
    rows = both.withColumns(
        {
            "from_at": F.greatest("from_at", "their_from_at"),
            "to_at": F.least("to_at", "their_to_at"),
        }
    )
    return rows.where("from_at < to_at").select(*TOPOLOGY_EDGES.arrow.names)


def _records(changes: DataFrame) -> DataFrame:
    """Records of each node with the time that they hold, for each day on its own."""
    days = F.explode(F.array(F.col("date"), F.date_add("date", 1)))
    is_withdrawn = F.coalesce("is_withdrawn", F.lit(False)).alias("is_withdrawn")
    version = F.struct("epoch", "number", is_withdrawn)
    in_order = Window.partitionBy(*_NODE).orderBy("at", "version")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, -1)
    newest = F.max("version").over(so_far)
    received = (
        changes.withColumns({"date": days, "version": version})
        .withColumn("newest", newest)
        .where(F.col("newest").isNull() | (F.col("version") > F.col("newest")))
    )
    holds = F.least(F.coalesce("lifetime_s", F.lit(0)), F.lit(LIFETIME_MAX_S))
    expires_at = F.timestamp_micros(F.unix_micros("at") + holds * 1_000_000)
    until = F.least(expires_at, F.lead("at").over(in_order))
    return received.withColumn("until", until).where("NOT version.is_withdrawn")


def _claims(records: DataFrame) -> DataFrame:
    """Links of records within their day; of several to one peer the cheapest counts."""
    midnight = F.col("date").cast("timestamp")
    next_midnight = F.date_add("date", 1).cast("timestamp")
    spans = {
        "from_at": F.greatest(F.col("at"), midnight),
        "to_at": F.least(F.col("until"), next_midnight),
    }
    held = records.withColumns(spans).where("from_at < to_at")
    links = held.select(*_NODE, *_SPAN, F.inline("links"))
    return links.groupBy(*_NODE, "peer", *_SPAN).agg(F.min("cost_us").alias("cost_us"))


def _merged(claims: DataFrame) -> DataFrame:
    """Claims that follow upon each other at the same cost are one."""
    in_order = Window.partitionBy(*_NODE, "peer").orderBy("from_at")
    until_here = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    goes_on = (F.lag("to_at").over(in_order) == F.col("from_at")) & F.lag("cost_us").over(
        in_order
    ).eqNullSafe(F.col("cost_us"))
    begins = (~F.coalesce(goes_on, F.lit(False))).cast("int")
    numbered = claims.withColumn("begins", begins).withColumn(
        "stretch", F.sum("begins").over(until_here)
    )
    return numbered.groupBy(*_NODE, "peer", "stretch").agg(
        F.min("from_at").alias("from_at"),
        F.max("to_at").alias("to_at"),
        F.first("cost_us").alias("cost_us"),
    )
