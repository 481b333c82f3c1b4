"""Rows of the lake's tables for tests, with only what matters spelled out."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from rookery.lake.schema.table import DATE, Table

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def noon(seconds: float = 0.0) -> datetime:
    """So long after noon."""
    return NOON + timedelta(seconds=seconds)


def frame(spark: SparkSession, table: Table, rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Columns that are not given have usual values, or none; the date is that of `at`, in landing
    of received_at."""
    names = table.arrow.names
    values = []
    for number, row in enumerate(rows):
        unknown = row.keys() - set(names)
        assert not unknown, f"{table.path} has no {unknown}"
        at = row.get("received_at", NOON) if table.stage == "landing" else row.get("at")
        day = at.date() if isinstance(at, datetime) else None
        usual = {"spool": "hub", "position": number, "received_at": NOON, DATE: day}
        values.append(tuple({**usual, **row}.get(name) for name in names))
    return spark.createDataFrame(values, table.struct)
