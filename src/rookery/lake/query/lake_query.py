"""SQL over the lake's tables by DuckDB: no JVM, read only, and confined to the lake.

Only tables that the SQL names are opened, as `clean.device_reports`: Arrow reads their files, so
that DuckDB needs no access to any. It is locked before it sees the SQL: no files, no network, no
extensions, no settings, no Python variables, and one statement that reads. Values from outside are
parameters, `WHERE device = ?`, and never a part of the SQL.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.dataset

from rookery.errors import LocalError, UsageError
from rookery.lake.engine.commit import commits, committed_at
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.catalog import TABLES
from rookery.lake.schema.table import Table

ROWS_MAX = 10_000
MEMORY_MAX = "2GB"

AsOf = int | datetime | None
"""A version, a time, or what there is now."""

Value = str | int | float | bool | date | datetime | None
"""What a parameter may be."""

_SETTINGS: Final[dict[str, str | int | float | list[str]]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": MEMORY_MAX,
    "temp_directory": "",
}
_STAGES = sorted({table.stage for table in TABLES})
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_BARE_AT = re.compile(r"""(?<![\w".])at(?![\w"])""", re.IGNORECASE)
_BATCH_ROWS = 10_000
_HISTORY_MAX = 100_000


class QueryResult(NamedTuple):
    """Rows of a query, at most as many as were asked for."""

    rows: pa.Table
    is_cut: bool  # there were more


class LakeQuery:
    """Queries of a lake as it is, or as it was."""

    def __init__(self, lake: Lake, as_of: AsOf = None) -> None:
        self._lake = lake
        self._as_of = as_of

    def answer(
        self, sql: str, rows_max: int = ROWS_MAX, parameters: Sequence[Value] = ()
    ) -> QueryResult:
        """UsageError for what is not one statement that reads, or that DuckDB refuses."""
        connection = self.connection(sql)
        try:
            return run_query(connection, sql, parameters, rows_max)
        finally:
            connection.close()

    def relation(self, sql: str) -> duckdb.DuckDBPyRelation:
        """The same for notebooks: evaluated when it is looked at, and as far as it is."""
        connection = self.connection(sql)
        try:
            return connection.sql(sql)
        except duckdb.Error as error:
            raise _query_error(error, sql) from error

    def connection(self, sql: str) -> duckdb.DuckDBPyConnection:
        """With the tables that this SQL names, and locked."""
        connection = locked_connection()
        try:
            check_statement(connection, sql)
            for table in named_tables(sql):
                register(connection, table, self._lake.dataset(table, self.version(table)))
        except BaseException:
            connection.close()
            raise
        return connection

    def version(self, table: Table) -> int | None:
        """The version of a table to read; None: the newest."""
        if self._as_of is None:
            return None
        newest = self._lake.version(table)
        if newest is None:
            raise UsageError(f"there is no {table.path} in {self._lake.url} yet")
        if isinstance(self._as_of, int):
            if not 0 <= self._as_of <= newest:
                raise UsageError(f"{table.path} has versions 0 to {newest}")
            return self._as_of
        return _version_then(self._lake, table, self._as_of)


def locked_connection() -> duckdb.DuckDBPyConnection:
    """A confined connection without tables: it sees only what is registered with it later."""
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    for stage in _STAGES:
        connection.execute(f'CREATE SCHEMA "{stage}"')
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def register(
    connection: duckdb.DuckDBPyConnection, table: Table, dataset: pyarrow.dataset.Dataset
) -> None:
    """Have SQL find these rows under the table's name."""
    connection.register(table.path, dataset)
    view = f'"{table.stage}"."{table.name}"'
    connection.execute(f'CREATE OR REPLACE VIEW {view} AS SELECT * FROM "{table.path}"')  # noqa: S608


def check_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """UsageError for what is not one statement that reads."""
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _query_error(error, sql) from error
    if len(statements) != 1:
        raise UsageError(f"one statement at a time; there are {len(statements)}")
    if statements[0].type not in _READING:
        raise UsageError("the lake is only read here: SELECT, FROM, DESCRIBE or EXPLAIN")


def run_query(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Value], rows_max: int
) -> QueryResult:
    """UsageError for what DuckDB refuses."""
    try:
        relation = (
            connection.sql(sql, params=list(parameters)) if parameters else connection.sql(sql)
        )
        return _first_rows(relation.to_arrow_reader(_BATCH_ROWS), rows_max)
    except (duckdb.Error, pa.ArrowException) as error:
        raise _query_error(error, sql) from error


def named_tables(sql: str) -> list[Table]:
    """Tables that the SQL may name; one too many does no harm."""
    words = re.sub(r'["\s]', "", sql.lower())
    return [table for table in TABLES if f"{table.stage}.{table.name}" in words]


def parse_as_of(text: str) -> int | datetime:
    """A version, or a time as ISO 8601 writes it, UTC unless it says otherwise."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no version and no time like 2026-03-02T12:00") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _version_then(lake: Lake, table: Table, time: datetime) -> int:
    """The last version that was there at that time."""
    known = commits(lake.delta_table(table), _HISTORY_MAX)
    before = [int(str(each["version"])) for each in known if committed_at(each) <= time]
    if not before:
        raise UsageError(f"there was no {table.path} at {time.isoformat()}")
    return max(before)


def _first_rows(reader: pa.RecordBatchReader, rows_max: int) -> QueryResult:
    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > rows_max:
            break
    found = pa.Table.from_batches(batches, reader.schema)
    return QueryResult(found.slice(0, rows_max), found.num_rows > rows_max)


def _query_error(error: Exception, sql: str) -> LocalError:
    """Its first line; what follows points into the SQL, which the user has."""
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, duckdb.CatalogException):
        line += " See: rookery lake tables"
    elif isinstance(error, duckdb.ParserException) and _BARE_AT.search(sql):
        line += """; the column "at" needs its quotes, as DuckDB knows the word"""
    return UsageError(line)
