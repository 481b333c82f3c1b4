"""What interfaces carried, from counters that wrap, reset and belong to clones (P3)."""

from datetime import datetime

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts import rates
from rookery.lake.schema import clean
from tests.lake.frames import frame, noon

pytestmark = pytest.mark.xdist_group("spark")

WRAP = 1 << 32
DEVICE = "02:00:00:00:00:01"


def report(
    seconds: float, sequence: int | None, *received: int, **more: object
) -> dict[str, object]:
    """The counters of received bytes of as many interfaces."""
    interfaces = [
        (f"eth{number}", count, 10, count // 700, 10, 0, 0) for number, count in enumerate(received)
    ]
    at = noon(seconds)
    head = {"reporter": DEVICE, "boot": 1, "sequence": sequence, "at": at}
    return {**head, "interfaces": interfaces, **more}


def carried(
    spark: SparkSession, *reports: dict[str, object]
) -> list[tuple[str, int, int, int, str]]:
    """Of each row: interface, sequence, span in seconds, received bytes, what became of it."""
    found = rates.device_rates(frame(spark, clean.DEVICE_REPORTS, reports)).collect()
    marks = {(False, False): "", (True, False): "reset", (False, True): "wrapped"}
    return sorted(
        (
            row.interface,
            row.sequence,
            row.span_us // 1_000_000,
            row.received_bytes,
            marks[row.is_reset, row.is_wrapped],
        )
        for row in found
    )


def test_a_rate_is_what_a_counter_grew_by_since_the_sample_before(spark: SparkSession) -> None:
    """An interface that a report leaves out is compared with its last sample, not with nothing."""
    rows = frame(
        spark,
        clean.DEVICE_REPORTS,
        [
            report(20, 3, 5000, 9000),
            report(0, 1, 1000, 2000),
            report(10, 2, 1700),
            report(30, 4, 5000),
        ],
    )
    found = rates.device_rates(rows)

    def row(name: str, sequence: int, since: datetime, at: datetime, *deltas: int) -> object:
        span_us = int((at - since).total_seconds()) * 1_000_000
        received, packets = deltas
        counters = (received, 0, packets, 0, 0, 0)
        head = (DEVICE, 1, name, sequence, since, at, span_us)
        return (*head, *counters, False, False, at.date())

    expected = [
        row("eth0", 2, noon(), noon(10), 700, 1),
        row("eth0", 3, noon(10), noon(20), 3300, 5),
        row("eth0", 4, noon(20), noon(30), 0, 0),
        row("eth1", 3, noon(), noon(20), 7000, 10),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, found.schema))


def test_a_counter_that_fell_has_wrapped_or_begun_again(spark: SparkSession) -> None:
    """P3: at 32 bits by half of them at most, and no other counter says otherwise."""
    high, half = WRAP - 100, WRAP // 2

    def interface(received: int, packets: int) -> dict[str, object]:
        return {"interfaces": [("eth0", received, 0, packets, 0, 0, 0)]}

    assert carried(
        spark,
        report(0, 1, **interface(high, 50)),
        report(10, 2, **interface(900, 60)),
        report(20, 3, **interface(400, 61)),
        report(30, 4, **interface(high, 70)),
        report(40, 5, **interface(900, 3)),
        report(50, 6, **interface(WRAP, 9)),
        report(60, 7, **interface(WRAP - 1, 10)),
        report(70, 8, **interface(half + 500, 20)),
        report(80, 9, **interface(500, 30)),
        report(90, 10, **interface(half + 499, 40)),
        report(100, 11, **interface(500, 50)),
    ) == [
        ("eth0", 2, 10, 1000, "wrapped"),
        ("eth0", 3, 10, 400, "reset"),
        ("eth0", 4, 10, high - 400, ""),
        ("eth0", 5, 10, 900, "reset"),
        ("eth0", 6, 10, WRAP - 900, ""),
        ("eth0", 7, 10, WRAP - 1, "reset"),
        ("eth0", 8, 10, half + 500, "reset"),
        ("eth0", 9, 10, half, "wrapped"),
        ("eth0", 10, 10, half - 1, ""),
        ("eth0", 11, 10, 500, "reset"),
    ]


def test_starts_of_a_device_and_its_clone_are_series_of_their_own(spark: SparkSession) -> None:
    assert carried(
        spark,
        *(report(10 * n, n + 1, 1000 * n, boot=1) for n in range(3)),
        *(report(10 * n + 5, n + 1, 50 * n, boot=2) for n in range(3)),
    ) == [
        ("eth0", 2, 10, 50, ""),
        ("eth0", 2, 10, 1000, ""),
        ("eth0", 3, 10, 50, ""),
        ("eth0", 3, 10, 1000, ""),
    ]


def test_samples_that_a_clock_put_among_others_are_passed_over(spark: SparkSession) -> None:
    """The clock is put back behind the second one by 25 s; nothing is counted twice."""
    assert carried(
        spark,
        report(20, 1, 100),
        report(30, 2, 200),
        report(15, 3, 300),
        report(25, 4, 400),
        report(35, 5, 500),
        report(45, 6, 600),
    ) == [("eth0", 4, 10, 100, ""), ("eth0", 5, 10, 100, ""), ("eth0", 6, 10, 100, "")]


def test_samples_that_are_off_by_more_than_an_hour_are_no_strays(spark: SparkSession) -> None:
    assert carried(
        spark,
        *(report(0, 2, 200, boot=boot) for boot in (1, 2)),
        report(3600, 1, 100, boot=1),
        report(3610, 3, 300, boot=1),
        report(3601, 1, 100, boot=2),
        report(3611, 3, 300, boot=2),
    ) == [("eth0", 3, 10, 200, ""), ("eth0", 3, 3610, 100, "")]


def test_what_is_too_long_ago_too_much_or_unnumbered_makes_no_row(spark: SparkSession) -> None:
    hour_s = 3600
    assert carried(
        spark,
        report(0, 1, 0),
        report(23 * hour_s, 2, 1),
        report(46 * hour_s + 1, 3, 2),
        report(46 * hour_s + 2, 4, 2 + rates.A_SECOND_MAX),
        report(46 * hour_s + 3, 5, 3 + 2 * rates.A_SECOND_MAX),
        report(0, None, 7, boot=9),
        report(1, None, 8, boot=9),
        report(0, 1, boot=10, interfaces=None),
    ) == [("eth0", 2, 23 * hour_s, 1, ""), ("eth0", 4, 1, rates.A_SECOND_MAX, "")]
