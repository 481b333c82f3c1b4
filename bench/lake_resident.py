"""A lake that runs for long: what one session needs after hundreds of small runs, beside its first.

`python -m bench.lake_resident --runs 300` lands an observation, runs the pipeline, and does so
again and again in one process with one JVM, as `rookery lake run --every` does. The observations
come three hours apart, one kind at a time, so that days begin and all steps have their turns. After
full collections the JVM says what it has in use. Ends with exit code 1 where that has grown.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import psutil
from pyspark.sql import SparkSession

from rookery.lake.engine import spark_session
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.landing.lander import Lander
from rookery.lake.steps import STEPS
from rookery.wire import observation as observations
from tests.lake import spools

RUNS = 300
SETTLED = 20  # so many runs are between two measurements, and before the first one
GROWTH_MAX = 1.1
STEP_MS = 3 * 3_600_000
MASTER = "local[2]"
CLEANING_S = 2.0

_KINDS = (
    observations.DEVICE,
    observations.CALLED,
    observations.LINK,
    observations.SECURITY,
    observations.SERVER,
    observations.DECISION,
    observations.RECORD,
    observations.REQUEST,
    observations.SESSION,
    observations.MESSAGE,
    observations.ENROLLED,
)
_MB = 1 << 20
_COLUMNS = (
    *("run", "s each", "heap MB", "metaspace MB", "code cache MB", "classes", "compiled"),
    *("threads", "JVM MB", "Python MB"),
)


class Use(NamedTuple):
    """What is in use after a run: megabytes, and counts."""

    run: int
    seconds: float  # of the runs since the last row, each
    heap: float
    metaspace: float
    code_cache: float
    classes: int
    compiled: int  # stages that Spark has made code of so far
    threads: int
    jvm: float  # resident
    python: float  # resident

    def text(self) -> str:
        numbers = (f"{each:.1f}" if isinstance(each, float) else f"{each}" for each in self)
        return "| " + " | ".join(numbers) + " |"


def use(spark: SparkSession, run: int, seconds: float) -> Use:
    """After full collections, as what nobody needs any more is no growth.

    Spark learns by the first one what to clean up, and the second one finds that.
    """
    jvm = spark._jvm
    assert jvm is not None
    for _ in range(2):
        jvm.java.lang.System.gc()
        time.sleep(CLEANING_S)
    beans = jvm.java.lang.management.ManagementFactory
    pools: dict[str, float] = {}
    for pool in beans.getMemoryPoolMXBeans():
        name = "code cache" if pool.getName().startswith("Code") else pool.getName()
        pools[name] = pools.get(name, 0.0) + pool.getUsage().getUsed() / _MB
    process = psutil.Process()
    java = [each for each in process.children(recursive=True) if each.name() == "java"]
    return Use(
        run,
        seconds,
        beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() / _MB,
        pools["Metaspace"],
        pools["code cache"],
        beans.getClassLoadingMXBean().getLoadedClassCount(),
        jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount(),
        beans.getThreadMXBean().getThreadCount(),
        sum(each.memory_info().rss for each in java) / _MB,
        process.memory_info().rss / _MB,
    )


def record(number: int, first_ms: int) -> bytes:
    """What comes before a run: one observation, kind by kind."""
    received_ms = first_ms + number * STEP_MS
    kind = _KINDS[number % len(_KINDS)]
    said = spools.STRUCTS[kind]
    known = {"t": received_ms - 5000, "n": number}
    fitting = {name: known[name] for name in known if name in said.__struct_fields__}
    content = msgspec.msgpack.encode(msgspec.structs.replace(said, **fitting))
    return spools.record(kind, content, received_ms)


def soak(folder: Path, runs: int, every: int) -> Iterator[Use]:
    lake, spool = Lake(str(folder / "lake")), folder / "spool"
    spark = spark_session.start(MASTER, log=folder / "spark.log")
    pipeline = Pipeline(SparkTables(spark, lake), STEPS)
    first_ms = int(datetime.now(UTC).timestamp() * 1000) - (runs + 1) * STEP_MS
    position = 1 << 40
    begun, measured = time.monotonic(), 0
    for number in range(1, runs + 1):
        position = spools.write_segment(spool, position, [record(number, first_ms)])
        Lander(lake, spool, "hub").run()
        report = pipeline.run()
        assert report.is_ok, [each for each in report.steps if each.text]
        assert not report.is_idle
        if number % every == 0:
            yield use(spark, number, (time.monotonic() - begun) / (number - measured))
            begun, measured = time.monotonic(), number
    spark.stop()


def grown(uses: Sequence[Use]) -> list[str]:
    """What needs more room than it did.

    Compiled code is compared with that of the middle: it is Spark's own, of which the JVM compiles
    more for hundreds of runs.
    """
    first, middle, last = uses[0], uses[len(uses) // 2], uses[-1]
    found = []
    for name, now, before, run in (
        ("heap", last.heap, first.heap, first.run),
        ("metaspace", last.metaspace, first.metaspace, first.run),
        ("code cache", last.code_cache, middle.code_cache, middle.run),
    ):
        if now > GROWTH_MAX * before:
            found.append(f"{name}: {now:.0f} MB, {now / before:.2f} of what it was at run {run}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.lake_resident", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--every", type=int, default=SETTLED, help="how often to measure")
    options = parser.parse_args()
    print("| " + " | ".join(_COLUMNS) + " |")
    print("|" + "---|" * len(_COLUMNS), flush=True)
    uses = []
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-lake-") as folder:
        for each in soak(Path(folder), options.runs, options.every):
            print(each.text(), flush=True)
            uses.append(each)
    found = grown(uses)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
