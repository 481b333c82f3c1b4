"""Status of a lake's tables: rows, files, age, and sources that are not ingested yet."""

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from rookery.lake.engine.commit import commits, committed_at
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.catalog import BY_PATH, TABLES
from rookery.lake.schema.table import Table


class TableStatus(NamedTuple):
    """By the table's log alone; nothing is read."""

    table: Table
    version: int
    rows: int
    files: int
    size: int  # bytes
    changed_at: datetime  # last commit
    first: str  # partition, `2026-03-02`; empty where there are none
    last: str
    behind: tuple[str, ...]  # sources with something new


def table_status(lake: Lake, table: Table) -> TableStatus | None:
    """None while the table does not exist."""
    if lake.version(table) is None:
        return None
    opened = lake.delta_table(table)
    actions = pa.table(opened.get_add_actions(flatten=True))
    dates = []
    if table.is_dated and "partition.date" in actions.column_names:
        dates = sorted({each.isoformat() for each in actions["partition.date"].to_pylist() if each})
    [last] = commits(opened, 1)
    return TableStatus(
        table,
        opened.version(),
        sum(actions["num_records"].to_pylist()),
        actions.num_rows,
        sum(actions["size_bytes"].to_pylist()),
        committed_at(last),
        dates[0] if dates else "",
        dates[-1] if dates else "",
        _behind(lake, table),
    )


def lake_status(lake: Lake) -> list[TableStatus]:
    """Of all tables that are there, stage by stage."""
    found = (table_status(lake, table) for table in TABLES)
    return [status for status in found if status is not None]


def _behind(lake: Lake, table: Table) -> tuple[str, ...]:
    """Sources with changes of rows that the table has not ingested."""
    found = []
    for path in table.sources:
        source = BY_PATH[path]
        since = lake.ingested_version(table, source)
        changes = lake.changes(source, since)
        if changes is not None and not changes.is_nothing:
            found.append(path)
    return tuple(found)
