"""The lake in a notebook: tables as Arrow and DuckDB without a JVM, as Spark's where there is one.

from rookery.lake.notebook import open_lake

lake = open_lake("lake-demo")
lake.sql("SELECT device, share FROM insights.availability ORDER BY share")   # DuckDB
lake.arrow("facts/link_hours")                                               # an Arrow dataset
lake.spark("clean/device_reports").groupBy("reporter").count()               # a DataFrame
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import duckdb
import pyarrow.dataset

from rookery.errors import UsageError
from rookery.lake.engine.delta import Lake
from rookery.lake.query.lake_query import AsOf, LakeQuery, parse_as_of
from rookery.lake.query.status import TableStatus, lake_status
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.schema.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class OpenLake:
    """A lake to read. Names of tables are `insights/availability` or `insights.availability`."""

    def __init__(self, lake: Lake, as_of: AsOf = None) -> None:
        self.lake = lake
        self._as_of = as_of

    def tables(self) -> list[TableStatus]:
        """Those that there are, with rows, files and age."""
        return lake_status(self.lake)

    def sql(self, text: str) -> duckdb.DuckDBPyRelation:
        """A relation; shows itself, and has `.to_arrow_table()`, `.pl()`, `.df()` and more."""
        return LakeQuery(self.lake, self._as_of).relation(text)

    def arrow(self, name: str) -> pyarrow.dataset.Dataset:
        """A dataset: `.to_table(columns=…, filter=…)` reads as much of it as is wanted."""
        table = table_named(name)
        return self.lake.dataset(table, LakeQuery(self.lake, self._as_of).version(table))

    def spark(self, name: str, session: "SparkSession | None" = None) -> "DataFrame":
        """A DataFrame, of that session or of one that is started here."""
        from rookery.lake.engine.spark_session import start
        from rookery.lake.engine.spark_tables import SparkTables

        table = table_named(name)
        files = self.lake.files(table, version=LakeQuery(self.lake, self._as_of).version(table))
        return SparkTables(session or start(), self.lake).read(table, files=files)


def open_lake(
    url: str, *, as_of: int | str | datetime | None = None, storage: Mapping[str, str] | None = None
) -> OpenLake:
    """By folder or URL; as it is, or as it was at a version or time."""
    then = parse_as_of(as_of) if isinstance(as_of, str) else as_of
    return OpenLake(Lake(url, storage), then)


def table_named(name: str) -> Table:
    """UsageError when there is no such table."""
    table = BY_PATH.get(name.replace(".", "/"))
    if table is None:
        raise UsageError(f"there is no table {name!r}; there are {', '.join(BY_PATH)}")
    return table
