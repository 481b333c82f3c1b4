"""Pipeline: one run through all steps; what the Delta logs say is new, and nothing else.

Nothing is remembered between runs but in the tables themselves. A run that is killed at any moment
leaves each table as it was before or after a step; the next run goes on from there. Two runs at
once do the same work, and the log takes one of them.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from threading import Lock
from typing import Literal, NamedTuple
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from rookery.errors import RookeryError, UsageError
from rookery.lake import cleaning, failure, session
from rookery.lake.delta import ConflictError, Lake
from rookery.lake.failure import SPARK_FAILURES
from rookery.lake.increment import Increment, arrivals, increment, source_dates
from rookery.lake.progress import Outcome, Progress, RunReport, StepReport, StepStarted
from rookery.lake.schema.insights import LINEAGE
from rookery.lake.schema.table import DATE
from rookery.lake.side_by_side import Work, side_by_side
from rookery.lake.spark_tables import SparkTables
from rookery.lake.step import AnyStep, CleanStep, Step

_DYING_S = 5.0  # that a JVM may take, with all its memory
_NEWEST_COMMITS = 20  # to look for an event time in; compaction's have none
_NOTHING: frozenset[date] = frozenset()
_SPARK = "Spark"
_log = logging.getLogger(__name__)


class _Run(NamedTuple):
    """What all commits of a run say of it."""

    id: str
    code: str
    forced: frozenset[date]

    @property
    def metadata(self) -> dict[str, str]:
        return {"run": self.id, "code": self.code}


class Pipeline:
    """Steps over the tables of a lake, each behind those that it builds on.

    Those that do not build on each other go on at the same time: they begin in their order, and
    progress tells of them as they end.
    """

    def __init__(
        self,
        tables: SparkTables,
        steps: Sequence[AnyStep],
        on_progress: Callable[[Progress], None] = lambda event: None,
    ) -> None:
        self._tables = tables
        self._lake = tables.lake
        self._steps = steps
        self._on_progress = on_progress
        self._telling = Lock()  # whoever listens hears one thing at a time

    def run(self) -> RunReport:
        """Take in what is new."""
        return self._go(_NOTHING)

    def backfill(self, first: date, last: date) -> RunReport:
        """Compute all tables of some days anew, whether their sources changed or not."""
        if last < first:
            raise UsageError(f"{last} is before {first}")
        days = (last - first).days + 1
        return self._go(frozenset(first + timedelta(days=day) for day in range(days)))

    def _go(self, forced: frozenset[date]) -> RunReport:
        run = _Run(_run_id(), _code(), forced)
        begun = time.monotonic()
        broken: set[str] = set()

        def work(number: int, step: AnyStep) -> Work:
            missing = sorted(broken & {_SPARK, *(each.path for each in step.sources)})
            return lambda: self._attempt(step, run, missing, number + 1)

        def ended(report: StepReport) -> None:
            if report.outcome not in {Outcome.DONE, Outcome.SKIPPED}:
                broken.add(report.step)
            if report.is_spark_lost:
                broken.add(_SPARK)
            self._tell(report)

        reports = side_by_side(self._steps, work, ended)
        newest = _newest(self._lake, self._steps, reports)
        return RunReport(run.id, reports, time.monotonic() - begun, newest)

    def _tell(self, event: Progress) -> None:
        with self._telling:
            self._on_progress(event)

    def _attempt(self, step: AnyStep, run: _Run, missing: Sequence[str], number: int) -> StepReport:
        name = step.target.path
        if missing:
            return StepReport(name, Outcome.BLOCKED, text=f"waits for {', '.join(missing)}")

        def started() -> None:
            self._tell(StepStarted(name, number, len(self._steps)))

        begun = time.monotonic()
        try:
            if isinstance(step, CleanStep):
                report = self._clean(step, run, started)
            else:
                report = self._compute(step, run, started)
        except ConflictError as error:
            return StepReport(name, Outcome.CONFLICT, text=f"another driver was faster: {error}")
        except (RookeryError, *SPARK_FAILURES, OSError) as error:
            _log.error("%s failed", name, exc_info=error)
            ending = session.ending(_DYING_S if failure.is_cut_off(error) else 0.0)
            text, is_lost = ending or failure.line(error), bool(ending) or failure.is_lasting(error)
            return StepReport(name, Outcome.FAILED, text=text, is_spark_lost=is_lost)
        return report._replace(seconds=time.monotonic() - begun)

    def _compute(self, step: Step, run: _Run, started: Callable[[], None]) -> StepReport:
        due = increment(self._lake, step, run.forced)
        if due is None:
            return StepReport(step.target.path, Outcome.SKIPPED)
        started()
        dates = source_dates(self._lake, step, due)
        frames, rows_in = {}, 0
        for source in step.sources:
            chosen = dates if source.is_dated else None
            at = due.versions.get(source.path)
            files = [] if at is None else self._lake.files(source, chosen, at)
            frames[source.path] = self._tables.read(source, files=files)
            rows_in += self._lake.rows(source, at, chosen) if files else 0
        rows = _with_lineage(step, step.transform(frames), due, run)
        replaced: frozenset[date] | Literal["all"] = due.dates if step.target.is_dated else "all"
        if step.target.is_dated:
            rows = rows.where(F.col(DATE).isin(sorted(due.dates)))
        written = self._tables.replace(step.target, rows, replaced, due.claims, run.metadata)
        return StepReport(step.target.path, Outcome.DONE, rows_in, written.rows)

    def _clean(self, step: CleanStep, run: _Run, started: Callable[[], None]) -> StepReport:
        taken = StepReport(step.target.path, Outcome.SKIPPED)
        found = arrivals(self._lake, step)
        if found is not None:
            started()
            taken = cleaning.take_in(self._tables, step, found, run.metadata)
        if run.forced:
            started()
            taken = cleaning.replay(self._tables, step, run.forced, run.metadata, taken)
        return taken


def idle_run(lake: Lake, steps: Sequence[AnyStep]) -> RunReport | None:
    """What a run would report that has nothing to do, told by the logs alone; None if it has."""
    begun = time.monotonic()
    if any(_is_due(lake, step) for step in steps):
        return None
    reports = tuple(StepReport(step.target.path, Outcome.SKIPPED) for step in steps)
    newest = _newest(lake, steps, reports)
    return RunReport(_run_id(), reports, time.monotonic() - begun, newest)


def _is_due(lake: Lake, step: AnyStep) -> bool:
    if isinstance(step, CleanStep):
        return arrivals(lake, step) is not None
    return increment(lake, step, _NOTHING) is not None


def _newest(lake: Lake, steps: Iterable[AnyStep], reports: Iterable[StepReport]) -> datetime | None:
    """The latest event time: this run's, or what the last commits of clean tables say."""
    found = [each.newest for each in reports if each.newest is not None]
    for step in steps:
        if isinstance(step, CleanStep) and lake.version(step.target) is not None:
            commits = lake.opened(step.target).history(_NEWEST_COMMITS)
            texts = (str(each.get(cleaning.NEWEST, "")) for each in commits)
            found += [datetime.fromisoformat(text) for text in texts if text]
    return max(found, default=None)


def _with_lineage(step: Step, rows: DataFrame, due: Increment, run: _Run) -> DataFrame:
    if LINEAGE.name not in step.target.arrow.names:
        return rows
    values = {"run": run.id, "inputs": due.inputs, "code": run.code}
    fields = [F.lit(value).alias(name) for name, value in values.items()]
    return rows.withColumn(LINEAGE.name, F.struct(*fields))


def _run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


def _code() -> str:
    return version("rookery")
