"""What `spark-submit` runs: the pipeline once, in the session that it has prepared."""

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from rookery.errors import RookeryError, UsageError
from rookery.lake.engine import spark_session
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.progress import Progress, RunReport, StepReport
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.steps import STEPS


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done; 1: some step failed; 2: it could not begin."""
    options = _parser().parse_args(arguments)
    try:
        report = _run(options.data, _storage(options.storage), options.backfill)
    except RookeryError as error:
        print(error, file=sys.stderr)  # noqa: T201 (this is a program)
        return 2
    return 0 if report.is_ok else 1


def _run(url: str, storage: dict[str, str], days: Sequence[date] | None) -> RunReport:
    spark = spark_session.submitted_session()
    try:
        pipeline = Pipeline(SparkTables(spark, Lake(url, storage)), STEPS, _show)
        return pipeline.backfill(*days) if days else pipeline.run()
    finally:
        spark.stop()


def _show(event: Progress) -> None:
    if isinstance(event, StepReport):
        line = f"{event.step}\t{event.outcome}\t{event.rows_in}\t{event.rows_out}"
        print(f"{line}\t{event.seconds:.1f} s\t{event.text}", flush=True)  # noqa: T201


def _storage(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"{pair} is no KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, metavar="URL", help="where the lake is")
    parser.add_argument(
        "--storage",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for the Delta log, as delta-rs names it",
    )
    parser.add_argument(
        "--backfill", nargs=2, type=date.fromisoformat, metavar=("FROM", "TO"), help="days anew"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
