"""What is believed, when it happened, and that it is kept once (P3)."""

import json
from datetime import date, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its usual name)
from pyspark.testing import assertDataFrameEqual

from rookery.lake.clean import clean_rows
from rookery.lake.clean.rules import RULES
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.engine.step import REASON
from rookery.lake.schema import clean as cleaned
from rookery.lake.schema import landing
from rookery.lake.schema.catalog import BY_PATH
from tests.lake.frames import NOON, frame, noon
from tests.lake.oracle import clean as oracle
from tests.lake.oracle import database
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

SOUND: dict[str, dict[str, object]] = {
    "device_reports": {
        "up_s": 1.0,
        "mem": 0.5,
        "interfaces": [("wan0", 1, 2, 3, 4, 5, 6)],
        "links": [("peer", "udp4", 1.0, 0.5, 1.0)],
    },
    "server_reports": {"seats_max": 8, "seats_used": 9, "cpu": 1.0},
    "calls": {"router": "r", "method": "m", "ms": 1.0},
    "enrolments": {"kind": "router", "hashname": "h"},
    "security_events": {"event": "of a version to come"},
    "link_samples": {"realm": "r", "node": "n", "peer": "p", "is_up": False},
    "record_changes": {"realm": "r", "node": "n", "epoch": 1, "number": 1, "links": [("p", 1)]},
    "decisions": {"realm": "r", "source": "s", "destination": "d", "verdict": "chosen"},
    "sessions": {"router": "r", "opened_at": NOON, "closed_at": NOON},
    "requests": {"node": "n", "peer": "p", "fate": "f", "submitted_at": NOON, "ended_at": NOON},
    "messages": {"theme": "t", "size": 0, "qos": 2},
}
POISON: dict[str, list[tuple[dict[str, object], str]]] = {
    "device_reports": [
        ({"reporter": None}, "reporter is missing"),
        ({"reporter": ""}, "reporter is missing"),
        ({"sequence": -1}, "sequence is not from 0 to 9.22337e+18"),
        ({"up_s": -1.0}, "up_s is not from 0 to 1e+15"),
        ({"load": float("nan")}, "load is not from 0 to 1e+15"),
        ({"load": float("inf")}, "load is not from 0 to 1e+15"),
        ({"mem": 1.5}, "mem is not from 0 to 1"),
        ({"disk": -0.25, "mem": 1.5}, "mem is not from 0 to 1"),
        ({"temp": float("nan")}, "temp is not from -300 to 1000"),
        ({"signal": 200.0}, "signal is not from -200 to 100"),
        ({"interfaces": [("", 1, 2, 3, 4, 5, 6)]}, "interfaces.name is missing"),
        ({"interfaces": [None]}, "interfaces.name is missing"),
        (
            {"interfaces": [("a", 1, 2, 3, 4, 5, 6), ("b", 1, 2, 3, 4, 5, -6)]},
            "interfaces.drops is not from 0 to 9.22337e+18",
        ),
        ({"links": [(None, "", 1.0, 0.5, 1.0)]}, "links.peer is missing"),
        ({"links": [("p", "", float("nan"), 0.5, 1.0)]}, "links.rtt_ms is not from 0 to 1e+09"),
        ({"links": [("p", "", 1.0, 1.5, 1.0)]}, "links.loss is not from 0 to 1"),
    ],
    "server_reports": [
        ({"seats_used": None}, "seats_used is missing"),
        ({"cpu": 2.0}, "cpu is not from 0 to 1"),
    ],
    "enrolments": [({"kind": "kettle"}, "kind is none of router, server")],
    "record_changes": [
        ({"links": [("p", -1)]}, "links.cost_us is not from 0 to 1e+12"),
        ({"epoch": None}, "epoch is missing"),
    ],
    "messages": [({"qos": 3}, "qos is not from 0 to 2")],
}


def head(position: int, **more: object) -> dict[str, object]:
    return {
        "spool": "hub",
        "position": position,
        "received_at": NOON,
        "reporter": "02:00:00:00:00:01",
        "boot": 1,
        "sequence": position,
        "at": NOON,
        **more,
    }


def judged(spark: SparkSession, name: str, rows: list[dict[str, object]]) -> DataFrame:
    landed = frame(spark, BY_PATH[f"landing/{name}"], rows)
    return clean_rows.judged(BY_PATH[f"clean/{name}"], landed)


def fresh(
    spark: SparkSession, known: list[dict[str, object]], *rows: dict[str, object]
) -> set[int]:
    """Positions of messages that are taken in."""
    new = frame(spark, landing.MESSAGES, [{**SOUND["messages"], **row} for row in rows])
    found = clean_rows.fresh(cleaned.MESSAGES, new, frame(spark, cleaned.MESSAGES, known))
    return {row.position for row in found.select("position").collect()}


def test_every_kind_has_rules_for_columns_that_it_has() -> None:
    assert RULES.keys() == {table.name for table in landing.TABLES} == SOUND.keys()
    for name, rules in RULES.items():
        schema = BY_PATH[f"landing/{name}"].arrow
        for rule in rules:
            column, _, within = rule.column.partition(".")
            kind = schema.field(column).type
            assert not within or kind.value_type.get_field_index(within) >= 0


@pytest.mark.parametrize("name", SOUND)
def test_a_row_that_breaks_a_rule_is_refused_with_the_first_one(
    spark: SparkSession, name: str
) -> None:
    """P3: NaN, counts below nothing, shares above one, keys that are missing."""
    cases = POISON.get(name, [])
    rows = [{**head(0), **SOUND[name], "sequence": None}, {**head(1), **SOUND[name]}]
    rows += [{**head(2 + number), **SOUND[name], **more} for number, (more, _) in enumerate(cases)]
    found = judged(spark, name, rows).where(F.col(REASON).isNotNull())
    refused = (
        clean_rows.rejected(BY_PATH[f"clean/{name}"], found).select("position", "reason").collect()
    )
    expected = [(2 + number, text) for number, (_, text) in enumerate(cases)]
    assert sorted((row.position, row.reason) for row in refused) == expected


def test_a_refused_row_is_kept_as_it_came(spark: SparkSession) -> None:
    at = noon(-1e9)
    rows = [{**head(7, at=at), **SOUND["messages"], "qos": 9, "payload": b"\x01\x02"}]
    refused = judged(spark, "messages", rows)
    [row] = clean_rows.rejected(cleaned.MESSAGES, refused).collect()
    assert (row.spool, row.position, row.kind, row.source) == ("hub", 7, "messages", "hub")
    assert row.reason == "qos is not from 0 to 2"
    assert row.date == NOON.date()
    content = json.loads(row.content)
    assert content["qos"] == 9
    assert content["payload"] == "AQI="
    assert content["at"].startswith(f"{at:%Y-%m-%d}")
    assert "clock_wrong" not in content


def test_a_clock_that_cannot_be_right_is_replaced_by_the_time_of_arrival(
    spark: SparkSession,
) -> None:
    day_s = 86_400
    times = [-30 * day_s, -30 * day_s - 0.001, -3 * day_s, 300, 300.001, 5e8, -1.7e9]
    rows = [{**head(n, at=noon(s)), **SOUND["messages"]} for n, s in enumerate(times)]
    rows.append({**head(len(times), at=None), **SOUND["messages"]})
    found = judged(spark, "messages", rows).select("position", "at", "clock_wrong", "date")
    month_ago = NOON - timedelta(days=30)
    expected = [
        (0, month_ago, False, month_ago.date()),
        (1, NOON, True, date(2026, 3, 4)),
        (2, noon(-3 * day_s), False, date(2026, 3, 1)),
        (3, noon(300), False, date(2026, 3, 4)),
        (4, NOON, True, date(2026, 3, 4)),
        (5, NOON, True, date(2026, 3, 4)),
        (6, NOON, True, date(2026, 3, 4)),
        (7, NOON, False, date(2026, 3, 4)),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, found.schema))


def test_of_repeats_the_first_to_come_stays(spark: SparkSession) -> None:
    """P3: by lineage, wherever it was kept; without one by its place alone."""
    rows = [
        head(10, sequence=1, received_at=noon(2)),
        head(11, sequence=1, received_at=noon(1), spool="other hub"),
        head(12, sequence=1, received_at=noon(1), spool="other hub"),
        head(13, sequence=1, boot=2),
        head(14, sequence=1, reporter="02:00:00:00:00:02"),
        head(15, sequence=2),
        head(16, sequence=3, size=-1),
        head(17, sequence=3),
        *(head(position, sequence=0, boot=0) for position in (20, 21)),
        *(head(position, sequence=None, boot=None) for position in (22, 23)),
    ]
    assert fresh(spark, [], *rows) == {11, 13, 14, 15, 20, 21, 22, 23}
    known = [head(99, sequence=2), head(21, sequence=None, boot=None), head(98, sequence=5)]
    assert fresh(spark, known, *rows) == {11, 13, 14, 20, 22, 23}


@pytest.mark.parametrize("name", SOUND)
def test_clean_rows_of_a_history_are_those_that_duckdb_finds(
    spark: SparkSession, synthetic: SyntheticWorld, name: str
) -> None:
    """Row by row: repeats, wrong clocks and poison included."""
    landed, target = synthetic.rows(name), BY_PATH[f"clean/{name}"]
    connection = database.opened({f"landing/{name}": landed})
    expected = database.rows(connection, target, oracle.sql(name))
    tables = SparkTables(spark, synthetic.lake)
    found = clean_rows.fresh(target, tables.read(BY_PATH[f"landing/{name}"]), tables.read(target))
    assert found.columns == target.arrow.names
    assert database.differences(expected, found.toArrow()) == []
    assert expected.num_rows > 0
