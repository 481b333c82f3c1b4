"""Entities that are far from their own habit (P4)."""

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.insights import anomalies
from rookery.lake.schema import clean, landing
from rookery.lake.schema.facts import DEVICE_HOURS, LINK_HOURS, SERVER_HOURS
from rookery.lake.schema.insights import ANOMALIES, OUTAGES, TRAFFIC_HOURS
from rookery.lake.synthetic.dataset import SyntheticDataset
from rookery.lake.synthetic.ground_truth import GroundTruth
from tests.lake.fact_tables import bare, computed, made
from tests.lake.oracle import anomalies as oracle
from tests.lake.oracle import clean as clean_oracle
from tests.lake.oracle import database
from tests.lake.oracle import hours as hours_oracle
from tests.lake.oracle.anomalies import Row

pytestmark = pytest.mark.xdist_group("spark")

START = datetime(2026, 3, 2, tzinfo=UTC)
TABLES = (OUTAGES, TRAFFIC_HOURS, LINK_HOURS, SERVER_HOURS, DEVICE_HOURS)
MIB = 1 << 20


def at(day: int, hour: float = 0) -> datetime:
    return START + timedelta(days=day, hours=hour)


def carried(
    device: str, hour: datetime, size: int, covered_ms: int = 3_600_000, interface: str = "wan0"
) -> Row:
    """A quarter of it went out."""
    return {
        "device": device,
        "interface": interface,
        "hour": hour,
        "covered_ms": covered_ms,
        "received_bytes": size - size // 4,
        "sent_bytes": size // 4,
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


def felt(
    device: str, hour: datetime, load_milli: int, temp_milli: int | None, reports: int = 60
) -> Row:
    """A third of the reports came without a temperature."""
    sensed = 0 if temp_milli is None else reports - reports // 3
    return {
        "reporter": device,
        "hour": hour,
        "reports": reports,
        "load_samples": reports,
        "load_milli_sum": load_milli * reports,
        "temp_samples": sensed,
        "temp_milli_sum": None if temp_milli is None else temp_milli * sensed,
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
    unusual = found(spark, outages, traffic, links, servers, [])
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


def test_a_device_is_hot_or_busy_compared_with_its_own_past(spark: SparkSession) -> None:
    """Twelve degrees, or three processes that want to run, above what is usual at this hour."""
    days = range(6)
    devices = [
        *(felt("near", at(day, 3), 1000, 50_000) for day in days[:5]),
        felt("near", at(5, 3), 3999, 61_999),  # almost, but for a thousandth of each
        *(felt("far", at(day, 3), 1000, 50_000) for day in days[:5]),
        felt("far", at(5, 3), 4000, 62_000),
        *(felt("far", at(day, 4), 2000, 50_000) for day in days[:5]),
        felt("far", at(5, 4), 5000, 50_000),  # as far: the first of both speaks
        *(felt("cold", at(day, 3), 9000, -20_000) for day in days[:5]),
        felt("cold", at(5, 3), 0, -8_000),  # warmer than it is used to; idle is nothing
        *(felt("cool", at(day, 3), 1000, 40_000) for day in days[:5]),
        felt("cool", at(5, 3), 1000, 10_000),  # colder is nothing, either
        *(felt("rare", at(day, 3), 1000, None) for day in days[:5]),
        felt("rare", at(5, 3), 90_000, None, reports=3),  # it has only just started
        *(felt("new", at(day, 3), 1000, 50_000) for day in days[1:5]),
        felt("new", at(5, 3), 90_000, 90_000),  # four days are no habit
        *(felt("uneven", at(day, 3), 1000 + 900 * day, 50_000 + 4000 * day) for day in days[:5]),
        felt("uneven", at(5, 3), 8199, 81_999),  # its scales are 0.9 and 4 °C
    ]
    unusual = found(spark, [], [], [], [], devices)
    nothing, hour, both = (None, None, None), (at(5, 3), at(5, 4)), (at(5, 3), at(5, 5))
    known = [
        ("device load", "far", "far", *nothing, *both, 1000, 4000, 6.0, 2, at(5).date()),
        ("temperature", "far", "far", *nothing, *hour, 50_000, 62_000, 6.0, 1, at(5).date()),
        ("temperature", "cold", "cold", *nothing, *hour, -20_000, -8_000, 6.0, 1, at(5).date()),
    ]
    assertDataFrameEqual(unusual, spark.createDataFrame(known, unusual.schema), rtol=0, atol=0)


def test_figures_that_only_a_lie_can_make_are_unknown_and_stop_nothing(
    spark: SparkSession,
) -> None:
    huge = (1 << 63) - 1
    days = range(7)
    traffic = [carried("d", at(day, 3), huge // 64) for day in days]
    servers = [seated(at(day, 9), huge // 64) for day in days]
    devices = [felt("d", at(day, 3), 10**18, 1_000_000, reports=9) for day in days]
    lie = felt("d", at(7, 3), 1, 1_000_000, reports=9) | {"load_milli_sum": None}
    assert found(spark, [], traffic, [], servers, [*devices, lie]).collect() == []


def test_what_a_history_planted_is_found_and_nothing_else(spark: SparkSession) -> None:
    """P4: devices that are too hot or too busy, in a fleet with every other fault."""
    planted = SyntheticDataset(days=8, nodes=0, interval_s=300)
    landed = [rows for table, rows in planted.chunks() if table is landing.DEVICE_REPORTS]
    connection = database.opened({landing.DEVICE_REPORTS.path: pa.concat_tables(landed)})
    reports = database.rows(connection, clean.DEVICE_REPORTS, clean_oracle.sql("device_reports"))
    database.add(connection, clean.DEVICE_REPORTS.path, reports)
    felt_hours = database.rows(connection, DEVICE_HOURS, hours_oracle.sql("device_hours"))
    unusual = found(spark, [], [], [], [], felt_hours.to_pylist())
    strains = GroundTruth(planted).overloads()
    assert {each.kind for each in strains} == {"temperature", "device load"}
    rows = unusual.select("device", "kind", "from_at", "to_at").toArrow().to_pylist()
    assert sorted(map(tuple, map(dict.values, rows))) == sorted(strains)


def history(chance: random.Random) -> tuple[list[Row], ...]:
    """Five weeks with holes, jumps and bad days."""
    traffic: list[Row] = []
    links: list[Row] = []
    servers: list[Row] = []
    outages: list[Row] = []
    devices: list[Row] = []
    for day in range(30):
        for hour in range(24):
            now, bad = at(day, hour), chance.random() < 0.03
            if chance.random() < 0.9:
                size = chance.randrange(900, 1100) * MIB * (1 + hour) * (0 if bad else 1)
                covered_ms = chance.choice((3_600_000, 1_800_000, 1_799_999))
                size = size * covered_ms // 3_600_000
                traffic.append(carried("d", now, size, covered_ms))
                traffic.append(carried("d", now, size // 8, covered_ms // 2, "lan0"))
            if chance.random() < 0.9:
                loss = chance.randrange(0, 20_000) + 300_000 * bad
                links.append(measured(now, loss, chance.randrange(10_000, 12_000) * (1 + 9 * bad)))
            if chance.random() < 0.9:
                load = chance.randrange(0, 900) + 8000 * bad
                temp = chance.randrange(-4000, 4000) + 30_000 * bad
                sensed = None if chance.random() < 0.1 else temp
                devices.append(felt("d", now, load, sensed, chance.choice((3, 4, 6, 60))))
            servers.append(seated(now, min(100, chance.randrange(20, 30) + 60 * bad)))
        for device in ("d", "e"):
            outages += [
                silent(device, at(day, hour), chance.choice((70, 90, 400, 3000)))
                for hour in chance.sample(range(23), chance.randrange(3))
            ]
    return outages, traffic, links, servers, devices


def test_five_weeks_are_what_plain_python_makes_of_them(spark: SparkSession) -> None:
    """P4: row for row; P3: a day alone is the same as among others."""
    rows = history(random.Random(5))
    whole = pa.Table.from_pylist(
        [dict(zip(bare(ANOMALIES).names, each, strict=True)) for each in oracle.anomalies(*rows)],
        bare(ANOMALIES),
    )
    assert set(whole["kind"].to_pylist()) == set(oracle.LEAST)
    assert database.differences(whole, computed(ANOMALIES, found(spark, *rows))) == []
    day = max(whole["date"].to_pylist())
    first = day - timedelta(days=anomalies.LOOKBACK_DAYS)
    near = [[row for row in some if first <= row["date"] <= day] for some in rows]
    of_day = pc.field("date") == day
    alone = computed(ANOMALIES, found(spark, *near)).filter(of_day)
    assert whole.filter(of_day).num_rows > 0
    assert database.differences(whole.filter(of_day), alone) == []
