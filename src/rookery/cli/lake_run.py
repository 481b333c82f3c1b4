"""`rookery lake run` and `backfill`: the pipeline, on this machine or on a cluster."""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.exits import FAILED, OK
from rookery.cli.lake_options import (
    ENGINE,
    PLACE,
    Engine,
    Place,
    need_packages,
    open_lake,
    parse_day,
    seconds,
)
from rookery.cli.lake_progress import RunProgress
from rookery.cli.lake_signals import repeated, until_signal
from rookery.cli.lake_spools import Spools, landers
from rookery.cli.options import OUTPUT, Output
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.lake.delta import Lake
    from rookery.lake.pipeline import Pipeline
    from rookery.lake.progress import RunReport


def run(
    *,
    spool: Spools = (),
    once: Annotated[
        bool,
        Parameter(name="--once", negative="", help="Take in what there is, then end; the default."),
    ] = False,
    every: Annotated[
        str | None,
        Parameter(name="--every", help="Again after so long (90s, 5m, 1h), until stopped."),
    ] = None,
    place: Place = PLACE,
    engine: Engine = ENGINE,
    output: Output = OUTPUT,
) -> int:
    if once and every is not None:
        raise UsageError("either --once or --every")
    pause_s = None if every is None else seconds(every)
    lake = open_lake(place, must_exist=not spool)
    found = landers(lake, spool, is_json=output.json)
    progress = RunProgress(is_json=output.json)

    def work() -> int:
        with pipeline(lake, engine, progress) as running:

            def once_more() -> int:
                for lander in found:
                    lander.run()
                return finished(running.run(), progress)

            return repeated(once_more, pause_s)

    return until_signal(work, is_service=pause_s is not None)


def backfill(
    first: Annotated[str, Parameter(name="FROM", help="The first day, as in 2026-03-02.")],
    last: Annotated[str, Parameter(name="TO", help="The last day.")],
    /,
    *,
    place: Place = PLACE,
    engine: Engine = ENGINE,
    output: Output = OUTPUT,
) -> int:
    begin, end = parse_day(first), parse_day(last)
    if end < begin:
        raise UsageError(f"{last} is before {first}")
    progress = RunProgress(is_json=output.json)
    lake = open_lake(place)

    def work() -> int:
        with pipeline(lake, engine, progress) as running:
            return finished(running.backfill(begin, end), progress)

    return until_signal(work)


@contextmanager
def pipeline(lake: "Lake", engine: Engine, progress: RunProgress) -> Iterator["Pipeline"]:
    """With a session that is ended with the block.

    In the middle of a call to the JVM nothing more can be asked of it: after an interruption it
    ends with this process. What it was writing is nobody's.
    """
    need_packages(["pyspark"])
    # Each failure is told once, by its step, and that somebody pressed Ctrl-C is none.
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_is_no_interruption)
    with _waiting(progress, "starting Spark"):
        from rookery.lake import session
        from rookery.lake.pipeline import Pipeline
        from rookery.lake.spark_tables import SparkTables
        from rookery.lake.steps import STEPS

        progress.say(_engine_text(engine))
        spark = session.start(engine.remote or engine.master, memory=engine.memory)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's own asks the JVM from within
    try:
        yield Pipeline(SparkTables(spark, lake), STEPS, progress)
    except KeyboardInterrupt:
        progress.stop()
        raise
    progress.stop()
    spark.stop()


def finished(report: "RunReport", progress: RunProgress) -> int:
    progress.end(report)
    return OK if report.is_ok else FAILED


def _engine_text(engine: Engine) -> str:
    """Which Spark, and which Java where it is this machine's."""
    if engine.remote is not None:
        return f"Spark at {engine.remote}"
    from rookery.lake import java

    found = java.find()
    return f"Spark at {engine.master}, Java {found.version} ({found.source}, {found.home})"


def _is_no_interruption(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("KeyboardInterrupt")


@contextmanager
def _waiting(progress: RunProgress, text: str) -> Iterator[Callable[[str], None]]:
    progress.wait(text)
    try:
        yield progress.wait
    finally:
        progress.stop()
