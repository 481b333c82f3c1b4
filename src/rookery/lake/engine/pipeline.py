"""The pipeline: one run through all steps, over what is new by the Delta logs.

Tables are the only state between runs. A run that is killed at any moment leaves each table as it
was before or after a step; the next run goes on from there. Two runs at once do the same work, and
the log accepts one of them.
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
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.errors import RookeryError, UsageError
from rookery.lake.engine import cleaning, spark_errors, spark_session
from rookery.lake.engine.delta import ConflictError, Lake
from rookery.lake.engine.increment import Increment, increment, landing_increment, source_dates
from rookery.lake.engine.parallel import StepWork, run_parallel
from rookery.lake.engine.progress import Progress, RunReport, StepOutcome, StepReport, StepStarted
from rookery.lake.engine.spark_errors import SPARK_FAILURES
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.engine.step import CleanStep, LakeStep, TransformStep
from rookery.lake.schema.insights import LINEAGE
from rookery.lake.schema.table import DATE

_DYING_S = 5.0  # that a JVM may take to end
_NEWEST_COMMITS = 20  # to look for an event time in; compaction's have none
_NOTHING: frozenset[date] = frozenset()
_SPARK = "Spark"
_log = logging.getLogger(__name__)


class _PipelineRun(NamedTuple):
    """What the metadata of a run's commits has in common."""

    id: str
    code: str
    forced: frozenset[date]

    @property
    def metadata(self) -> dict[str, str]:
        return {"run": self.id, "code": self.code}


class Pipeline:
    """Runs steps over the tables of a lake, each after the steps that it depends on.

    Independent steps run at the same time: they begin in their order, and are reported as they end.
    """

    def __init__(
        self,
        tables: SparkTables,
        steps: Sequence[LakeStep],
        on_progress: Callable[[Progress], None] = lambda event: None,
    ) -> None:
        self._tables = tables
        self._lake = tables.lake
        self._steps = steps
        self._on_progress = on_progress
        self._progress_lock = Lock()  # one event at a time

    def run(self) -> RunReport:
        """Ingest what is new."""
        return self._go(_NOTHING)

    def backfill(self, first: date, last: date) -> RunReport:
        """Recompute all tables of some days, whether their sources changed or not."""
        if last < first:
            raise UsageError(f"{last} is before {first}")
        days = (last - first).days + 1
        return self._go(frozenset(first + timedelta(days=day) for day in range(days)))

    def _go(self, forced: frozenset[date]) -> RunReport:
        run = _PipelineRun(_run_id(), _code(), forced)
        begun = time.monotonic()
        broken: set[str] = set()

        def work(number: int, step: LakeStep) -> StepWork:
            missing = sorted(broken & {_SPARK, *(each.path for each in step.sources)})
            return lambda: self._attempt(step, run, missing, number + 1)

        def ended(report: StepReport) -> None:
            if report.outcome not in {StepOutcome.DONE, StepOutcome.SKIPPED}:
                broken.add(report.step)
            if report.is_spark_lost:
                broken.add(_SPARK)
            self._report_progress(report)

        reports = run_parallel(self._steps, work, ended)
        newest = _newest(self._lake, self._steps, reports)
        return RunReport(run.id, reports, time.monotonic() - begun, newest)

    def _report_progress(self, event: Progress) -> None:
        with self._progress_lock:
            self._on_progress(event)

    def _attempt(
        self, step: LakeStep, run: _PipelineRun, missing: Sequence[str], number: int
    ) -> StepReport:
        name = step.target.path
        if missing:
            return StepReport(name, StepOutcome.BLOCKED, text=f"waits for {', '.join(missing)}")

        def started() -> None:
            self._report_progress(StepStarted(name, number, len(self._steps)))

        begun = time.monotonic()
        try:
            if isinstance(step, CleanStep):
                report = self._clean(step, run, started)
            else:
                report = self._compute(step, run, started)
        except ConflictError as error:
            return StepReport(
                name, StepOutcome.CONFLICT, text=f"another driver was faster: {error}"
            )
        except (RookeryError, *SPARK_FAILURES, OSError) as error:
            _log.error("%s failed", name, exc_info=error)
            ending = spark_session.exit_text(_DYING_S if spark_errors.is_cut_off(error) else 0.0)
            text, is_lost = (
                ending or spark_errors.error_line(error),
                bool(ending) or spark_errors.is_lasting(error),
            )
            return StepReport(name, StepOutcome.FAILED, text=text, is_spark_lost=is_lost)
        return report._replace(seconds=time.monotonic() - begun)

    def _compute(
        self, step: TransformStep, run: _PipelineRun, started: Callable[[], None]
    ) -> StepReport:
        due = increment(self._lake, step, run.forced)
        if due is None:
            return StepReport(step.target.path, StepOutcome.SKIPPED)
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
        return StepReport(step.target.path, StepOutcome.DONE, rows_in, written.rows)

    def _clean(self, step: CleanStep, run: _PipelineRun, started: Callable[[], None]) -> StepReport:
        taken = StepReport(step.target.path, StepOutcome.SKIPPED)
        found = landing_increment(self._lake, step)
        if found is not None:
            started()
            taken = cleaning.ingest(self._tables, step, found, run.metadata)
        if run.forced:
            started()
            taken = cleaning.replay(self._tables, step, run.forced, run.metadata, taken)
        return taken


def idle_run(lake: Lake, steps: Sequence[LakeStep]) -> RunReport | None:
    """The report of a run with nothing to do, by the logs alone; None if there is something."""
    begun = time.monotonic()
    if any(_is_due(lake, step) for step in steps):
        return None
    reports = tuple(StepReport(step.target.path, StepOutcome.SKIPPED) for step in steps)
    newest = _newest(lake, steps, reports)
    return RunReport(_run_id(), reports, time.monotonic() - begun, newest)


def _is_due(lake: Lake, step: LakeStep) -> bool:
    if isinstance(step, CleanStep):
        return landing_increment(lake, step) is not None
    return increment(lake, step, _NOTHING) is not None


def _newest(
    lake: Lake, steps: Iterable[LakeStep], reports: Iterable[StepReport]
) -> datetime | None:
    """The latest event time: this run's, or what the last commits of clean tables say."""
    found = [each.newest for each in reports if each.newest is not None]
    for step in steps:
        if isinstance(step, CleanStep) and lake.version(step.target) is not None:
            commits = lake.delta_table(step.target).history(_NEWEST_COMMITS)
            texts = (str(each.get(cleaning.NEWEST, "")) for each in commits)
            found += [datetime.fromisoformat(text) for text in texts if text]
    return max(found, default=None)


def _with_lineage(
    step: TransformStep, rows: DataFrame, due: Increment, run: _PipelineRun
) -> DataFrame:
    if LINEAGE.name not in step.target.arrow.names:
        return rows
    values = {"run": run.id, "inputs": due.inputs, "code": run.code}
    fields = [F.lit(value).alias(name) for name, value in values.items()]
    return rows.withColumn(LINEAGE.name, F.struct(*fields))


def _run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid4().hex[:8]}"


def _code() -> str:
    return version("rookery")
