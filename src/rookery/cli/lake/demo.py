"""`rookery lake demo`: days of a fleet with known faults, and which of them the lake finds."""

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli import extras
from rookery.cli.lake.options import (
    SPARK_OPTIONS,
    LakeOptions,
    SparkOptions,
    check_spark,
    open_lake,
    parse_day,
)
from rookery.cli.lake.pipeline_runs import pipeline_runs
from rookery.cli.lake.run_progress import RunProgress
from rookery.cli.lake.signals import until_signal
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import FAILED, OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.lake.engine.delta import Lake
    from rookery.lake.synthetic.dataset import SyntheticDataset

FOLDER = "lake-demo"
DAYS_MAX = 366
DEVICES_MAX = 100_000


def demo(
    *,
    days: Annotated[int, Parameter(name="--days", help="How many, until last midnight.")] = 3,
    routers: Annotated[int, Parameter(name="--routers", help="How many devices report.")] = 24,
    interval: Annotated[
        str, Parameter(name="--interval", help="Between two reports of each; at most 60s here.")
    ] = "60s",
    start: Annotated[
        str | None, Parameter(name="--start", help="The first day instead, as in 2026-03-02.")
    ] = None,
    seed: Annotated[int, Parameter(name="--seed", help="Another one is another history.")] = 1,
    generate_only: Annotated[
        bool,
        Parameter(
            name="--generate-only", negative="", help="Only land it; needs no Java. Then: lake run"
        ),
    ] = False,
    data: Annotated[str, Parameter(name="--data", help="Folder or URL for it.")] = FOLDER,
    spark_options: SparkOptions = SPARK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if not 1 <= days <= DAYS_MAX or not 1 <= routers <= DEVICES_MAX:
        raise UsageError(f"1 to {DAYS_MAX} days of 1 to {DEVICES_MAX} --routers")
    extras.need("a made-up fleet", extras.PIPELINE, "lake")
    lake = open_lake(LakeOptions(data=data), must_exist=False)
    from rookery.lake.synthetic.dataset import SyntheticDataset

    dataset = SyntheticDataset(
        seed=seed,
        start=datetime.now(UTC).date() - timedelta(days=days)
        if start is None
        else parse_day(start),
        days=days,
        devices=routers,
        interval_s=int(units.parse_span(interval)),
    )
    _check_alone(dataset, lake, data)
    if generate_only:
        return until_signal(lambda: _land(dataset, lake, data, output))
    progress = RunProgress(is_json=output.json)
    progress.say(check_spark(spark_options))

    def work() -> int:
        _land(dataset, lake, data, output)
        with pipeline_runs(lake, spark_options, progress) as running:
            code = running.run()
        return code or _compare(dataset, lake, data, output)

    return until_signal(work)


def _check_alone(dataset: "SyntheticDataset", lake: "Lake", data: str) -> None:
    from rookery.lake.synthetic.landing import is_alone

    if not is_alone(dataset, lake):
        raise UsageError(f"{data} holds something else; remove it, or choose another --data")


def _land(dataset: "SyntheticDataset", lake: "Lake", data: str, output: Output) -> int:
    from rookery.lake.synthetic.landing import land

    begun = time.monotonic()
    rows = land(dataset, lake).total()
    took_s = time.monotonic() - begun
    if output.json:
        print_json({"is": "generated", "rows": rows, "took_s": round(took_s, 3), "data": data})
    elif rows:
        remark(f"{rows:,} rows generated and landed in {data}, {units.span(took_s)}")
    else:
        remark(f"this history is in {data} already")
    return OK


def _compare(dataset: "SyntheticDataset", lake: "Lake", data: str, output: Output) -> int:
    """Compare planted and found faults; exit code 1 when they differ."""
    from rookery.lake.synthetic.findings import findings
    from rookery.lake.synthetic.ground_truth import GroundTruth

    found = findings(GroundTruth(dataset), lake)
    if output.json:
        for each in found:
            print_json({"is": "finding", **each._asdict()})
    else:
        rows = [(each.what, f"{each.planted:,}", f"{each.found:,}") for each in found]
        print_table(("", "planted", "found"), rows)
        remark(f'next: rookery lake query --data {data} "{found[-1].sql}"')
    return OK if all(each.is_found for each in found) else FAILED
