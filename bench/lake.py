"""The lake: rows a second from landing to insights, beside DuckDB and Polars on the same work.

    generated history ─▶ landing ─┬─▶ Spark: the whole pipeline, then hour by hour
                                  ├─▶ DuckDB ┐ the tables of `lake_work`, one after the other,
                                  └─▶ Polars ┘ each engine in a process of its own

There are some ten million device reports, or as many as `--rows` says; the other kinds of
observations come on top of them. With several sizes, rows a second of each are compared with those
of the smallest. Beyond ten million only the tables that all engines make are made. `--history
FOLDER` keeps what was generated, for the next time. Sessions and processes are started before the
clock is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench import lake_history, lake_work, peak
from bench.figure import Effort, Figure, Goal
from bench.lake_work import Done, Made, Work
from bench.process import answer, child
from rookery.lake.engine.delta import Lake
from rookery.lake.schema.landing import DEVICE_REPORTS

_JUDGED_ROWS = 9_000_000
ROWS_MAX = 10_000_000  # up to so many the whole pipeline is run, and more hours come
MEMORY_MAX_GB = 12.0  # whoever wants more is ended: this machine's end would end all

_WORK_S = 6 * 3600.0


class Engine(NamedTuple):
    """What became of one; it may have been ended before it had made all tables."""

    done: Done
    memory_gb: float

    @property
    def is_finished(self) -> bool:
        return len(self.done.rows) == len(lake_work.TABLES)


class Spark(NamedTuple):
    """What the pipeline did; nothing but the same tables as the others, where rows are many."""

    same: Done
    more: tuple[Done, ...]  # all other tables, then what came hour by hour
    memory_gb: float


class Size(NamedTuple):
    """One size of the history, and what all made of it."""

    landed: int
    hour_rows: int
    duck: Engine
    polars: Engine
    spark: Spark

    @property
    def rate(self) -> float:
        return self.landed / self.spark.same.total_s

    @property
    def whole(self) -> str:
        return f"{self.landed:,} reports"


def measure(effort: Effort) -> list[Figure]:
    with _kept(effort.history) as folder:
        sizes = [of(rows, folder) for rows in effort.rows]
    least = min(sizes, key=lambda each: each.landed)
    return [
        figure
        for size in sizes
        for figure in (*figures(size), *([] if size is least else [linear(size, least)]))
    ]


def of(rows: int, folder: Path) -> Size:
    """All engines over a history of so many device reports."""
    before, hours = lake_history.landed(folder / f"{rows}", lake_history.history(rows))
    with TemporaryDirectory(dir=folder, prefix="bench-lake-") as place:
        root = Path(place)
        duck = alone(lake_work.duck, root / "duckdb", before)
        polars = alone(lake_work.polars, root / "polars", before)
        lake = lake_history.taken(before, root / "lake")
        spark = _spark(root / "spark", lake, hours if rows <= ROWS_MAX else None)
    for table in lake_work.TABLES:
        made = (spark.same, duck.done, polars.done)
        found = {each.rows[table.path] for each in made if table.path in each.rows}
        assert len(found) == 1, f"{table.path}: {found} rows"
    landed, hour_rows = before.rows(DEVICE_REPORTS), lake_history.rows(hours[-1])
    return Size(landed, hour_rows, duck, polars, spark)


def figures(size: Size) -> Iterator[Figure]:
    spark = size.spark
    duck_rate = size.landed / size.duck.done.total_s if size.duck.is_finished else None
    dearest, dearest_s = _dearest(spark.same)
    yield Figure(
        what=f"{size.whole}, landing to insights, the same tables",
        value=size.rate,
        unit="rows/s",
        limit=duck_rate,
        against="DuckDB",
        goal=_at_size(size, Goal(ratio_min=0.3)),
        remark=f"{spark.same.total_s:.0f} s; dearest: {dearest}, {dearest_s:.0f} s",
    )
    if size.polars.is_finished:
        yield Figure(
            what=f"{size.whole}, landing to insights, the same tables",
            value=size.rate,
            unit="rows/s",
            limit=size.landed / size.polars.done.total_s,
            against="Polars",
            goal=_at_size(size, Goal(ratio_min=0.3)),
        )
    yield _other(size, "DuckDB", size.duck, None)
    yield _other(size, "Polars", size.polars, duck_rate)
    if spark.more:
        others, *hours = spark.more
        yield Figure(
            what=f"{size.whole} and all other kinds, whole pipeline",
            value=spark.same.total_s + others.total_s,
            unit="s",
        )
        yield _hour(size, hours)
    yield Figure(
        what=f"memory at its peak, {size.whole}: JVM and Python",
        value=spark.memory_gb,
        unit="GB",
        goal=Goal(value_max=4.0),
    )


def _other(size: Size, name: str, engine: Engine, limit: float | None) -> Figure:
    """How fast it was, or how much it had when it could not go on."""
    seconds, memory = engine.done.total_s, f"memory: {engine.memory_gb:.1f} GB"
    if engine.is_finished:
        return Figure(
            what=f"{size.whole}, the same tables, {name}",
            value=size.landed / seconds,
            unit="rows/s",
            limit=limit,
            against="" if limit is None else "DuckDB",
            remark=memory,
        )
    missing = next(each.path for each in lake_work.TABLES if each.path not in engine.done.rows)
    return Figure(
        what=f"{size.whole}, the same tables, {name}: out of memory",
        value=engine.memory_gb,
        unit="GB",
        remark=f"at {missing}, with {seconds:.0f} s for what comes before it",
    )


def _hour(size: Size, hours: Sequence[Done]) -> Figure:
    first, hour = hours
    latest, latest_s = _dearest(hour)
    return Figure(
        what=f"one more hour ({size.hour_rows:,} rows) on top of {size.whole}",
        value=hour.total_s,
        unit="s",
        goal=_at_size(size, Goal(value_max=30.0)),
        remark=f"the one before {first.total_s:.0f} s; dearest: {latest}, {latest_s:.0f} s",
    )


def linear(size: Size, least: Size) -> Figure:
    return Figure(
        what=f"{size.whole} beside {least.whole}, the same tables",
        value=size.rate,
        unit="rows/s",
        limit=least.rate,
        against=least.whole,
        goal=Goal(ratio_min=0.8),
        remark="time grows as rows do",
    )


def _at_size(size: Size, goal: Goal) -> Goal | None:
    """With fewer rows most of the time goes to plans that are made and compiled."""
    return goal if size.landed >= _JUDGED_ROWS else None


def _dearest(done: Done) -> tuple[str, float]:
    return max(done.seconds.items(), key=lambda each: each[1])


def _spark(folder: Path, lake: Lake, hours: Sequence[Lake] | None) -> Spark:
    """The tables that others make too; then, unless rows are many, all others, and more hours."""
    folder.mkdir()
    more = []
    with (
        peak.watched(MEMORY_MAX_GB) as memory,
        child(lake_work.spark, Work(lake.url, str(folder))) as pipe,
    ):
        answer(pipe, str, _WORK_S)
        pipe.send("same")
        same = answer(pipe, Done, _WORK_S)
        for hour in [] if hours is None else [None, *hours]:
            if hour is not None:
                lake_history.come(hour, lake)
            pipe.send("all")
            more.append(answer(pipe, Done, _WORK_S))
    return Spark(same, tuple(more), memory.gb)


def alone(work: lake_work.Engine, folder: Path, lake: Lake) -> Engine:
    """Table by table, until all are made or memory is not enough."""
    folder.mkdir()
    made: list[Made] = []
    with (
        peak.watched(MEMORY_MAX_GB) as memory,
        child(work, Work(lake.url, str(folder))) as pipe,
    ):
        for _ in lake_work.TABLES:
            try:
                made.append(answer(pipe, Made, _WORK_S))
            except EOFError:
                if not memory.is_too_much:
                    raise
                break
            if made[-1].rows is None:
                break
    return Engine(lake_work.done(made), memory.gb)


@contextmanager
def _kept(folder: Path | None) -> Iterator[Path]:
    """Where histories are: a folder that stays, or one that goes."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with TemporaryDirectory(dir=Path.cwd(), prefix="bench-lake-") as passing:
        yield Path(passing)
