"""The Delta log as checkpoint: what is claimed once is never taken in twice (P3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import UsageError
from rookery.lake.engine.delta import CommitClaim, ConflictError, Lake
from rookery.lake.schema.table import TIMESTAMP, Column, Table

COLUMNS = (
    Column("n", pa.int64(), "a number"),
    Column("at", TIMESTAMP, "when"),
    Column("date", pa.date32(), "of at"),
)
TABLE = Table("facts", "numbers", COLUMNS, ("n",), "for tests")
FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)


def rows(*numbers: int, day: date = FIRST) -> pa.Table:
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return pa.table(
        {"n": list(numbers), "at": [at] * len(numbers), "date": [day] * len(numbers)},
        schema=TABLE.arrow,
    )


def numbers(lake: Lake, version: int | None = None) -> list[int]:
    return sorted(lake.dataset(TABLE, version).to_table()["n"].to_pylist())


def test_a_table_that_is_not_there_is_empty_and_has_no_version(lake: Lake) -> None:
    assert lake.version(TABLE) is None
    assert lake.changes(TABLE, None) is None
    assert lake.ingested_version(TABLE, "somewhere") is None
    assert lake.files(TABLE) == []
    assert numbers(lake) == []
    with pytest.raises(UsageError, match="no facts/numbers"):
        lake.delta_table(TABLE)


def test_what_is_appended_is_there_with_its_dates(lake: Lake) -> None:
    both = pa.concat_tables([rows(1, 2), rows(3, day=SECOND)])
    lake.append(TABLE, both, [CommitClaim("spool a", None, 7)], {"run": "r"})
    assert numbers(lake) == [1, 2, 3]
    assert lake.rows(TABLE) == 3
    assert lake.ingested_version(TABLE, "spool a") == 7
    assert len(lake.files(TABLE, {SECOND})) == 1
    assert lake.dataset(TABLE).to_table().schema.equals(TABLE.arrow)


def test_a_claim_must_begin_where_the_log_ends(lake: Lake) -> None:
    """P3: two who read the same are not both counted."""
    lake.append(TABLE, rows(1), [CommitClaim("a", None, 7)], {})
    for since in (None, 6, 8):
        with pytest.raises(ConflictError, match="up to 7"):
            lake.append(TABLE, rows(2), [CommitClaim("a", since, 9)], {})
    lake.append(TABLE, rows(2), [CommitClaim("a", 7, 9), CommitClaim("b", None, 1)], {})
    assert numbers(lake) == [1, 2]


def test_dates_are_replaced_in_one_commit_and_the_past_stays_readable(lake: Lake) -> None:
    first = lake.append(TABLE, pa.concat_tables([rows(1, 2), rows(3, day=SECOND)]), [], {})
    lake.append(TABLE, rows(4), [], {})
    newer = Lake(lake.url)
    newer.append(TABLE, rows(), [], {})
    changes = lake.changes(TABLE, first)
    assert changes is not None
    assert changes.dates == frozenset({FIRST})
    assert len(changes.files) == 1
    lake.commit(TABLE, [], {FIRST}, [], {})
    assert numbers(lake) == [3]
    assert numbers(lake, first) == [1, 2, 3]
    lake.commit(TABLE, [], "all", [], {})
    assert numbers(lake) == []


def test_compaction_is_no_change(lake: Lake) -> None:
    lake.append(TABLE, rows(1), [], {})
    last = lake.append(TABLE, rows(2), [], {})
    lake.delta_table(TABLE).optimize.compact()
    changes = lake.changes(TABLE, last)
    assert changes is not None
    assert changes.dates == frozenset()
    assert numbers(lake) == [1, 2]


def test_a_column_that_was_added_reads_as_null_in_older_files(lake: Lake) -> None:
    lake.append(TABLE, rows(1), [], {})
    column = Column("more", pa.string(), "added later")
    wider = Table("facts", "numbers", (*COLUMNS, column), ("n",), "for tests")
    lake.append(wider, rows(2).append_column("more", [["new"]]), [], {})
    assert lake.dataset(wider).to_table().sort_by("n")["more"].to_pylist() == [None, "new"]


def test_files_that_compaction_wrote_are_not_new_and_those_before_it_are(lake: Lake) -> None:
    """P3: no row is ingested twice, whenever the table is compacted."""
    first = lake.append(TABLE, rows(1), [], {})
    lake.append(TABLE, rows(2), [], {})
    lake.append(TABLE, rows(3), [], {})
    lake.delta_table(TABLE).optimize.compact()
    lake.append(TABLE, rows(4, day=SECOND), [], {})
    changes = lake.changes(TABLE, first)
    assert changes is not None
    found = pa.concat_tables([pq.read_table(uri, partitioning=None) for uri in changes.files])
    assert sorted(found["n"].to_pylist()) == [2, 3, 4]
    assert lake.dates(TABLE) == {FIRST, SECOND}
    assert lake.rows(TABLE, dates={FIRST}) == 3
    assert lake.rows(TABLE, dates={SECOND}, version=first) == 0


def test_one_of_two_conflicting_claims_is_refused(lake: Lake) -> None:
    """P3: both have looked, and both have written their files, before either commits."""
    lake.append(TABLE, rows(0), [], {})
    for turn in range(5):
        since = lake.ingested_version(TABLE, "a")
        barrier = Barrier(3)

        def claim(number: int, turn: int = turn, since: int | None = since) -> bool:
            barrier.wait()  # noqa: B023
            try:
                Lake(lake.url).append(TABLE, rows(number), [CommitClaim("a", since, turn + 1)], {})
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(3) as pool:
            assert sum(pool.map(claim, [turn + 1] * 3)) == 1
    assert numbers(lake) == [0, 1, 2, 3, 4, 5]


def test_what_was_not_committed_is_taken_back(lake: Lake) -> None:
    lake.append(TABLE, rows(1), [CommitClaim("a", None, 1)], {})
    with pytest.raises(ConflictError):
        lake.append(TABLE, rows(2), [CommitClaim("a", None, 1)], {})
    assert list(map(str, (Path(lake.uri(TABLE)) / "data").rglob("*.parquet"))) == lake.files(TABLE)
