"""Maintenance of tables: compact small files, vacuum unneeded ones, retire old dates.

Readers see the same rows before and after `compact` and `vacuum`. For steps none of the three is a
change: what a table has ingested stays there, also when `retire` removes it from the source.
Landing tables are not compacted, as their files are read once.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from rookery.errors import LocalError, UsageError
from rookery.lake.engine import parquet
from rookery.lake.engine.delta import Lake, delta_error_text
from rookery.lake.schema.catalog import TABLES
from rookery.lake.schema.table import DATE, Stage, Table

TARGET_SIZE = 128 << 20  # of a file
KEEP = timedelta(
    days=7
)  # of files that no version needs any more: how far back the past can be queried
KEEP_MIN = timedelta(hours=6)  # no job runs as long between its files and their commit
KEEP_DAYS_MIN: Mapping[Stage, int] = {
    "landing": 2,
    "quarantine": 2,
    # Observations come up to 30 days late, and a date is computed anew from all it has.
    "clean": 35,
    "facts": 35,
    "insights": 2,
}

_ATTEMPTS = 5


class CompactionResult(NamedTuple):
    """Files replaced in a table; one that was changed meanwhile is left as it was."""

    table: Table
    removed: int = 0
    added: int = 0
    is_left: bool = False


class VacuumResult(NamedTuple):
    """Files that no version needs and that no run is about to commit."""

    table: Table
    files: tuple[str, ...]


class RetentionResult(NamedTuple):
    """Dates that are removed from a table."""

    table: Table
    dates: frozenset[date]
    held: frozenset[date]  # as old, but not yet ingested by every table made from this one


def compact(
    lake: Lake, tables: Iterable[Table] = TABLES, target_size: int = TARGET_SIZE
) -> list[CompactionResult]:
    """Merge small files of a date, table by table; tables that do not exist are skipped."""
    done = []
    for table, opened in _existing(lake, tables):
        if table.stage == "landing":
            continue
        try:
            metrics = opened.optimize.compact(target_size=target_size)
        except CommitFailedError:
            done.append(CompactionResult(table, is_left=True))
        except (DeltaError, OSError) as error:
            raise LocalError(
                f"{table.path} cannot be compacted: {delta_error_text(error)}"
            ) from error
        else:
            removed, added = metrics["numFilesRemoved"], metrics["numFilesAdded"]
            done.append(CompactionResult(table, removed, added))
        _checkpoint(table, opened)
    return done


def vacuum(
    lake: Lake, tables: Iterable[Table] = TABLES, keep: timedelta = KEEP, *, is_dry: bool = False
) -> list[VacuumResult]:
    """Remove files that were replaced longer ago, and those that crashed runs left behind."""
    if keep < KEEP_MIN:
        raise UsageError(
            f"files younger than {KEEP_MIN} may belong to a run that is about to commit"
        )
    done = []
    for table, opened in _existing(lake, tables):
        try:
            files = opened.vacuum(
                retention_hours=int(keep / timedelta(hours=1)),
                dry_run=is_dry,
                enforce_retention_duration=False,
                full=True,
            )
        except (DeltaError, OSError) as error:
            raise LocalError(
                f"{table.path} cannot be vacuumed: {delta_error_text(error)}"
            ) from error
        if not is_dry and "://" not in lake.url:
            _remove_empty_folders(Path(lake.uri(table)), time.time() - keep.total_seconds())
        done.append(VacuumResult(table, tuple(files)))
    return done


def retire(
    lake: Lake,
    keep_days: Mapping[Stage, int],
    today: date,
    tables: Iterable[Table] = TABLES,
) -> list[RetentionResult]:
    """Delete dates that are older than their stage keeps; stages not named keep everything.

    A date stays while a table that is made from it has not ingested it.
    """
    for stage, days in keep_days.items():
        if days < KEEP_DAYS_MIN[stage]:
            raise UsageError(f"{stage} has to be kept for {KEEP_DAYS_MIN[stage]} days at least")
    done = []
    for table, opened in _existing(lake, tables):
        if not table.is_dated or table.stage not in keep_days:
            continue
        first = today - timedelta(days=keep_days[table.stage])
        old = frozenset(each for each in lake.dates(table) if each < first)
        held = old & _not_taken_in(lake, table, old)
        if old - held:
            _delete(table, opened, old - held)
        if old:
            done.append(RetentionResult(table, old - held, held))
    return done


def _existing(lake: Lake, tables: Iterable[Table]) -> Iterator[tuple[Table, DeltaTable]]:
    for table in tables:
        if lake.version(table) is not None:
            yield table, lake.delta_table(table)


def _not_taken_in(lake: Lake, table: Table, dates: frozenset[date]) -> frozenset[date]:
    """Those of these dates that a table made from this one still has to ingest."""
    waiting: frozenset[date] = frozenset()
    for target in TABLES:
        if table.path not in target.sources:
            continue
        changes = lake.changes(table, lake.ingested_version(target, table))
        if changes is None or changes.dates is None:
            return dates
        waiting |= changes.dates
    return waiting & dates


def _delete(table: Table, opened: DeltaTable, dates: frozenset[date]) -> None:
    days = ", ".join(f"'{each.isoformat()}'" for each in sorted(dates))
    for _ in range(_ATTEMPTS):
        try:
            # Not by `Lake.commit`: that would mark the dates as changed for all later steps.
            opened.delete(f"{DATE} IN ({days})")
        except CommitFailedError:
            opened.update_incremental()
        except (DeltaError, OSError) as error:
            raise LocalError(
                f"{table.path} cannot forget {days}: {delta_error_text(error)}"
            ) from error
        else:
            return
    raise LocalError(f"{table.path}: too many others commit to it")


def _checkpoint(table: Table, opened: DeltaTable) -> None:
    """Write a checkpoint, so that opening does not read hundreds of commits; drop old ones."""
    try:
        opened.update_incremental()
        opened.create_checkpoint()
        opened.cleanup_metadata()
    except (DeltaError, OSError) as error:
        raise LocalError(f"{table.path} takes no checkpoint: {delta_error_text(error)}") from error


def _remove_empty_folders(root: Path, before: float) -> None:
    """Folders of old runs; recent ones may be about to be written to."""
    folders = sorted((root / parquet.FOLDER).rglob("*/"), reverse=True)  # inner ones first
    for folder in folders:
        with suppress(OSError):  # not empty, or gone
            if folder.stat().st_mtime < before:
                folder.rmdir()
