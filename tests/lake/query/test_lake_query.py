"""P4: questions by SQL, about now and then, without a JVM and without a way out."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.lake.engine.delta import Lake
from rookery.lake.query.lake_query import LakeQuery, named_tables, parse_as_of
from rookery.lake.schema.catalog import BY_PATH, TABLES
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.landing import land
from tests.lake.synthetic_world import SyntheticWorld

ENROLMENTS = BY_PATH["landing/enrolments"]


def test_sql_sees_the_tables_by_their_names(synthetic: SyntheticWorld) -> None:
    sql = """
        SELECT kind, count(*) AS number FROM landing.enrolments
        GROUP BY kind ORDER BY kind
    """
    rows = LakeQuery(synthetic.lake).answer(sql).rows.to_pylist()
    assert rows == [{"kind": "router", "number": 24}, {"kind": "server", "number": 4}]


def test_nested_columns_and_times_are_what_they_are(synthetic: SyntheticWorld) -> None:
    sql = """
        SELECT max(interface.received_bytes) AS most, min("at") AS first
        FROM (SELECT "at", unnest(interfaces) AS interface FROM landing.device_reports
              WHERE not isnan(load) AND year("at") = 2026)
    """
    (row,) = LakeQuery(synthetic.lake).answer(sql).rows.to_pylist()
    assert row["most"] > 1_000_000
    assert row["first"] >= datetime(2026, 3, 2, tzinfo=UTC)


def test_only_tables_that_are_named_are_opened() -> None:
    assert named_tables('select * from Clean . "device_reports" join landing.calls') == [
        BY_PATH["landing/calls"],
        BY_PATH["clean/device_reports"],
    ]
    assert named_tables("select 1") == []


def test_a_table_that_does_not_exist_yet_is_empty(lake: Lake) -> None:
    for table in TABLES:
        answer = LakeQuery(lake).answer(f"SELECT * FROM {table.stage}.{table.name}")
        assert answer.rows.num_rows == 0
        assert answer.rows.column_names == table.arrow.names


def test_an_answer_is_bounded_and_says_so(synthetic: SyntheticWorld) -> None:
    query = LakeQuery(synthetic.lake)
    cut = query.answer("SELECT * FROM landing.device_reports", rows_max=12)
    assert cut.rows.num_rows == 12
    assert cut.is_cut
    whole = query.answer("SELECT * FROM landing.enrolments", rows_max=28)
    assert whole.rows.num_rows == 28
    assert not whole.is_cut


def test_the_past_is_there_by_version_and_by_time(lake: Lake) -> None:
    land(SyntheticDataset(seed=1, days=1, devices=4, nodes=0, interval_s=300), lake)
    first = lake.version(ENROLMENTS)
    assert first is not None
    then = datetime.now(UTC)
    land(SyntheticDataset(seed=2, days=1, devices=6, nodes=0, interval_s=300), lake)

    def devices(as_of: int | datetime | None) -> int:
        sql = "SELECT count(*) AS number FROM landing.enrolments WHERE kind = 'router'"
        (row,) = LakeQuery(lake, as_of).answer(sql).rows.to_pylist()
        number = row["number"]
        assert isinstance(number, int)
        return number

    assert devices(None) == 10
    assert devices(first) == 4
    assert devices(then) == 4
    with pytest.raises(UsageError, match="has versions 0 to"):
        devices(1000)
    with pytest.raises(UsageError, match="there was no landing/enrolments"):
        devices(then - timedelta(days=1))


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM sniff_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT * FROM glob('/*')", "disabled by configuration"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM history", "does not exist"),
        ("SELECT getenv('HOME')", "does not exist"),
        ("ATTACH 'x.db'", "only read"),
        ("COPY (SELECT 1) TO 'x.csv'", "only read"),
        ("INSTALL httpfs", "only read"),
        ("LOAD httpfs", "only read"),
        ("SET enable_external_access = true", "only read"),
        ("SET lock_configuration = false", "only read"),
        ("CREATE TABLE x AS SELECT 1", "only read"),
        ("DROP VIEW landing.calls", "only read"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("", "one statement"),
        ("SELEC 1", 'or near "SELEC"$'),
        ("SELECT max(at) FROM landing.calls", "needs its quotes"),
        ("SELECT * FROM clean.nothing", "See: rookery lake tables"),
        ("SELECT 'x'::int", "Could not convert"),
    ],
)
def test_there_is_no_way_out(sql: str, reason: str, synthetic: SyntheticWorld) -> None:
    """What is refused is refused in one line."""
    with pytest.raises(UsageError, match=reason) as refusal:
        LakeQuery(synthetic.lake).answer(sql)
    assert "\n" not in str(refusal.value)


def test_it_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    LakeQuery(Lake(str(tmp_path / "lake"))).answer("SELECT * FROM clean.calls")
    assert list(tmp_path.iterdir()) == []


def test_a_relation_is_lazy_and_goes_on(synthetic: SyntheticWorld) -> None:
    relation = LakeQuery(synthetic.lake).relation("SELECT * FROM landing.calls")
    counted = relation.filter("code = 0").aggregate("count(*)").fetchall()
    assert counted[0][0] > 100


def test_a_plan_can_be_looked_at(synthetic: SyntheticWorld) -> None:
    answer = LakeQuery(synthetic.lake).answer("EXPLAIN SELECT count(*) FROM landing.calls")
    assert "AGGREGATE" in str(answer.rows.to_pylist()).upper()


def test_what_a_time_is() -> None:
    assert parse_as_of("12") == 12
    assert parse_as_of("2026-03-02") == datetime(2026, 3, 2, tzinfo=UTC)
    assert parse_as_of("2026-03-02T12:00+01:00") == datetime(2026, 3, 2, 11, tzinfo=UTC)
    with pytest.raises(UsageError):
        parse_as_of("yesterday")


def test_no_jvm_and_no_spark_are_needed() -> None:
    code = "import sys, rookery.lake.query.lake_query; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
