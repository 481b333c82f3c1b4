"""A history on disk: landed but for its last hours, which come later, one by one.

    <folder>/before/landing/…     a lake that nobody has worked on yet
    <folder>/hour-0/landing/…     what lands next, and so on

It is written chunk by chunk, however long it is, and can be kept: whoever works on it takes links
to its files, which no table ever changes.
"""

import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.schema.landing import TABLES
from rookery.lake.schema.table import TIMESTAMP, Table
from rookery.lake.synthetic.dataset import SyntheticDataset

DAYS = 14
HOURS = 2  # that come one by one: the first finds plans that were never made before

_REPORTS_A_DAY = 24 * 60
_WRITER = "bench"


class Landed(NamedTuple):
    """What is there at first, and what comes."""

    before: Lake
    hours: tuple[Lake, ...]


def history(rows: int) -> SyntheticDataset:
    """One of about so many device reports."""
    days = max(2, min(DAYS, rows // _REPORTS_A_DAY))
    return SyntheticDataset(days=days, devices=max(1, rows // (days * _REPORTS_A_DAY)))


def landed(folder: Path, dataset: SyntheticDataset) -> Landed:
    """A history in a folder of its own; one that is there in full is taken as it is."""
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _land(dataset, _in(unfinished))
        unfinished.rename(folder)
    return _in(folder)


def taken(lake: Lake, folder: Path) -> Lake:
    """The same lake, to work on: its files are there once, on the same disk."""
    shutil.copytree(lake.url, folder, copy_function=os.link)
    return Lake(str(folder))


def come(hour: Lake, lake: Lake) -> None:
    """Land what comes in an hour."""
    for table in TABLES:
        for uri in hour.files(table):
            _append(lake, table, pq.read_table(uri, schema=table.arrow, partitioning=None))


def rows(lake: Lake) -> int:
    """Of all kinds that landed."""
    return sum(lake.rows(table) for table in TABLES)


def _in(folder: Path) -> Landed:
    hours = (Lake(str(folder / f"hour-{number}")) for number in range(HOURS))
    return Landed(Lake(str(folder / "before")), tuple(hours))


def _land(dataset: SyntheticDataset, target: Landed) -> None:
    end = datetime.combine(dataset.start, datetime.min.time(), UTC) + timedelta(days=dataset.days)
    bounds = [end - timedelta(hours=left) for left in range(HOURS, 0, -1)]
    for table, chunk in dataset.chunks():
        parts = _cut(chunk, bounds)
        for lake, part in zip((target.before, *target.hours), parts, strict=True):
            _append(lake, table, part)


def _cut(chunk: pa.Table, bounds: Sequence[datetime]) -> list[pa.Table]:
    """By when rows were received: before the first bound, from there to the next one, and so on."""
    received_at = chunk["received_at"]
    number = pa.scalar(0)
    for bound in bounds:
        is_behind = pc.greater_equal(received_at, pa.scalar(bound, TIMESTAMP))
        number = pc.add(number, is_behind.cast(pa.int64()))
    return [chunk.filter(pc.equal(number, each)) for each in range(len(bounds) + 1)]


def _append(lake: Lake, table: Table, part: pa.Table) -> None:
    if part.num_rows:
        since = lake.ingested_version(table, _WRITER)
        lake.append(table, part, [CommitClaim(_WRITER, since, (since or 0) + 1)], {})
