"""A pipeline small enough to check by hand: counters that land, are cleaned, and add up.

    landing/numbers ─▶ clean/numbers ─┬─▶ facts/steps ─▶ insights/days
                       (quarantine)   └─▶ insights/total (as a whole)

A step is what a counter grew by since the row before, so each day needs the one before it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.step import REASON, CleanStep, TransformStep
from rookery.lake.schema import quarantine
from rookery.lake.schema.insights import LINEAGE
from rookery.lake.schema.table import TIMESTAMP, Column, Table

START = date(2026, 11, 1)

_HEAD = (
    Column("spool", pa.string(), "who kept it"),
    Column("position", pa.int64(), "where"),
    Column("received_at", TIMESTAMP, "when it was taken in"),
    Column("at", TIMESTAMP, "when it happened"),
    Column("n", pa.int64(), "the counter"),
)
_DATE = Column("date", pa.date32(), "of received_at or at")
_KEY = ("spool", "position")
LANDED = Table("landing", "numbers", (*_HEAD, _DATE), _KEY, "for tests")
CLEAN = Table("clean", "numbers", (*_HEAD, _DATE), _KEY, "for tests")
GROWTH = Column("growth", pa.int64(), "since the row before")
STEPS = Table("facts", "steps", (_HEAD[3], GROWTH, _DATE), ("at",), "for tests")
DAYS = Table("insights", "days", (GROWTH, LINEAGE, _DATE), ("date",), "for tests")
TOTAL = Table(
    "insights", "total", (GROWTH, Column("rows", pa.int64(), "")), (), "for tests", is_dated=False
)


class Row(NamedTuple):
    """One that lands; `hour` counts from START."""

    position: int
    hour: float
    n: int | None
    late_h: float = 0.0
    spool: str = "hub"


def land(lake: Lake, rows: Iterable[Row]) -> int:
    """As a lander does: each row's date is that of its arrival."""
    start = datetime(START.year, START.month, START.day, tzinfo=UTC)
    landed = []
    for row in rows:
        at = start + timedelta(hours=row.hour)
        received = at + timedelta(hours=row.late_h)
        landed.append((row.spool, row.position, received, at, row.n, received.date()))
    columns = list(zip(*landed, strict=True))
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, LANDED.arrow, strict=True)
    ]
    batch = pa.table(arrays, schema=LANDED.arrow)
    last = lake.ingested_version(LANDED, "spool hub")
    until = max(row.position for row in rows)
    return lake.append(LANDED, batch, [CommitClaim("spool hub", last, until)], {})


def judged(landed: DataFrame) -> DataFrame:
    reason = F.when(F.col("n").isNull(), F.lit("no number"))
    return landed.withColumn("date", F.to_date("at")).withColumn(REASON, reason)


def fresh(landed: DataFrame, known: DataFrame) -> DataFrame:
    sound = judged(landed).where(F.col(REASON).isNull()).drop(REASON)
    first = Window.partitionBy("spool", "position").orderBy("received_at")
    once = sound.withColumn("copy", F.row_number().over(first)).where("copy = 1").drop("copy")
    return once.join(known.select("spool", "position"), ["spool", "position"], "left_anti")


def rejected(bad: DataFrame) -> DataFrame:
    held = {"spool", "position", "received_at", "reason"}
    values = {"kind": F.lit("numbers"), "source": F.col("spool"), "date": F.to_date("received_at")}
    rest = [
        values.get(each.name, F.lit(None)).cast(each.dataType).alias(each.name)
        for each in quarantine.OBSERVATIONS.struct
        if each.name not in held
    ]
    return bad.withColumnRenamed(REASON, "reason").select(*sorted(held), *rest)


def steps(sources: Mapping[str, DataFrame]) -> DataFrame:
    before = Window.partitionBy("spool").orderBy("at")
    growth = F.col("n") - F.lag("n", 1, 0).over(before)
    return sources[CLEAN.path].withColumn("growth", growth)


def days(sources: Mapping[str, DataFrame]) -> DataFrame:
    return sources[STEPS.path].groupBy("date").agg(F.sum("growth").alias("growth"))


def total(sources: Mapping[str, DataFrame]) -> DataFrame:
    growth = F.coalesce(F.sum("growth"), F.lit(0)).alias("growth")
    return sources[STEPS.path].agg(growth, F.count("*").alias("rows"))


PIPELINE = (
    CleanStep(CLEAN, LANDED, judged, fresh, rejected),
    TransformStep(STEPS, (CLEAN,), steps),
    TransformStep(DAYS, (STEPS,), days, lookback_days=0),
    TransformStep(TOTAL, (STEPS,), total),
)
TABLES = (LANDED, CLEAN, STEPS, DAYS, TOTAL, quarantine.OBSERVATIONS)


def growth_of_days(lake: Lake) -> dict[date, int]:
    found = lake.dataset(DAYS).to_table().to_pylist()
    return {row["date"]: row["growth"] for row in found}


def versions(lake: Lake) -> dict[str, int | None]:
    return {table.path: lake.version(table) for table in TABLES}
