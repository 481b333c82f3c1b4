"""Lander: copies what a spool keeps into the lake's landing tables, each observation once.

    spool ─(records after the watermark)─▶ batch ─▶ a commit for each kind ─▶ watermark

Each commit claims the spool up to the batch's end, so that a table's own log says how much of the
spool it has: after a crash between two tables the batch is read again, and each takes only what is
behind its claim. The watermark (see `store.spool.watermark`) comes last: the next run begins there,
and the spool may forget what is before it.
"""

import fcntl
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import LocalError, UsageError
from rookery.lake.engine.delta import CommitClaim, ConflictError, Lake
from rookery.lake.landing.batch import LandingBatch
from rookery.lake.landing.row_kinds import TABLES
from rookery.lake.schema import quarantine
from rookery.lake.schema.table import Table
from rookery.store.spool import watermark
from rookery.store.spool.reader import SpoolReader
from rookery.store.spool.segment import Segment, SpoolRecord, segments

ROWS_MAX = 250_000  # of a batch
BYTES_MAX = 64 << 20  # of a batch's records

_LOCK = "landing.lock"
_ATTEMPTS = 10
_TARGETS = (*TABLES.values(), quarantine.OBSERVATIONS)


class LandingTotals(NamedTuple):
    """Totals of a run so far."""

    rows: int = 0  # new in landing
    quarantined: int = 0  # new in quarantine
    batches: int = 0
    position: int = 0  # everything before it is in the lake
    until: int = 0  # where the spool ended when the run began
    damaged_segments: int = 0
    skipped_bytes: int = 0  # of those segments


LandingCallback = Callable[[LandingTotals], None]


class Lander:
    """Lands one spool. The name tells spools apart: see `store.spool.name`."""

    def __init__(
        self,
        lake: Lake,
        folder: Path,
        name: str,
        *,
        rows_max: int = ROWS_MAX,
        bytes_max: int = BYTES_MAX,
        progress: LandingCallback | None = None,
    ) -> None:
        self._lake = lake
        self._folder = folder
        self._name = name
        self._source = f"spool {name}"
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._progress = progress
        self._claims: dict[str, int | None] = {}  # by table, as far as they are known

    def run(self) -> LandingTotals:
        """Land what the spool has now; LocalError when the lake cannot take it.

        Then nothing is lost: the next run begins where this one ended. UsageError when there is no
        spool, or another process lands it.
        """
        with _locked(self._folder), _uncollected():
            self._claims.clear()
            until = _durable_end(self._folder)
            self._refuse_another_past(until)
            reader = SpoolReader(self._folder, self._start())
            total = LandingTotals(position=reader.position, until=until)
            records = _records_before(reader, until)
            while (batch := self._read(records)).rows:
                total = _seen(reader, self._land(batch, total))
                self._report(total)
            if total.position < reader.position <= until:  # nothing but damage there
                self._mark(reader.position)
                total = _seen(reader, total._replace(position=reader.position))
            return total

    def _start(self) -> int:
        """Where to begin: after the watermark, unless that is of another lake."""
        mark = watermark.read(self._folder)
        return mark if mark is not None and self._furthest() else 0

    def _furthest(self) -> int:
        """How much of the spool the lake has, by the table that has most of it."""
        return max(self._claimed(table) or 0 for table in _TARGETS)

    def _refuse_another_past(self, until: int) -> None:
        """Refuse a spool that was reset: new records at old positions would be skipped as known."""
        if 0 < until < self._furthest():
            raise UsageError(
                f"{self._folder} ends before what the lake has of spool {self._name}: if it was "
                "restored from a copy, it needs another name"
            )

    def _read(self, records: Iterator[SpoolRecord]) -> LandingBatch:
        batch = LandingBatch(self._name, datetime.now(UTC).date())
        batch.fill(records, self._rows_max, self._bytes_max)
        return batch

    def _land(self, batch: LandingBatch, total: LandingTotals) -> LandingTotals:
        rows = quarantined = 0
        for table, content in batch.tables():
            count = self._append(table, content, batch.until)
            if table is quarantine.OBSERVATIONS:
                quarantined += count
            else:
                rows += count
        self._mark(batch.until)
        return total._replace(
            rows=total.rows + rows,
            quarantined=total.quarantined + quarantined,
            batches=total.batches + 1,
            position=batch.until,
        )

    def _append(self, table: Table, rows: pa.Table, until: int) -> int:
        """How many of them were new to the table."""
        for _ in range(_ATTEMPTS):
            since = self._claimed(table)
            if since is not None:
                rows = rows.filter(pc.greater(rows["position"], since))
            count: int = rows.num_rows
            if not count:
                return 0
            try:
                claim = CommitClaim(self._source, since, until)
                self._lake.append(table, rows, [claim], {"spool": self._name})
            except ConflictError:
                del self._claims[table.path]  # another process was faster: see what is left to do
            else:
                self._claims[table.path] = until
                return count
        raise LocalError(f"{table.path}: too many others commit to it")

    def _claimed(self, table: Table) -> int | None:
        """Up to where the table has the spool."""
        if table.path not in self._claims:
            self._claims[table.path] = self._lake.ingested_version(table, self._source)
        return self._claims[table.path]

    def _mark(self, position: int) -> None:
        try:
            watermark.save(self._folder, position)
        except OSError as error:
            raise LocalError(f"{self._folder} takes no mark: {error.strerror}") from error

    def _report(self, total: LandingTotals) -> None:
        if self._progress is not None:
            self._progress(total)


def _seen(reader: SpoolReader, total: LandingTotals) -> LandingTotals:
    return total._replace(
        damaged_segments=reader.damaged_segments, skipped_bytes=reader.skipped_bytes
    )


def _records_before(reader: SpoolReader, until: int) -> Iterator[SpoolRecord]:
    """Records that were durable when the run began, however many are written meanwhile."""
    for record in reader:
        if record.position > until:
            return
        yield record


def _durable_end(folder: Path) -> int:
    """The end of the spool that a power cut cannot take back.

    Records that are not synced yet may be lost with the power, and their positions given to other
    records: those would never be landed.
    """
    for _ in range(_ATTEMPTS):
        found = segments(folder)
        if not found:
            return 0
        try:
            return _synced(found[-1])
        except FileNotFoundError:
            continue  # its writer has moved on to another segment
        except OSError as error:
            raise LocalError(f"{found[-1].path} cannot be read: {error.strerror}") from error
    raise LocalError(f"{folder} changes too fast to be read")


def _synced(segment: Segment) -> int:
    """The end of a segment that is still written to, once it is on disk."""
    descriptor = os.open(segment.path, os.O_RDONLY)
    try:
        end = segment.end
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # Shorter than before if the disk refused a group and the writer truncated it.
    return min(end, segment.end)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause garbage collection: contents have no cycles, and looking for some takes a quarter."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time lands a spool: two would only conflict."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"no spool in {folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another process lands {folder}") from None
        yield
    finally:
        os.close(descriptor)
