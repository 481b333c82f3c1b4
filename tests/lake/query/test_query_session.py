"""Questions asked again and again: of what there is now, and with nothing but parameters."""

from pathlib import Path

import pyarrow as pa
import pytest

from rookery.errors import UsageError
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.query.query_session import REFRESH_S, LakeQuerySession
from rookery.lake.schema import insights

COUNT = "SELECT count(*) AS rows FROM insights.places WHERE kind = ?"


def add(lake: Lake, *senders: str, claims: tuple[CommitClaim, ...] = ()) -> None:
    table = insights.PLACES
    rows = [
        dict.fromkeys(table.arrow.names) | {"reporter": each, "kind": "router"} for each in senders
    ]
    found = pa.Table.from_pylist(rows, table.arrow)
    lake.append(table, found, claims, {"run": "one", "code": "0.1.0"})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def count(query: LakeQuerySession, kind: str = "router") -> int:
    [row] = query.answer(COUNT, (kind,), 10).rows.to_pylist()
    return int(row["rows"])


def test_commits_are_seen_when_a_second_has_passed(lake: Lake) -> None:
    clock = Clock()
    query = LakeQuerySession(lake, clock)
    assert count(query) == 0  # there is no such table yet
    add(lake, "a", "b")
    assert count(query) == 0
    clock.now += REFRESH_S
    assert (count(query), count(query, "server")) == (2, 0)
    add(lake, "c")
    clock.now += REFRESH_S
    assert count(query) == 3
    query.close()


def test_freshness_follows_the_log(lake: Lake) -> None:
    clock = Clock()
    query = LakeQuerySession(lake, clock)
    assert query.freshness() == {}
    add(lake, "a", claims=(CommitClaim("clean/enrolments", None, 7),))
    clock.now += REFRESH_S
    fresh = query.freshness()["insights/places"]
    assert (fresh.rows, fresh.run, fresh.code) == (1, "one", "0.1.0")
    assert fresh.included == (("clean/enrolments", 7),)
    add(lake, "b")
    clock.now += REFRESH_S
    assert query.freshness()["insights/places"].rows == 2
    query.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "CREATE TABLE x (a INT)",
        "SET threads = 1",
        "COPY (SELECT 1) TO 'x'",
        "SELECT * FROM read_text('/etc/hostname')",
    ],
)
def test_nothing_but_one_statement_that_reads_the_lake(lake: Lake, sql: str) -> None:
    query = LakeQuerySession(lake)
    with pytest.raises(UsageError):
        query.answer(sql, (), 10)
    query.close()
