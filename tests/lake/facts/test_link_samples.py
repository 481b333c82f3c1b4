"""Mesh links in one shape, and their hours (P3)."""

import random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its usual name)
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts import histogram, link_hours, link_samples
from rookery.lake.schema import clean, facts
from tests.lake.frames import NOON, frame, noon
from tests.lake.oracle import links as oracle

pytestmark = pytest.mark.xdist_group("spark")

HEAD = {"reporter": "02:00:00:00:00:01", "boot": 1, "sequence": 2, "at": NOON}


def test_links_of_devices_and_of_nodes_have_one_shape(spark: SparkSession) -> None:
    measured = [("p", "udp4", 1.2345, 0.25, 8.0), ("q", "tcp4", 0.0005, 1.0, 0.0)]
    reports = frame(spark, clean.DEVICE_REPORTS, [{**HEAD, "links": measured}, HEAD])
    known = {
        "rtt_ms": 2.0,
        "jitter_ms": 0.25,
        "loss_in": 0.1,
        "loss_out": 0.2,
        "rate_kbps": 0.0,
        "cost_us": 2100,
    }
    place = {**HEAD, "realm": "r", "node": "n", "peer": "p", "path": "udp4"}
    samples = [{**place, **known, "is_up": True}, {**place, "loss_in": 1.0, "is_up": False}]
    found = link_samples.link_samples(reports, frame(spark, clean.LINK_SAMPLES, samples))
    device_id = HEAD["reporter"]
    head = (device_id, 1, 2)
    n = None
    day = NOON.date()
    expected = [
        (*head, 0, NOON, "", device_id, "p", "udp4", 1235, n, n, n, 250_000, 8000, n, True, day),
        (*head, 1, NOON, "", device_id, "q", "tcp4", 1, n, n, n, 1_000_000, n, n, False, day),
        (
            *head,
            0,
            NOON,
            "r",
            "n",
            "p",
            "udp4",
            2000,
            250,
            100_000,
            200_000,
            200_000,
            0,
            2100,
            True,
            day,
        ),
        (*head, 0, NOON, "r", "n", "p", "udp4", n, n, 1_000_000, n, 1_000_000, n, n, False, day),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.LINK_SAMPLES.struct))


def sample(seconds: float, rtt_us: int | None, **more: object) -> dict[str, object]:
    return {"realm": "r", "node": "n", "peer": "p", "at": noon(seconds), "rtt_us": rtt_us, **more}


def test_an_hour_of_a_link_is_sums_and_a_histogram_of_round_trips(spark: SparkSession) -> None:
    rows = [
        sample(0, 1000, is_up=True, loss_ppm=5, rate_bps=7, cost_us=1, jitter_us=3),
        sample(3599.999, 1001, is_up=True, loss_ppm=9, rate_bps=6, cost_us=2),
        sample(1, 2000, is_up=True),
        sample(2, None, is_up=False, loss_ppm=1_000_000),
        sample(3600, None, is_up=False),
        sample(0, 5, peer="q", is_up=True),
    ]
    found = link_hours.link_hours(frame(spark, facts.LINK_SAMPLES, rows))
    day, n = NOON.date(), None
    low, high = oracle.bucket(1000), oracle.bucket(2000)
    assert oracle.bucket(1001) == low
    expected = [
        (
            "r",
            "n",
            "p",
            NOON,
            4,
            3,
            3,
            4001,
            1000,
            2000,
            [(low, 2), (high, 1)],
            1,
            3,
            3,
            1_000_014,
            1_000_000,
            7,
            2,
            3,
            2,
            day,
        ),
        ("r", "n", "p", noon(3600), 1, 0, 0, n, n, n, [], 0, n, 0, n, n, n, 0, n, n, day),
        (
            "r",
            "n",
            "q",
            NOON,
            1,
            1,
            1,
            5,
            5,
            5,
            [(oracle.bucket(5), 1)],
            0,
            n,
            0,
            n,
            n,
            n,
            0,
            n,
            n,
            day,
        ),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.LINK_HOURS.struct))


def test_buckets_are_exact_where_logarithms_are_not(spark: SparkSession) -> None:
    """At each bound, below and above it, up to a thousand years of µs; and at random."""
    chance = random.Random(5)
    bounds = [each for each in histogram.BOUNDS if each < 1 << 55]
    values = {0, *(max(each + shift, 0) for each in bounds for shift in (-1, 0, 1))}
    values |= {int(2 ** chance.uniform(0, 55)) for _ in range(1000)}
    rows = spark.createDataFrame([(value,) for value in sorted(values)], "value long")
    found = rows.select("value", histogram.bucket(F.col("value")).alias("bucket")).collect()
    assert [
        (row.value, row.bucket) for row in found if row.bucket != oracle.bucket(row.value)
    ] == []
