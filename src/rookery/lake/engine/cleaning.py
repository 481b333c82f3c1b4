"""Runs a clean step: landed rows go into a clean table or into quarantine, each row once.

landing ─▶ judged ─┬─▶ bad: quarantine, with the reason   (first commit)
                   └─▶ sound ─▶ not known yet ─▶ clean     (second commit)

An incremental run has few new rows: a first pass over them finds the days on which the clean table
may already hold them, and only those days are read for comparison. A first run has nothing to
compare with, so that counting and quarantining share one pass.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.engine import damaged_files
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.increment import LandingIncrement
from rookery.lake.engine.progress import StepOutcome, StepReport
from rookery.lake.engine.spark_errors import SPARK_FAILURES
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.engine.step import REASON, CleanStep
from rookery.lake.schema.table import DATE

NEWEST = "newest"  # key in a commit's metadata: the latest event time among its rows

_LATEST_DAYS = 31  # observations land at most so long after they were made
_EARLIEST_DAYS = 1  # clocks may be a little fast
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Judgement(NamedTuple):
    """Counts of judged rows."""

    rows: int
    bad: int
    dates: frozenset[date]  # of the sound ones
    newest: datetime | None


def ingest(
    tables: SparkTables, step: CleanStep, found: LandingIncrement, metadata: Mapping[str, str]
) -> StepReport:
    """Append what is new and sound; damaged files are put into quarantine by their names."""
    _, unsound = damaged_files.sound(found.files, step.source)
    try:
        return _ingest(tables, step, _without(found, unsound), unsound, metadata)
    except SPARK_FAILURES:
        # Perhaps a file is damaged behind a sound footer: slow to find, so only checked now.
        _, unreadable = damaged_files.readable(found.files, step.source)
        if len(unreadable) == len(unsound):
            raise
        return _ingest(tables, step, _without(found, unreadable), unreadable, metadata)


def _ingest(
    tables: SparkTables,
    step: CleanStep,
    found: LandingIncrement,
    unreadable: Sequence[damaged_files.DamagedFile],
    metadata: Mapping[str, str],
) -> StepReport:
    bad = _quarantine_files(tables.lake, step, unreadable, metadata)
    landing = tables.read(step.source, files=found.files)
    rows = step.judged(landing)
    if found.quarantine_files == found.files and not tables.lake.dates(step.target):
        judgement = _quarantine_and_count(tables, step, rows, found.quarantine_claim, metadata)
        bad += judgement.bad
    else:
        judgement = _judgement(rows)
        if judgement.bad:
            again = step.judged(tables.read(step.source, files=found.quarantine_files))
            rejected = step.rejected(again.where(~_is_sound()))
            claims = [found.quarantine_claim]
            bad += tables.append(step.quarantine_table, rejected, claims, metadata).rows
    known = tables.read(step.target, dates=step.known(judgement.dates))
    fresh = step.fresh(landing, known)
    written = tables.append(step.target, fresh, [found.claim], _dated(metadata, judgement.newest))
    return StepReport(
        step.target.path,
        StepOutcome.DONE,
        rows_in=judgement.rows,
        rows_out=written.rows,
        quarantined=bad,
        newest=judgement.newest,
    )


def _quarantine_files(
    lake: Lake,
    step: CleanStep,
    unreadable: Sequence[damaged_files.DamagedFile],
    metadata: Mapping[str, str],
) -> int:
    """Record damaged files, each once: the log of the quarantine table has their names."""
    new = [
        bad for bad in unreadable if lake.ingested_version(step.quarantine_table, bad[0]) is None
    ]
    if new:
        day = datetime.now(UTC).date()
        rows = [
            {"kind": step.source.name, "source": uri, "reason": reason, DATE: day}
            for uri, reason in new
        ]
        claims = [CommitClaim(uri, None, 1) for uri, _ in new]
        lake.append(
            step.quarantine_table,
            pa.Table.from_pylist(rows, schema=step.quarantine_table.arrow),
            claims,
            metadata,
        )
    return len(unreadable)


def _without(
    found: LandingIncrement, unreadable: Sequence[damaged_files.DamagedFile]
) -> LandingIncrement:
    lost = frozenset(uri for uri, _ in unreadable)
    if not lost:
        return found
    return found._replace(
        files=tuple(uri for uri in found.files if uri not in lost),
        quarantine_files=tuple(uri for uri in found.quarantine_files if uri not in lost),
    )


def replay(
    tables: SparkTables,
    step: CleanStep,
    dates: frozenset[date],
    metadata: Mapping[str, str],
    taken: StepReport,
) -> StepReport:
    """Clean days again from landing; days that landing no longer has in full stay as they are."""
    lake = tables.lake
    version = lake.ingested_version(step.target, step.source)
    landing_dates = lake.dates(step.source, version) if version is not None else frozenset()
    days = [day for day in sorted(dates) if landing_dates and min(landing_dates) <= day]
    if not days:
        return taken
    first = days[0] - timedelta(days=_EARLIEST_DAYS)
    last = days[-1] + timedelta(days=_LATEST_DAYS)
    read = frozenset(day for day in landing_dates if first <= day <= last)
    files, _ = damaged_files.sound(lake.files(step.source, read, version), step.source)
    fresh = step.fresh(tables.read(step.source, files=files), tables.read(step.target, files=[]))
    rows = fresh.where(F.col(DATE).isin(days))
    written = tables.replace(step.target, rows, days, [], metadata)
    return taken._replace(
        outcome=StepOutcome.DONE,
        rows_in=taken.rows_in + lake.rows(step.source, version, read),
        rows_out=taken.rows_out + written.rows,
    )


def _quarantine_and_count(
    tables: SparkTables,
    step: CleanStep,
    rows: DataFrame,
    claim: CommitClaim,
    metadata: Mapping[str, str],
) -> _Judgement:
    """Put bad rows into quarantine, and count all rows in the same pass."""
    counts = Observation()
    rejected = step.rejected(rows.observe(counts, *_counts()).where(~_is_sound())).persist()
    try:
        if bad := rejected.count():
            tables.append(step.quarantine_table, rejected, [claim], metadata)
    finally:
        rejected.unpersist()
    found = counts.get
    return _Judgement(found["rows"], bad, frozenset(), _time(found["newest"]))


def _judgement(judged: DataFrame) -> _Judgement:
    """Count judged rows, by one pass over few columns."""
    dates = F.collect_set(F.when(_is_sound(), F.col(DATE))).alias("dates")
    [found] = judged.agg(*_counts(), F.count(REASON).alias("bad"), dates).collect()
    return _Judgement(found.rows, found.bad, frozenset(found.dates), _time(found.newest))


def _counts() -> tuple[Column, Column]:
    newest = F.max(F.when(_is_sound(), F.unix_micros("at")))
    return F.count("*").alias("rows"), newest.alias("newest")


def _is_sound() -> Column:
    return F.col(REASON).isNull()


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def _dated(metadata: Mapping[str, str], newest: datetime | None) -> dict[str, str]:
    return {**metadata, NEWEST: newest.isoformat()} if newest else dict(metadata)
