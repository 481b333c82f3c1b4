"""Query session: repeated queries over tables that stay open.

Opening DuckDB and the logs of some tables takes a hundred milliseconds. Here both stay open: a
table's log is checked again after a second, and the table is read again when it has a new version.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from rookery.errors import UsageError
from rookery.lake.engine import run_record
from rookery.lake.engine.commit import commits, committed_at
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.run_record import RunRecord
from rookery.lake.query.lake_query import (
    QueryResult,
    Value,
    check_statement,
    locked_connection,
    named_tables,
    register,
    run_query,
)
from rookery.lake.schema.catalog import BY_PATH, TABLES
from rookery.lake.schema.table import Table

REFRESH_S = 1.0
CHECKED_MAX = 1000  # statements that are known to read only
_ABSENT = -1


class TableFreshness(NamedTuple):
    """What a table's log says of it."""

    path: str
    version: int
    rows: int
    files: int
    size: int  # bytes
    changed_at: float  # wall seconds, of the last commit
    run: str  # that made it; empty: not by a run of the pipeline
    code: str  # version of rookery
    first: str  # partition, `2026-03-02`; empty where there are none
    last: str
    included: tuple[tuple[str, int], ...]  # sources, with the version that was taken in
    behind: tuple[str, ...]  # sources with later commits


class _OpenTable:
    """A table's log, as of the last look."""

    def __init__(self) -> None:
        self.log: DeltaTable | None = None
        self.looked_at = float("-inf")
        self.registered: int | None = None  # version that the engine has; _ABSENT: an empty one
        self.freshness: TableFreshness | None = None


class LakeQuerySession:
    """For one thread at a time; `interrupt` from any."""

    def __init__(self, lake: Lake, clock: Callable[[], float] = time.monotonic) -> None:
        self._lake = lake
        self._clock = clock
        self._connection = locked_connection()
        self._tables = {table.path: _OpenTable() for table in TABLES}
        self._checked: set[str] = set()

    def answer(self, sql: str, parameters: Sequence[Value], rows_max: int) -> QueryResult:
        """UsageError for what DuckDB refuses, LocalError for tables that cannot be read."""
        self._check(sql)
        tables = named_tables(sql)
        for table in tables:
            self._register(table)
        try:
            return run_query(self._connection, sql, parameters, rows_max)
        except (UsageError, OSError):
            # Files go when a lake is vacuumed or replaced; its logs say which there are now.
            for table in tables:
                self._tables[table.path] = _OpenTable()
                self._register(table)
            return run_query(self._connection, sql, parameters, rows_max)

    def freshness(self) -> dict[str, TableFreshness]:
        """Of all tables that there are, by path."""
        found = (self._freshness(table) for table in TABLES)
        return {each.path: each for each in found if each is not None}

    def last_run(self) -> RunRecord | None:
        return run_record.read(self._lake)

    def interrupt(self) -> None:
        """Cancel the running query, from another thread."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()

    def _check(self, sql: str) -> None:
        if sql in self._checked:
            return
        check_statement(self._connection, sql)
        if len(self._checked) < CHECKED_MAX:
            self._checked.add(sql)

    def _register(self, table: Table) -> None:
        log = self._log(table)
        version = _ABSENT if log is None else log.version()
        opened = self._tables[table.path]
        if opened.registered != version:
            dataset = self._lake.dataset(table, None if log is None else version)
            register(self._connection, table, dataset)
            opened.registered = version

    def _log(self, table: Table) -> DeltaTable | None:
        opened, now = self._tables[table.path], self._clock()
        if now - opened.looked_at < REFRESH_S:
            return opened.log
        if opened.log is not None:
            try:
                opened.log.update_incremental()
            except (DeltaError, OSError):
                opened.log = None  # another lake is there now, or none
        if opened.log is None and self._lake.version(table) is not None:
            opened.log = self._lake.delta_table(table)
        opened.looked_at = now
        return opened.log

    def _freshness(self, table: Table) -> TableFreshness | None:
        log, opened = self._log(table), self._tables[table.path]
        if log is None:
            return None
        if opened.freshness is None or opened.freshness.version != log.version():
            opened.freshness = _read(table, log)
        sources = ((path, self._log(BY_PATH[path])) for path in table.sources)
        taken = dict(opened.freshness.included)
        behind = (
            path
            for path, source in sources
            if source is not None and taken.get(path, _ABSENT) < source.version()
        )
        return opened.freshness._replace(behind=tuple(behind))


def _read(table: Table, log: DeltaTable) -> TableFreshness:
    actions = pa.table(log.get_add_actions(flatten=True))
    dates: list[str] = []
    if table.is_dated and "partition.date" in actions.column_names:
        dates = sorted({each.isoformat() for each in actions["partition.date"].to_pylist() if each})
    [last] = commits(log, 1)
    included = ((path, log.transaction_version(path)) for path in table.sources)
    return TableFreshness(
        table.path,
        log.version(),
        sum(actions["num_records"].to_pylist()),
        actions.num_rows,
        sum(actions["size_bytes"].to_pylist()),
        committed_at(last).timestamp(),
        str(last.get("run", "")),
        str(last.get("code", "")),
        dates[0] if dates else "",
        dates[-1] if dates else "",
        tuple((path, version) for path, version in included if version is not None),
        (),
    )
