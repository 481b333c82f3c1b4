"""Entities that are far from their own habit (P4)."""

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake import anomalies
from rookery.lake.schema.facts import LINK_HOURS, SERVER_HOURS
from rookery.lake.schema.insights import ANOMALIES, OUTAGES, TRAFFIC_HOURS
from tests.lake.fact_tables import bare, computed, made
from tests.lake.oracle import anomalies as oracle
from tests.lake.oracle import database
from tests.lake.oracle.anomalies import Row

pytestmark = pytest.mark.xdist_group("spark")

START = datetime(2026, 3, 2, tzinfo=UTC)
TABLES = (OUTAGES, TRAFFIC_HOURS, LINK_HOURS, SERVER_HOURS)
MIB = 1 << 20


def at(day: int, hour: float = 0) -> datetime:
    return START + timedelta(days=day, hours=hour)


def carried(device: str, hour: datetime, size: int, covered_ms: int = 3_600_000) -> Row:
    return {
        "device": device,
        "interface": "wan0",
        "hour": hour,
        "covered_ms": covered_ms,
        "received_bytes": size,
        "sent_bytes": 0,
        "date": hour.date(),
    }


def measured(hour: datetime, loss_ppm: int, rtt_us: int) -> Row:
    return {
        "realm": "r",
        "node": "a",
        "peer": "b",
        "hour": hour,
        "loss_samples": 2,
        "loss_ppm_sum": 2 * loss_ppm,
        "rtt_samples": 1,
        "rtt_us_sum": rtt_us,
        "date": hour.date(),
    }


def seated(hour: datetime, used: int) -> Row:
    return {
        "reporter": "s",
        "hour": hour,
        "reports": 2,
        "seats_max": 100,
        "seats_used_sum": 2 * used,
        "date": hour.date(),
    }


def silent(device: str, from_at: datetime, seconds: int) -> Row:
    return {
        "device": device,
        "from_at": from_at,
        "to_at": from_at + timedelta(seconds=seconds),
        "lasted_us": seconds * 1_000_000,
        "is_reboot": False,
        "is_open": False,
        "date": from_at.date(),
    }


def found(spark: SparkSession, *rows: list[Row]) -> DataFrame:
    frames = []
    for table, some in zip(TABLES, rows, strict=True):
        whole = made(table, some)
        frames.append(spark.createDataFrame(whole))
    return anomalies.anomalies(*frames)


def test_what_is_unlike_the_days_before_is_found_with_what_was_expected(
    spark: SparkSession,
) -> None:
    """Six days of habit, then: traffic stops for two hours, loss rises, a server fills up."""
    days = range(7)
    traffic = [
        carried("d", at(day, hour), 0 if (day, hour) in {(6, 3), (6, 4)} else 360 * MIB)
        for day in days
        for hour in (2, 3, 4)
    ]
    links = [measured(at(day, 3), 200_000 if day == 6 else 10_000, 20_000) for day in days]
    servers = [seated(at(day, 9), 70 if day == 6 else 40) for day in days]
    # Who is often silent for a minute or two is not remarkable with four, but with an hour.
    outages = [
        *(silent("d", at(day, 5), 100) for day in days[:6]),
        silent("d", at(6, 5), 240),
        silent("d", at(6, 6), 3600),
        silent("e", at(6, 6), 299),
        silent("e", at(6, 7), 300),
    ]
    unusual = found(spark, outages, traffic, links, servers)
    device, nothing, day = ("d", "d"), (None, None, None), at(6).date()
    usual = 360 * MIB // 3600
    known = [
        (
            "traffic",
            *device,
            *nothing,
            at(6, 3),
            at(6, 5),
            usual,
            0,
            -usual / (usual // 10),
            2,
            day,
        ),
        ("loss", "r/a/b", None, "a", "b", "r", at(6, 3), at(6, 4), 10_000, 200_000, 38.0, 1, day),
        ("load", "s", "s", *nothing, at(6, 9), at(6, 10), 400_000, 700_000, 7.5, 1, day),
        (
            "silence",
            *device,
            *nothing,
            at(6, 6),
            at(6, 7),
            100_000_000,
            3_600_000_000,
            70.0,
            0,
            day,
        ),
        (
            "silence",
            "e",
            "e",
            *nothing,
            at(6, 7),
            at(6, 7) + timedelta(seconds=300),
            0,
            300_000_000,
            6.0,
            0,
            day,
        ),
    ]
    assertDataFrameEqual(unusual, spark.createDataFrame(known, unusual.schema), rtol=0, atol=0)


def history(chance: random.Random) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Five weeks with holes, jumps and bad days."""
    traffic: list[Row] = []
    links: list[Row] = []
    servers: list[Row] = []
    outages: list[Row] = []
    for day in range(30):
        for hour in range(24):
            now, bad = at(day, hour), chance.random() < 0.03
            if chance.random() < 0.9:
                size = chance.randrange(900, 1100) * MIB * (1 + hour) * (0 if bad else 1)
                traffic.append(carried("d", now, size, chance.choice((3_600_000, 1_700_000))))
            if chance.random() < 0.9:
                loss = chance.randrange(0, 20_000) + 300_000 * bad
                links.append(measured(now, loss, chance.randrange(10_000, 12_000) * (1 + 9 * bad)))
            servers.append(seated(now, min(100, chance.randrange(20, 30) + 60 * bad)))
        for device in ("d", "e"):
            outages += [
                silent(device, at(day, hour), chance.choice((70, 90, 400, 3000)))
                for hour in chance.sample(range(23), chance.randrange(3))
            ]
    return outages, traffic, links, servers


def test_five_weeks_are_what_plain_python_makes_of_them(spark: SparkSession) -> None:
    """P4: row for row; P3: a day alone is the same as among others."""
    rows = history(random.Random(5))
    whole = pa.Table.from_pylist(
        [dict(zip(bare(ANOMALIES).names, each, strict=True)) for each in oracle.anomalies(*rows)],
        bare(ANOMALIES),
    )
    assert set(whole["kind"].to_pylist()) == {"traffic", "loss", "rtt", "load", "silence"}
    assert database.differences(whole, computed(ANOMALIES, found(spark, *rows))) == []
    day = max(whole["date"].to_pylist())
    first = day - timedelta(days=anomalies.LOOKBACK_DAYS)
    near = [[row for row in some if first <= row["date"] <= day] for some in rows]
    of_day = pc.field("date") == day
    alone = computed(ANOMALIES, found(spark, *near)).filter(of_day)
    assert whole.filter(of_day).num_rows > 0
    assert database.differences(whole.filter(of_day), alone) == []
