"""Parquet files below a table, whoever wrote them: laid out by date, counted by their footers.

    <table>/data/<name>/_date=2026-11-16/part-….parquet

The date is in the directory's name for people, and in the file as well: so Spark reads a list of
files of any age and layout with one schema, and has no directories to guess from.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import PurePosixPath
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


class AddedFile(NamedTuple):
    """A file that lies below a table, and is not part of it until it is committed."""

    path: str  # relative to the table
    size: int
    rows: int
    date: date | None


def folder() -> str:
    """A new name, which no other writer uses."""
    return f"{FOLDER}/{uuid4().hex}"


def write(uri: str, table: Table, rows: pa.Table) -> list[AddedFile]:
    """Rows as files, one for each date; all of them or none."""
    system, root = file_system(uri)
    target = folder()
    try:
        return [_write(system, root, target, day, part) for day, part in _by_date(table, rows)]
    except BaseException:
        # Best effort, as a full disk needs the room; what stays is vacuumed later.
        with suppress(OSError):
            system.delete_dir(f"{root}/{target}")
        raise


def _write(
    system: fs.FileSystem, root: str, target: str, day: date | None, part: pa.Table
) -> AddedFile:
    directory = f"{target}/{DIRECTORY}={day.isoformat()}" if day is not None else target
    path = f"{directory}/part-0.parquet"
    system.create_dir(f"{root}/{directory}", recursive=True)
    with system.open_output_stream(f"{root}/{path}") as sink:
        pq.write_table(
            part,
            sink,
            compression=_COMPRESSION,
            row_group_size=_ROW_GROUP,
            use_dictionary=texts(part.schema),
        )
    size = system.get_file_info(f"{root}/{path}").size
    return AddedFile(path, size, part.num_rows, day)


def texts(fields: Iterable[pa.Field], within: str = "") -> list[str]:
    """Columns that repeat themselves: a dictionary of numbers costs time and room."""
    found = []
    for field in fields:
        path, kind = f"{within}{field.name}", field.type
        if pa.types.is_list(kind):
            found += texts([pa.field("element", kind.value_type)], f"{path}.list.")
        elif pa.types.is_struct(kind):
            found += texts(kind, f"{path}.")
        elif pa.types.is_string(kind):
            found.append(path)
    return found


def remove(uris: Iterable[str]) -> None:
    """Delete files."""
    for uri in uris:
        system, path = file_system(uri)
        system.delete_file(path)


def sync(uri: str, paths: Iterable[str]) -> None:
    """Make files of a table survive a power cut; only a local disk needs that."""
    system, root = file_system(uri)
    if not isinstance(system, fs.LocalFileSystem):
        return
    names = set(paths)
    for path in tuple(names):
        names.update(str(parent) for parent in PurePosixPath(path).parents)
    for name in sorted(names):
        descriptor = os.open(f"{root}/{name}", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def written(uri: str, directory: str) -> list[AddedFile]:
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
            found.append(AddedFile(path, info.size, rows, _day(path)))
    return found


def _by_date(table: Table, rows: pa.Table) -> Iterator[tuple[date | None, pa.Table]]:
    if not table.is_dated:
        yield None, rows
        return
    days = sorted(pc.unique(rows[DATE]).to_pylist())
    for day in days:
        yield day, rows if len(days) == 1 else rows.filter(pc.equal(rows[DATE], day))


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
