"""A DuckDB that knows tables of the lake by their paths: landing/calls is landing.calls."""

from collections.abc import Mapping
from typing import TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.dataset

from rookery.lake.schema.table import Table

Source: TypeAlias = pa.Table | pyarrow.dataset.Dataset


def opened(sources: Mapping[str, Source]) -> duckdb.DuckDBPyConnection:
    """By path; rows are read where they are."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for path, source in sources.items():
        add(connection, path, source)
    return connection


def add(connection: duckdb.DuckDBPyConnection, path: str, source: Source) -> None:
    """One more table."""
    stage, _, name = path.partition("/")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {stage}")
    connection.register(f"{stage}_{name}", source)
    connection.execute(f"CREATE VIEW {stage}.{name} AS SELECT * FROM {stage}_{name}")


def rows(connection: duckdb.DuckDBPyConnection, table: Table, sql: str) -> pa.Table:
    """What a query finds, as the table has it."""
    found = connection.sql(sql).to_arrow_table()
    return found.select(table.arrow.names).cast(table.arrow)


def differences(expected: pa.Table, found: pa.Table) -> list[tuple[object, ...]]:
    """Some rows that only one of them has, with which one; none: they are equal, in any order."""
    connection = opened({})
    connection.register("expected", expected)
    connection.register("found", found.select(expected.column_names).cast(expected.schema))
    return connection.sql(
        "(SELECT 'missing', * FROM (FROM expected EXCEPT ALL FROM found) LIMIT 5) UNION ALL "
        "(SELECT 'too many', * FROM (FROM found EXCEPT ALL FROM expected) LIMIT 5)"
    ).fetchall()
