"""Runs of the pipeline, one after the other: land, work, and say durably how it went.

land ─▶ start Spark ─▶ run ─▶ record ─┬─ in order, or a step failed ─▶ the same session again
     ▲                                └─ Spark is lost ──────────────▶ end what is left of it
     └──────────────── after a second, two, four … at most the pause ◀────────────┘

Spark is not started before there is something to do.
"""

import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.cli.lake.options import SparkOptions
from rookery.cli.lake.run_progress import RunProgress
from rookery.cli.terminal.exit_codes import FAILED, OK
from rookery.errors import RookeryError, UnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rookery.lake.engine.delta import Lake
    from rookery.lake.engine.pipeline import Pipeline
    from rookery.lake.engine.progress import RunReport
    from rookery.lake.landing.lander import Lander

LANDING, SPARK, PIPELINE = "landing", "Spark", "pipeline"  # steps that are no table's

_AGAIN_S = 1.0  # before a session that was lost is replaced; twice as long each time
_DOUBLINGS_MAX = 20
_log = logging.getLogger(__name__)


class PipelineRuns:
    """On one lake, with a session that stays as long as it can be relied on."""

    def __init__(
        self,
        lake: "Lake",
        spark_options: SparkOptions,
        progress: RunProgress,
        landers: Sequence["Lander"],
    ) -> None:
        from rookery.lake.engine import spark_session

        self.log = (spark_options.log or spark_session.log_file()).absolute()
        self._lake = lake
        self._spark_options = spark_options
        self._progress = progress
        self._landers = landers
        self._spark: SparkSession | None = None
        self._losses = 0  # of sessions, one after the other

    def run(self) -> int:
        """Take in what is new; its exit code, or a RookeryError where it could not begin."""
        return self._go(lambda pipeline: pipeline.run(), may_rest=True)

    def backfill(self, first: date, last: date) -> int:
        return self._go(lambda pipeline: pipeline.backfill(first, last))

    def sooner(self, pause_s: float) -> float:
        """How long to wait for the next one."""
        if not self._losses:
            return pause_s
        return min(pause_s, _AGAIN_S * float(1 << min(self._losses - 1, _DOUBLINGS_MAX)))

    def close(self) -> None:
        from rookery.lake.engine import spark_session as session

        if self._spark is not None:
            session.end(self._spark)
            self._spark = None

    def leave(self) -> None:
        """Let the JVM end with this process, without asking anything more of it."""
        self._spark = None

    def _give_up(self) -> None:
        from rookery.lake.engine import spark_session as session

        session.abandon()
        self._spark = None

    def _go(self, work: "Callable[[Pipeline], RunReport]", *, may_rest: bool = False) -> int:
        begun = time.monotonic()
        with self._recorded(LANDING, begun):
            for lander in self._landers:
                lander.run()
        report = self._rest(begun) if may_rest and self._spark is None else None
        if report is None:
            with self._recorded(SPARK, begun):
                pipeline = self._pipeline()
            with self._recorded(PIPELINE, begun):
                report = work(pipeline)
        failed = report.failed
        step, error = ("", "") if failed is None else (failed.step, failed.text)
        self._record(report.is_ok, begun, report.run, step, error)
        self._progress.end(report, self.log)
        self._losses = self._losses + 1 if report.is_spark_lost else 0
        if report.is_spark_lost:
            self._give_up()
        return OK if report.is_ok else FAILED

    def _rest(self, begun: float) -> "RunReport | None":
        """The report of a run that needs no Spark, as nothing is new."""
        from rookery.lake.engine.pipeline import idle_run
        from rookery.lake.steps import STEPS

        with self._recorded(PIPELINE, begun):
            report = idle_run(self._lake, STEPS)
        for step in () if report is None else report.steps:
            self._progress(step)
        return report

    @contextmanager
    def _recorded(self, step: str, begun: float) -> Iterator[None]:
        """Record an error raised inside as a failed run; it names the step and the log."""
        try:
            yield
        except RookeryError as error:
            _log.exception("%s failed", step)
            if step == SPARK:
                self._losses += 1
            self._record(False, begun, "", step, str(error))
            self._progress.failed(step, str(error), self.log)
            raise type(error)(f"{step} failed: {error}; see {self.log}") from error

    def _record(self, ok: bool, begun: float, run: str, step: str, error: str) -> None:
        from rookery.lake.engine.run_record import RunRecord, save

        record = RunRecord(
            ended_at=time.time(),
            ok=ok,
            took_s=round(time.monotonic() - begun, 3),
            run=run,
            step=step,
            error=" ".join(error.split()),
            log="" if ok else str(self.log),
            host="" if ok else socket.gethostname(),
        )
        try:
            save(self._lake, record)
        except RookeryError as problem:
            _log.warning("%s", problem)

    def _pipeline(self) -> "Pipeline":
        """With the session there is, or a new one."""
        from rookery.lake.engine import spark_session as session
        from rookery.lake.engine.pipeline import Pipeline
        from rookery.lake.engine.spark_tables import SparkTables
        from rookery.lake.steps import STEPS

        if self._spark is not None and (ending := session.exit_text()):
            self._give_up()
            self._progress.lost(ending, self.log)
        if self._spark is None:
            on_interrupt = signal.getsignal(signal.SIGINT)
            with self._progress.waiting("starting Spark"):
                self._spark = _started(self._spark_options, self.log)
            signal.signal(signal.SIGINT, on_interrupt)  # Spark's own asks the JVM from within
        return Pipeline(SparkTables(self._spark, self._lake), STEPS, self._progress)


@contextmanager
def pipeline_runs(
    lake: "Lake",
    spark_options: SparkOptions,
    progress: RunProgress,
    landers: Sequence["Lander"] = (),
) -> Iterator[PipelineRuns]:
    """Runs whose session is ended with the block.

    After an interruption the JVM may be in the middle of a call and answers no other. It is left
    alone and ends with this process; no table knows of the files that it was writing.
    """
    found = PipelineRuns(lake, spark_options, progress, landers)
    with _logged(found.log):
        try:
            yield found
        except KeyboardInterrupt:
            found.leave()
            raise
        finally:
            found.close()
            progress.stop()


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Errors of this process go to the same file as the JVM's own log.

    Each step logs its failure once. Ctrl-C is none: what Py4J says of it is left out.
    """
    from io import TextIOWrapper

    from rookery.lake.engine import spark_session as session

    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    root = logging.getLogger()
    root.addFilter(_is_no_interruption)
    with TextIOWrapper(session.open_log(path), errors="replace", line_buffering=True) as sink:
        handler = logging.StreamHandler(sink)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
    with suppress(OSError):
        if not path.stat().st_size:
            path.unlink()


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("KeyboardInterrupt")


def _started(spark_options: SparkOptions, log: Path) -> "SparkSession":
    from rookery.lake.engine import spark_session as session
    from rookery.lake.engine.spark_errors import SPARK_FAILURES, error_line

    try:
        return session.start(
            spark_options.remote or spark_options.master, memory=spark_options.memory, log=log
        )
    except RookeryError:
        session.abandon()
        raise
    except (*SPARK_FAILURES, OSError) as error:
        session.abandon()
        raise UnreachableError(f"it does not start: {error_line(error)}") from error
