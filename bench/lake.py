"""The lake: rows a second from landing to insights, beside DuckDB and Polars on the same work.

    generated history ─▶ landing ─┬─▶ Spark: the whole pipeline, then hour by hour
                                  ├─▶ DuckDB ┐ the tables of `lake_work`, one after the other,
                                  └─▶ Polars ┘ each engine in a process of its own

`python -m bench lake --rows 10000000` says how many device reports there are; the other kinds of
observations come on top of them. Sessions and processes are started before the clock is.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pyarrow as pa
import pyarrow.compute as pc

from bench import lake_work
from bench.figure import Effort, Figure
from bench.lake_work import Done, Work
from bench.process import answer, child
from rookery.lake.delta import Claim, Lake
from rookery.lake.history.history import History
from rookery.lake.schema.landing import DEVICE_REPORTS
from rookery.lake.schema.table import Table

TITLE = "Lake"

DAYS = 14
GOAL_RATIO = 0.3  # of DuckDB, at 10 M rows
GOAL_HOUR_S = 30.0
GOAL_MEMORY_GB = 4.0

HOURS = 2  # that come one by one: the first finds plans that were never made before

_REPORTS_A_DAY = 24 * 60
_WORK_S = 7200.0
_SAMPLE_S = 0.5


Landed = tuple[Table, pa.Table]


def measure(effort: Effort) -> list[Figure]:
    return [figure for rows in effort.rows for figure in of(rows)]


def of(rows: int) -> list[Figure]:
    """All engines over a history of so many device reports."""
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-lake-") as folder:
        root = Path(folder)
        lake = Lake(str(root / "lake"))
        days = max(2, min(DAYS, rows // _REPORTS_A_DAY))
        history = History(days=days, routers=max(1, rows // (days * _REPORTS_A_DAY)))
        rest = land(history, lake)
        landed = lake.rows(DEVICE_REPORTS)
        duck, duck_gb = _alone(lake_work.duck, root / "duckdb", lake)
        polars, polars_gb = _alone(lake_work.polars, root / "polars", lake)
        spark, others, hours, spark_gb = _spark(root / "spark", lake, rest)
    first, hour = hours
    hour_rows = sum(rows.num_rows for _, rows in rest[-1])
    for table in lake_work.TABLES:
        found = {each.rows[table.path] for each in (spark, duck, polars)}
        assert len(found) == 1, f"{table.path}: {found} rows"
    whole = f"{landed:,} reports"
    dearest = max(spark.seconds, key=lambda name: spark.seconds[name])
    latest = max(hour.seconds, key=lambda name: hour.seconds[name])
    return [
        Figure(
            what=f"{whole}, landing to insights, the same tables",
            value=landed / spark.total_s,
            unit="rows/s",
            limit=landed / duck.total_s,
            against="DuckDB",
            remark=f"goal ratio {GOAL_RATIO} at 10 M; Spark {spark.total_s:.0f} s",
        ),
        Figure(
            what=f"{whole}, the same tables, Polars",
            value=landed / polars.total_s,
            unit="rows/s",
            limit=landed / duck.total_s,
            against="DuckDB",
            remark=f"memory: Polars {polars_gb:.1f} GB, DuckDB {duck_gb:.1f} GB",
        ),
        Figure(
            what=f"{whole} and all other kinds, whole pipeline",
            value=spark.total_s + others.total_s,
            unit="s",
            remark=f"dearest: {dearest}, {spark.seconds[dearest]:.0f} s",
        ),
        Figure(
            what=f"one more hour ({hour_rows:,} rows) on top of {whole}",
            value=hour.total_s,
            unit="s",
            remark=f"goal {GOAL_HOUR_S:.0f} at 10 M, warm; the one before {first.total_s:.0f} s;"
            f" dearest: {latest}, {hour.seconds[latest]:.0f} s",
        ),
        Figure(
            what=f"memory at its peak, {whole}: JVM and Python",
            value=spark_gb,
            unit="GB",
            remark=f"goal {GOAL_MEMORY_GB:.0f} at 100 M",
        ),
    ]


def land(history: History, lake: Lake) -> list[list[Landed]]:
    """All but the last hours, which are handed back, one by one: they come later."""
    end = datetime.combine(history.start, datetime.min.time(), UTC) + timedelta(days=history.days)
    bounds = [
        pa.scalar(end - timedelta(hours=hours), pa.timestamp("us", "UTC"))
        for hours in range(HOURS, 0, -1)
    ]
    rest: list[list[Landed]] = [[] for _ in bounds]
    for table, rows in history.chunks():
        hours = [pc.greater_equal(rows["received_at"], bound) for bound in bounds]
        _append(lake, table, rows.filter(pc.invert(hours[0])))
        for number, is_new in enumerate(hours):
            is_later = hours[number + 1] if number + 1 < HOURS else pa.scalar(False)
            if (new := rows.filter(pc.and_(is_new, pc.invert(is_later)))).num_rows:
                rest[number].append((table, new))
    return rest


def _append(lake: Lake, table: Table, rows: pa.Table) -> None:
    since = lake.included(table, "bench")
    if rows.num_rows:
        lake.append(table, rows, [Claim("bench", since, (since or 0) + 1)], {})


def _spark(
    folder: Path, lake: Lake, rest: list[list[Landed]]
) -> tuple[Done, Done, list[Done], float]:
    """The tables that others make too, then all other tables, then more hours of all."""
    folder.mkdir()
    work = Work(lake.url, str(folder))
    with _peak_gb() as peak, child(lake_work.spark, work) as pipe:
        answer(pipe, str, _WORK_S)
        pipe.send("same")
        same = answer(pipe, Done, _WORK_S)
        pipe.send("all")
        others = answer(pipe, Done, _WORK_S)
        hours = []
        for landed in rest:
            for table, rows in landed:
                _append(lake, table, rows)
            pipe.send("all")
            hours.append(answer(pipe, Done, _WORK_S))
    return same, others, hours, peak[0]


def _alone(
    work: Callable[[Connection, Work], None], folder: Path, lake: Lake
) -> tuple[Done, float]:
    folder.mkdir()
    with _peak_gb() as peak, child(work, Work(lake.url, str(folder))) as pipe:
        return answer(pipe, Done, _WORK_S), peak[0]


@contextmanager
def _peak_gb() -> Iterator[list[float]]:
    """The most that children of this process had resident at once, while this goes on.

    Those that were not there a moment ago do not count: a JVM that is about to start another
    program has a child with the same memory, which is there once.
    """
    peak = [0.0]
    over = threading.Event()

    def watch() -> None:
        before: set[psutil.Process] = set()
        while not over.wait(_SAMPLE_S):
            now = set(psutil.Process().children(recursive=True))
            peak[0] = max(peak[0], _resident_gb(now & before))
            before = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()


def _resident_gb(processes: Iterable[psutil.Process]) -> float:
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e9
