"""Cleaning: what landed goes into a clean table or is set aside, each row once.

landing ─▶ judged ─┬─▶ bad: set aside, with the reason   (first commit)
                   └─▶ sound ─▶ not known yet ─▶ clean    (second commit)
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.lake.increment import Arrivals
from rookery.lake.progress import Outcome, StepReport
from rookery.lake.schema.table import DATE
from rookery.lake.spark_tables import SparkTables
from rookery.lake.step import REASON, CleanStep

NEWEST = "newest"  # key in a commit's metadata: the latest event time among its rows

_LATEST_DAYS = 31  # what happened on a day has landed by then
_EARLIEST_DAYS = 1  # clocks may be a little fast
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Judgement(NamedTuple):
    """Counts of judged rows."""

    rows: int
    bad: int
    dates: frozenset[date]  # of the sound ones
    newest: datetime | None


def take_in(
    tables: SparkTables, step: CleanStep, found: Arrivals, metadata: Mapping[str, str]
) -> StepReport:
    """Append what is new and sound."""
    rows = step.judged(tables.read(step.source, files=found.files))
    judgement = _judgement(rows)
    bad = judgement.bad
    if bad:
        again = rows
        if found.refuge_files != found.files:
            again = step.judged(tables.read(step.source, files=found.refuge_files))
        rejected = step.rejected(again.where(F.col(REASON).isNotNull()))
        bad = tables.append(step.refuge, rejected, [found.refuge_claim], metadata).rows
    known = tables.read(step.target, dates=step.known(judgement.dates))
    fresh = step.fresh(_sound(rows), known)
    written = tables.append(step.target, fresh, [found.claim], _dated(metadata, judgement.newest))
    return StepReport(
        step.target.path,
        Outcome.DONE,
        rows_in=judgement.rows,
        rows_out=written.rows,
        quarantined=bad,
        newest=judgement.newest,
    )


def replay(
    tables: SparkTables,
    step: CleanStep,
    dates: frozenset[date],
    metadata: Mapping[str, str],
    taken: StepReport,
) -> StepReport:
    """Clean days anew from all that landed; days that landing no longer has in full stay."""
    lake = tables.lake
    version = lake.included(step.target, step.source)
    landed = lake.dates(step.source, version) if version is not None else frozenset()
    days = [day for day in sorted(dates) if landed and min(landed) <= day]
    if not days:
        return taken
    first = days[0] - timedelta(days=_EARLIEST_DAYS)
    last = days[-1] + timedelta(days=_LATEST_DAYS)
    read = frozenset(day for day in landed if first <= day <= last)
    judged = step.judged(tables.read(step.source, files=lake.files(step.source, read, version)))
    sound = _sound(judged).where(F.col(DATE).isin(days))
    rows = step.fresh(sound, tables.read(step.target, files=[]))
    written = tables.replace(step.target, rows, days, [], metadata)
    return taken._replace(
        outcome=Outcome.DONE,
        rows_in=taken.rows_in + lake.rows(step.source, version, read),
        rows_out=taken.rows_out + written.rows,
    )


def _judgement(judged: DataFrame) -> _Judgement:
    """One pass over few columns; the rows themselves stay where they are."""
    is_sound = F.col(REASON).isNull()
    [found] = judged.agg(
        F.count("*").alias("rows"),
        F.count(REASON).alias("bad"),
        F.collect_set(F.when(is_sound, F.col(DATE))).alias("dates"),
        F.max(F.when(is_sound, F.unix_micros("at"))).alias("newest"),
    ).collect()
    newest = None if found.newest is None else _EPOCH + timedelta(microseconds=found.newest)
    return _Judgement(found.rows, found.bad, frozenset(found.dates), newest)


def _sound(judged: DataFrame) -> DataFrame:
    return judged.where(F.col(REASON).isNull()).drop(REASON)


def _dated(metadata: Mapping[str, str], newest: datetime | None) -> dict[str, str]:
    return {**metadata, NEWEST: newest.isoformat()} if newest else dict(metadata)
