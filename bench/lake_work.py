"""The work that all engines do: from landed device reports to clean rows, rates and traffic.

    landing ─▶ clean ─┬─▶ rates ─▶ traffic by minute ─▶ by hour ─▶ by day
                      └─▶ uptime

Each table is written as Parquet before the next one is made from it, as a lake has it. Spark does
it with the pipeline itself, DuckDB with the SQL that tests compare it with, and Polars by what is
in `lake_polars`.
"""

import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow.parquet as pq

from bench import lake_polars
from rookery.lake.engine import spark_session
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.schema import clean, facts, insights, landing
from rookery.lake.schema.table import Table
from rookery.lake.steps import STEPS
from tests.lake.oracle import clean as clean_sql
from tests.lake.oracle import rates as rates_sql
from tests.lake.oracle import traffic as traffic_sql
from tests.lake.oracle import uptime as uptime_sql

TABLES = (
    clean.DEVICE_REPORTS,
    facts.DEVICE_RATES,
    facts.UPTIME_INTERVALS,
    insights.TRAFFIC_MINUTES,
    insights.TRAFFIC_HOURS,
    insights.TRAFFIC_DAYS,
)
MEMORY_MAX = "4GB"  # for DuckDB; Spark's heap is its default, Polars has no bound


class Work(NamedTuple):
    """Where the rows are and where results go."""

    lake: str
    folder: str


class Made(NamedTuple):
    """One table, when it is there; without rows where memory was not enough for it."""

    table: str
    seconds: float
    rows: int | None


class Done(NamedTuple):
    """Seconds and rows of each table, and how long it took altogether."""

    seconds: dict[str, float]
    rows: dict[str, int]
    total_s: float


Engine = Callable[[Connection, Work], None]


def spark(pipe: Connection, work: Work) -> None:
    """When told `same`, the tables that others make as well; when told `all`, whatever is new."""
    lake = Lake(work.lake)
    started = spark_session.start(log=Path(work.folder) / "spark.log")
    tables = SparkTables(started, lake)
    steps = {"same": [each for each in STEPS if each.target in TABLES], "all": STEPS}
    pipe.send("ready")
    while True:
        try:
            choice = pipe.recv()
        except EOFError:
            break
        report = Pipeline(tables, steps[choice]).run()
        assert report.is_ok, [each for each in report.steps if each.text]
        done = {each.step: each.seconds for each in report.steps}
        rows = {each.step: each.rows_out for each in report.steps}
        pipe.send(Done(done, rows, report.seconds))
    started.stop()


def done(made: Sequence[Made]) -> Done:
    """What became of tables that were made one after the other."""
    there = [(each.table, each.seconds, each.rows) for each in made if each.rows is not None]
    seconds = {table: took for table, took, _ in there}
    return Done(seconds, {table: rows for table, _, rows in there}, sum(seconds.values()))


def duck(pipe: Connection, work: Work) -> None:
    folder = Path(work.folder)
    connection = duckdb.connect(config={"memory_limit": MEMORY_MAX, "temp_directory": str(folder)})
    connection.execute("SET TimeZone = 'UTC'")
    for stage in ("landing", "clean", "facts", "insights"):
        connection.execute(f"CREATE SCHEMA {stage}")
    files = Lake(work.lake).files(landing.DEVICE_REPORTS)
    _view(connection, landing.DEVICE_REPORTS.path, files)
    queries = (
        clean_sql.sql("device_reports"),
        rates_sql.sql(),
        uptime_sql.sql(),
        traffic_sql.minutes_sql(),
        traffic_sql.longer_sql("hour"),
        traffic_sql.longer_sql("day"),
    )
    for table, query in zip(TABLES, queries, strict=True):
        target = folder / f"{table.name}.parquet"
        begun = time.monotonic()
        try:
            connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.OutOfMemoryException:
            pipe.send(Made(table.path, time.monotonic() - begun, None))
            return
        pipe.send(_made(table, target, begun))
        _view(connection, table.path, [str(target)])


def polars(pipe: Connection, work: Work) -> None:
    folder = Path(work.folder)
    files = Lake(work.lake).files(landing.DEVICE_REPORTS)
    rows = pl.scan_parquet(files, hive_partitioning=False)
    sources = {landing.DEVICE_REPORTS.path: rows}
    for table in TABLES:
        target = folder / f"{table.name}.parquet"
        begun = time.monotonic()
        lake_polars.FRAMES[table.path](sources).sink_parquet(target, compression="zstd")
        pipe.send(_made(table, target, begun))
        sources[table.path] = pl.scan_parquet(target)


def _made(table: Table, target: Path, begun: float) -> Made:
    return Made(table.path, time.monotonic() - begun, pq.read_metadata(target).num_rows)


def _view(connection: duckdb.DuckDBPyConnection, path: str, files: list[str]) -> None:
    """Files are named by the lake; their folders say nothing that is not in them."""
    names = ", ".join(f"'{each}'" for each in files)
    connection.execute(
        f"CREATE VIEW {path.replace('/', '.')} AS "
        f"SELECT * FROM read_parquet([{names}], hive_partitioning = false)"
    )
