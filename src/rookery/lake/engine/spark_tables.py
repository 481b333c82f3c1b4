"""Tables as Spark sees them: the only place where it reads and writes.

Spark writes files into a directory of their own, then the Delta log makes them part of the table in
one step (see `delta`). A run that dies between the two leaves files that no reader sees.

A rewritten day also gets a fingerprint of those rows that say something about the day before
(`Table.concerns_day_before`), computed while the rows are written. Steps that look one day ahead
recompute that earlier day only when the fingerprint has changed. A first run rewrites many days at
once; beyond `FINGERPRINT_DAYS_MAX` they get none, and all that may depend on them is recomputed.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.engine import commit, parquet
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.schema.table import DATE, Table

FINGERPRINT_DAYS_MAX = 3

# Asking each row for the name of its file costs more than reading it: done only where needed.
_IS_COMPACTED = re.compile(r"/date=\d{4}-\d{2}-\d{2}/")
_WRITING = {
    # Several files are written at once, each of which holds a row group in memory.
    "parquet.block.size": str(16 << 20),
    # Files of a day are written many times: less time for each is worth a little more room.
    "parquet.compression.codec.zstd.level": "1",
    "parquet.enable.dictionary": "false",
}
_DATE_IN_PATH = r"date=(\d{4}-\d{2}-\d{2})"


class RecomputeFingerprint:
    """Fingerprints of replaced days, by which the pipeline knows if the day before is affected."""

    def __init__(self, table: Table, replaced: Collection[date] | Literal["all"] | None) -> None:
        days: list[date] = []
        if table.concerns_day_before and replaced is not None and not isinstance(replaced, str):
            days = sorted(replaced)
        self._days = days if len(days) <= FINGERPRINT_DAYS_MAX else []
        self._table = table
        self._observation = Observation()

    def observed(self, rows: DataFrame) -> DataFrame:
        """The same rows, looked at as they pass."""
        marks = [self._mark(day).alias(day.isoformat()) for day in self._days]
        return rows.observe(self._observation, *marks) if marks else rows

    def metadata(self) -> dict[str, str]:
        """For the commit of the rows that passed."""
        if not self._days:
            return {}
        found = self._observation.get
        return commit.fingerprint_metadata({day: found[day.isoformat()] for day in self._days})

    def _mark(self, day: date) -> Column:
        """How many they are, and a sum of their contents in which their order does not matter."""
        is_concerned = (F.col(DATE) == F.lit(day)) & F.expr(self._table.concerns_day_before)
        content = F.when(is_concerned, F.xxhash64(*self._table.arrow.names))
        return F.concat_ws(":", F.count(content), F.bit_xor(content))


class WrittenCommit(NamedTuple):
    """What a commit brought."""

    version: int
    rows: int
    dates: frozenset[date]


class SparkTables:
    """Reads are lazy, as Spark's are; writes are done and committed when they return."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self.spark = spark
        self.lake = lake

    def read(
        self,
        table: Table,
        dates: Collection[date] | None = None,
        files: Sequence[str] | None = None,
    ) -> DataFrame:
        """A table, some dates of it, or some of its files."""
        uris = list(files) if files is not None else self.lake.files(table, dates)
        if not uris:
            return self._empty(table)
        reader = self.spark.read.schema(table.struct).option("recursiveFileLookup", "true")
        rows = reader.parquet(*(_spark_uri(uri) for uri in uris))
        is_compacted = any(_IS_COMPACTED.search(uri) for uri in uris)
        return _dated(rows) if table.is_dated and is_compacted else rows

    def _empty(self, table: Table) -> DataFrame:
        """No rows, which Spark knows beforehand: whatever is joined with them costs nothing."""
        columns = (F.lit(None).cast(each.dataType).alias(each.name) for each in table.struct)
        return self.spark.range(1).limit(0).select(*columns)

    def append(
        self,
        table: Table,
        rows: DataFrame,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> WrittenCommit:
        return self._write(table, rows, None, claims, metadata)

    def replace(
        self,
        table: Table,
        rows: DataFrame,
        dates: Collection[date] | Literal["all"],
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> WrittenCommit:
        """`rows` are all there is of these dates from now on; they may hold no others."""
        return self._write(table, rows, dates, claims, metadata)

    def _write(
        self,
        table: Table,
        rows: DataFrame,
        replaced: Collection[date] | Literal["all"] | None,
        claims: Sequence[CommitClaim],
        metadata: Mapping[str, str],
    ) -> WrittenCommit:
        uri = self.lake.uri(table)
        folder = parquet.folder()
        fingerprint = RecomputeFingerprint(table, replaced)
        chosen = fingerprint.observed(rows.select(*table.arrow.names))
        if table.is_dated:
            chosen = chosen.withColumn(parquet.DIRECTORY, F.col(DATE))
        writer = chosen.write.options(compression="zstd", **_WRITING, **_dictionaries(table))
        if table.is_dated:
            writer = writer.partitionBy(parquet.DIRECTORY)
        writer.parquet(f"{_spark_uri(uri)}/{folder}")
        added = parquet.written(uri, folder)
        known = {**metadata, **fingerprint.metadata()}
        version = self.lake.commit(table, added, replaced, claims, known)
        dates = frozenset(each.date for each in added if each.date is not None)
        return WrittenCommit(version, sum(each.rows for each in added), dates)


def _dated(rows: DataFrame) -> DataFrame:
    """Files that delta-rs compacted have their date in the path only."""
    in_path = F.to_date(F.regexp_extract("_metadata.file_path", _DATE_IN_PATH, 1))
    return rows.withColumn(DATE, F.coalesce(F.col(DATE), in_path))


def _dictionaries(table: Table) -> dict[str, str]:
    return {f"parquet.enable.dictionary#{name}": "true" for name in parquet.texts(table.arrow)}


def _spark_uri(uri: str) -> str:
    """Spark has its own name for S3."""
    return f"s3a://{uri.removeprefix('s3://')}" if uri.startswith("s3://") else uri
