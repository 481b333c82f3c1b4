"""P1, P3: upkeep changes files, never rows, and takes nothing that somebody still needs."""

import os
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from rookery.errors import UsageError
from rookery.lake.engine import maintenance, parquet
from rookery.lake.engine.delta import CommitClaim, ConflictError, Lake
from rookery.lake.schema import clean, facts, landing
from rookery.lake.schema.table import Table

FIRST, SECOND, THIRD = date(2026, 9, 1), date(2026, 9, 2), date(2026, 9, 3)
TODAY = THIRD + timedelta(days=40)
KEEP = timedelta(days=7)


def rows(table: Table, *positions: int, day: date = FIRST) -> pa.Table:
    """Of a landing or clean table; only what has to be there is."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    said = {"spool": "hub", "received_at": at, "date": day}
    return pa.Table.from_pylist([said | {"position": n} for n in positions], schema=table.arrow)


def append(
    lake: Lake,
    table: Table,
    *positions: int,
    day: date = FIRST,
    claims: tuple[CommitClaim, ...] = (),
) -> int:
    return lake.append(table, rows(table, *positions, day=day), claims, {})


def positions(lake: Lake, table: Table) -> list[int]:
    found: list[int] = lake.dataset(table).to_table()["position"].to_pylist()
    return sorted(found)


def take_in(lake: Lake, target: Table, source: Table) -> None:
    """As a step does that had nothing to write."""
    until = lake.version(source)
    assert until is not None
    lake.commit(
        target,
        [],
        None,
        [CommitClaim(source.path, lake.ingested_version(target, source), until)],
        {},
    )


def files_below(lake: Lake, table: Table) -> set[Path]:
    return set(Path(lake.uri(table)).rglob("*.parquet")) - set(
        Path(lake.uri(table)).rglob("*checkpoint*")
    )


def age(path: Path, by: timedelta) -> None:
    then = time.time() - by.total_seconds()
    os.utime(path, (then, then))


def test_compaction_leaves_rows_claims_and_landing_as_they_are(lake: Lake) -> None:
    for table in (landing.CALLS, clean.CALLS):
        for number in range(4):
            since = number or None
            append(lake, table, number, claims=(CommitClaim("spool hub", since, number + 1),))
        append(lake, table, 9, day=SECOND)
    before = lake.version(clean.CALLS)
    (done,) = maintenance.compact(lake)
    assert done == maintenance.CompactionResult(clean.CALLS, removed=4, added=1)
    assert len(lake.files(clean.CALLS)) == 2
    assert len(lake.files(landing.CALLS)) == 5
    assert positions(lake, clean.CALLS) == [0, 1, 2, 3, 9]
    assert lake.ingested_version(clean.CALLS, "spool hub") == 4
    changes = lake.changes(clean.CALLS, before)
    assert changes is not None
    assert changes.is_nothing
    version = lake.version(clean.CALLS)
    assert maintenance.compact(lake) == [maintenance.CompactionResult(clean.CALLS)]
    assert lake.version(clean.CALLS) == version


def test_vacuum_takes_what_was_replaced_and_what_the_dead_left_but_nothing_young(
    lake: Lake,
) -> None:
    append(lake, clean.CALLS, 1)
    append(lake, clean.CALLS, 2)
    maintenance.compact(lake)
    uri = lake.uri(clean.CALLS)
    dead, running = (parquet.write(uri, clean.CALLS, rows(clean.CALLS, 9)) for _ in range(2))
    dead_file, running_file = (Path(uri) / each[0].path for each in (dead, running))
    age(dead_file, timedelta(days=8))
    before = files_below(lake, clean.CALLS)
    (found,) = maintenance.vacuum(lake, is_dry=True)
    assert found.files == (dead[0].path,)
    assert files_below(lake, clean.CALLS) == before
    assert maintenance.vacuum(lake) == [found]
    assert before - files_below(lake, clean.CALLS) == {dead_file}
    lake.commit(clean.CALLS, running, None, [], {})  # it was about to
    assert positions(lake, clean.CALLS) == [1, 2, 9]
    assert running_file.exists()


def test_vacuum_takes_the_folders_of_what_it_removed(lake: Lake) -> None:
    append(lake, clean.CALLS, 1)
    uri = Path(lake.uri(clean.CALLS))
    (dead,) = parquet.write(str(uri), clean.CALLS, rows(clean.CALLS, 9))
    age(uri / dead.path, timedelta(days=8))
    maintenance.vacuum(lake)
    folder = (uri / dead.path).parent
    assert folder.exists()  # it changed just now
    for each in (folder, folder.parent):
        age(each, timedelta(days=8))
    maintenance.vacuum(lake)
    assert not folder.exists()
    assert positions(lake, clean.CALLS) == [1]


def test_a_bound_below_what_a_job_may_take_is_refused(lake: Lake) -> None:
    with pytest.raises(UsageError, match="about to commit"):
        maintenance.vacuum(lake, keep=timedelta(hours=5))


def test_old_dates_are_retired_once_all_have_taken_them_in(lake: Lake) -> None:
    append(lake, landing.CALLS, 1)
    append(lake, landing.CALLS, 2, day=SECOND)
    append(lake, landing.CALLS, 3, day=TODAY)
    both = frozenset({FIRST, SECOND})
    assert maintenance.retire(lake, {"landing": 30}, TODAY) == [
        maintenance.RetentionResult(landing.CALLS, frozenset(), both)
    ]
    take_in(lake, clean.CALLS, landing.CALLS)
    append(lake, landing.CALLS, 4, day=SECOND)
    assert maintenance.retire(lake, {"landing": 30}, TODAY) == [
        maintenance.RetentionResult(landing.CALLS, frozenset({FIRST}), frozenset({SECOND}))
    ]
    assert positions(lake, landing.CALLS) == [2, 3, 4]
    take_in(lake, clean.CALLS, landing.CALLS)
    maintenance.retire(lake, {"landing": 30}, TODAY)
    assert positions(lake, landing.CALLS) == [3]
    assert maintenance.retire(lake, {"landing": 30}, TODAY) == []


def test_tables_made_from_retired_dates_see_no_change(lake: Lake) -> None:
    """Or it would compute them anew, from nothing."""
    append(lake, clean.CALLS, 1)
    append(lake, clean.CALLS, 2, day=TODAY)
    take_in(lake, facts.CALL_HOURS, clean.CALLS)
    (done,) = maintenance.retire(lake, {"clean": 35}, TODAY)
    assert done.dates == {FIRST}
    changes = lake.changes(clean.CALLS, lake.ingested_version(facts.CALL_HOURS, clean.CALLS))
    assert changes is not None
    assert changes.is_nothing


def test_stages_that_are_not_named_keep_all_and_late_data_needs_its_days(lake: Lake) -> None:
    append(lake, clean.CALLS, 1)
    take_in(lake, facts.CALL_HOURS, clean.CALLS)
    assert maintenance.retire(lake, {"landing": 2}, TODAY) == []
    for stage in ("clean", "facts"):
        with pytest.raises(UsageError, match="35 days at least"):
            maintenance.retire(lake, {stage: 34}, TODAY)


def test_claims_outlive_the_log_and_a_table_far_behind_gets_everything(lake: Lake) -> None:
    """P3: a log that is cleaned up is no reason to take anything in twice, or not at all."""
    for number in range(3):
        append(
            lake,
            clean.CALLS,
            number,
            claims=(CommitClaim("spool hub", number or None, number + 1),),
        )
    maintenance.compact(lake)
    log = Path(lake.uri(clean.CALLS)) / "_delta_log"
    for path in log.iterdir():
        age(path, timedelta(days=60))
    append(lake, clean.CALLS, 3, day=SECOND, claims=(CommitClaim("spool hub", 3, 4),))
    maintenance.compact(lake)
    assert not (log / f"{1:020}.json").exists()
    assert lake.ingested_version(clean.CALLS, "spool hub") == 4
    with pytest.raises(ConflictError):
        append(lake, clean.CALLS, 3, claims=(CommitClaim("spool hub", 3, 4),))
    changes = lake.changes(clean.CALLS, 1)
    assert changes is not None
    assert changes.dates is None
    assert set(changes.files) == set(lake.files(clean.CALLS))
    assert positions(lake, clean.CALLS) == [0, 1, 2, 3]
