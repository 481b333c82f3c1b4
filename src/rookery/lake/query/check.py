"""Check: whether the stages add up, counted by DuckDB, independently of Spark.

    landed = unreadable + quarantined + repeats + clean        kind by kind
    clean  = what the hours of facts say they are made of    table by table

A target is compared with the version of its source that it has ingested, so that a lake that is
being written to adds up as well.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb
import pyarrow.dataset
from pyarrow.fs import FileSystem

from rookery.lake.engine import damaged_files, parquet
from rookery.lake.engine.delta import Lake
from rookery.lake.schema import clean, facts, landing, quarantine
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.schema.table import Table

REASONS_MAX = 20

_MEMORY_MAX = "1GB"
_KEY = """hash(reporter, coalesce(boot, 0), coalesce(sequence, 0),
    CASE WHEN coalesce(sequence, 0) = 0 THEN spool || ' ' || position ELSE '' END)"""
_SUMS = (
    (facts.DEVICE_HOURS, "reports", clean.DEVICE_REPORTS),
    (facts.SERVER_HOURS, "reports", clean.SERVER_REPORTS),
    (facts.CALL_HOURS, "calls", clean.CALLS),
    (facts.SESSIONS, "", clean.SESSIONS),
    (facts.REQUEST_HOURS, "requests", clean.REQUESTS),
    (facts.MESSAGE_HOURS, "messages", clean.MESSAGES),
    (facts.DECISION_HOURS, "decisions", clean.DECISIONS),
    (facts.SECURITY_HOURS, "events", clean.SECURITY_EVENTS),
    (facts.LINK_HOURS, "samples", facts.LINK_SAMPLES),
)


class CleanRowCheck(NamedTuple):
    """Where the rows of one kind are."""

    kind: str
    landed: int
    waiting: int  # landed since, not ingested yet
    unreadable: int  # in files that are damaged
    set_aside: int
    repeats: int
    clean: int
    doubled: int  # clean rows that another one repeats

    @property
    def missing(self) -> int:
        """Rows that are nowhere; below zero: more than there should be."""
        return self.landed - self.unreadable - self.set_aside - self.repeats - self.clean

    @property
    def is_ok(self) -> bool:
        return self.missing == 0 and self.doubled == 0


class FactSumCheck(NamedTuple):
    """A fact table compared with the number of rows of its source."""

    table: str
    source: str
    rows: int  # of the source
    counted: int  # by the facts

    @property
    def is_ok(self) -> bool:
        return self.rows == self.counted


class QuarantineCount(NamedTuple):
    """Rows in quarantine for the same reason."""

    kind: str
    reason: str
    rows: int


class LakeCheckReport(NamedTuple):
    """What a check found."""

    cleaned: tuple[CleanRowCheck, ...]
    summed: tuple[FactSumCheck, ...]
    quarantined: tuple[QuarantineCount, ...]  # the most frequent ones
    landed_at: datetime | None  # the newest row that landed
    happened_at: datetime | None  # the newest that is clean

    @property
    def is_ok(self) -> bool:
        is_clean = all(each.is_ok for each in self.cleaned)
        return is_clean and all(each.is_ok for each in self.summed)


def check(lake: Lake) -> LakeCheckReport:
    """Reads few columns of everything; takes a while where there is much."""
    with _connection() as connection:
        checker = _LakeChecker(lake, connection)
        return LakeCheckReport(
            tuple(filter(None, map(checker.cleaned, clean.TABLES))),
            tuple(filter(None, (checker.summed(*sums) for sums in _SUMS))),
            checker.quarantined(),
            checker.newest("landing", "received_at"),
            checker.newest("clean", "at"),
        )


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that may spill to disk, as the counts have no bound."""
    with TemporaryDirectory(prefix="rookery-check-") as folder:
        settings: dict[str, str | int | float | list[str]] = {
            "memory_limit": _MEMORY_MAX,
            "temp_directory": folder,
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection


class _LakeChecker:
    """Counts, table by table."""

    def __init__(self, lake: Lake, connection: duckdb.DuckDBPyConnection) -> None:
        self._lake = lake
        self._connection = connection

    def cleaned(self, table: Table) -> CleanRowCheck | None:
        source = BY_PATH[table.sources[0]]
        if self._lake.version(source) is None:
            return None
        until = self._lake.ingested_version(table, source)
        total = self._lake.rows(source)
        if until is None:
            return CleanRowCheck(table.name, 0, total, 0, 0, 0, 0, 0)
        landed = self._lake.rows(source, until)
        self._connection.register("landed", self._sound(source, until))
        self._connection.register("clean", self._lake.dataset(table))
        self._connection.register("quarantine", self._lake.dataset(quarantine.OBSERVATIONS))
        readable, sound, keys = self._row(
            f"""
            WITH aside AS (SELECT spool, position FROM quarantine WHERE kind = '{table.name}')
            SELECT (SELECT count(*) FROM landed), count(*), count(DISTINCT {_KEY})
            FROM landed ANTI JOIN aside USING (spool, position)
            """  # noqa: S608 (names of this package)
        )
        rows, distinct = self._row(f"SELECT count(*), count(DISTINCT {_KEY}) FROM clean")  # noqa: S608
        return CleanRowCheck(
            table.name,
            landed,
            total - landed,
            landed - readable,
            readable - sound,
            sound - keys,
            rows,
            rows - distinct,
        )

    def summed(self, table: Table, column: str, source: Table) -> FactSumCheck | None:
        until = self._lake.ingested_version(table, source)
        if until is None:
            return None
        self._connection.register("facts", self._lake.dataset(table))
        counted = f"coalesce(sum({column}), 0)" if column else "count(*)"
        [found] = self._row(f"SELECT {counted} FROM facts")  # noqa: S608 (names of this package)
        return FactSumCheck(table.path, source.path, self._lake.rows(source, until), int(found))

    def quarantined(self) -> tuple[QuarantineCount, ...]:
        self._connection.register("quarantine", self._lake.dataset(quarantine.OBSERVATIONS))
        rows = self._connection.execute(
            "SELECT kind, reason, count(*) FROM quarantine GROUP BY ALL"
            " ORDER BY 3 DESC, 1, 2 LIMIT ?",
            [REASONS_MAX],
        ).fetchall()
        return tuple(
            QuarantineCount(str(kind), str(reason), int(count)) for kind, reason, count in rows
        )

    def newest(self, stage: str, column: str) -> datetime | None:
        """In the tables' last partitions, as nothing newer is elsewhere."""
        tables = landing.TABLES if stage == "landing" else clean.TABLES
        found = []
        for table in tables:
            if dates := self._lake.dates(table):
                uris = self._lake.files(table, [max(dates)])
                self._connection.register(
                    "newest", _dataset(table, damaged_files.sound(uris, table)[0])
                )
                [micros] = self._row(f'SELECT epoch_us(max("{column}")) FROM newest')  # noqa: S608
                found += [micros] if micros is not None else []
        return datetime.fromtimestamp(max(found) / 1e6, UTC) if found else None

    def _sound(self, table: Table, version: int) -> pyarrow.dataset.Dataset:
        uris, _ = damaged_files.sound(self._lake.files(table, version=version), table)
        return _dataset(table, uris)

    def _row(self, sql: str) -> tuple[int, ...]:
        [row] = self._connection.execute(sql).fetchall()
        return tuple(row)


def _dataset(table: Table, uris: list[str]) -> pyarrow.dataset.Dataset:
    if not uris:
        return pyarrow.dataset.dataset(table.arrow.empty_table())
    paths: list[str] = []
    system: FileSystem | None = None
    for uri in uris:
        system, path = parquet.file_system(uri)
        paths.append(path)
    return pyarrow.dataset.dataset(paths, table.arrow, "parquet", system)
