"""`rookery lake run` and `backfill`: the pipeline, on this machine or on a cluster."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.lake.options import (
    LAKE_OPTIONS,
    SPARK_OPTIONS,
    LakeOptions,
    SparkOptions,
    check_spark,
    open_lake,
    parse_day,
)
from rookery.cli.lake.pipeline_runs import pipeline_runs
from rookery.cli.lake.run_progress import RunProgress
from rookery.cli.lake.signals import repeated, until_signal
from rookery.cli.lake.spools import Spools, landers
from rookery.cli.terminal import units
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.errors import UsageError


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
    lake_options: LakeOptions = LAKE_OPTIONS,
    spark_options: SparkOptions = SPARK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if once and every is not None:
        raise UsageError("either --once or --every")
    pause_s = None if every is None else units.parse_span(every)
    lake = open_lake(lake_options, must_exist=not spool)
    found = landers(lake, spool, is_json=output.json)
    progress = RunProgress(is_json=output.json)
    progress.say(check_spark(spark_options))

    def work() -> int:
        with pipeline_runs(lake, spark_options, progress, found) as running:
            return repeated(running.run, pause_s, running.sooner)

    return until_signal(work, is_service=pause_s is not None)


def backfill(
    first: Annotated[str, Parameter(name="FROM", help="The first day, as in 2026-03-02.")],
    last: Annotated[str, Parameter(name="TO", help="The last day.")],
    /,
    *,
    lake_options: LakeOptions = LAKE_OPTIONS,
    spark_options: SparkOptions = SPARK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    begin, end = parse_day(first), parse_day(last)
    if end < begin:
        raise UsageError(f"{last} is before {first}")
    progress = RunProgress(is_json=output.json)
    lake = open_lake(lake_options)
    progress.say(check_spark(spark_options))

    def work() -> int:
        with pipeline_runs(lake, spark_options, progress) as running:
            return running.backfill(begin, end)

    return until_signal(work)
