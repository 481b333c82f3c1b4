"""Parquet files below a table, whoever wrote them: laid out by date, counted by their footers.

    <table>/data/<name>/_date=2026-11-16/part-….parquet

The date is in the directory's name for people, and in the file as well: so Spark reads a list of
files of any age and layout with one schema, and has no directories to guess from.
"""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from rookery.lake.schema.table import DATE, Table

FOLDER = "data"
DIRECTORY = "_date"  # Spark leaves a column out of its files that it names directories after

_COMPRESSION = "zstd"
_ROW_GROUP = 256 << 10


class Added(NamedTuple):
    """A file that lies below a table, and is not part of it until it is committed."""

    path: str  # relative to the table
    size: int
    rows: int
    date: date | None


def folder() -> str:
    """A new one, that nobody else will use."""
    return f"{FOLDER}/{uuid4().hex}"


def write(uri: str, table: Table, rows: pa.Table) -> list[Added]:
    """Rows as files, one for each date."""
    system, root = file_system(uri)
    target = folder()
    written = []
    for day, part in _by_date(table, rows):
        directory = f"{target}/{DIRECTORY}={day.isoformat()}" if day is not None else target
        path = f"{directory}/part-0.parquet"
        system.create_dir(f"{root}/{directory}", recursive=True)
        with system.open_output_stream(f"{root}/{path}") as sink:
            pq.write_table(part, sink, compression=_COMPRESSION, row_group_size=_ROW_GROUP)
        size = system.get_file_info(f"{root}/{path}").size
        written.append(Added(path, size, part.num_rows, day))
    return written


def written(uri: str, directory: str) -> list[Added]:
    """The files that Spark left in a directory of the table; empty ones are left out."""
    system, root = file_system(uri)
    selector = fs.FileSelector(f"{root}/{directory}", recursive=True, allow_not_found=True)
    found = []
    for info in system.get_file_info(selector):
        if info.type != fs.FileType.File or not info.path.endswith(".parquet"):
            continue
        rows = pq.read_metadata(info.path, filesystem=system).num_rows
        if rows:
            path = info.path.removeprefix(f"{root}/")
            found.append(Added(path, info.size, rows, _day(path)))
    return found


def _by_date(table: Table, rows: pa.Table) -> Iterator[tuple[date | None, pa.Table]]:
    if not table.is_dated:
        yield None, rows
        return
    for day in sorted(pc.unique(rows[DATE]).to_pylist()):
        yield day, rows.filter(pc.equal(rows[DATE], day))


def _day(path: str) -> date | None:
    for part in path.split("/"):
        if part.startswith(f"{DIRECTORY}="):
            return date.fromisoformat(part.partition("=")[2])
    return None


def file_system(uri: str) -> tuple[fs.FileSystem, str]:
    """Where a URI leads, and its path there."""
    if "://" not in uri:
        return fs.LocalFileSystem(), uri
    system, root = fs.FileSystem.from_uri(uri)
    return system, root
