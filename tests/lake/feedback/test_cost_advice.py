"""When links will be worse than they mostly are (P4, P5)."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.feedback.cost_advice import link_cost_advice
from rookery.lake.schema.facts import LINK_HOURS
from rookery.lake.schema.insights import LINK_COST_ADVICE
from tests.lake.fact_tables import computed, made, spark_frame
from tests.lake.oracle import cost_advice as oracle

pytestmark = pytest.mark.xdist_group("spark")

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY, WEEK = 24, 168


def sample(
    ends: str, hour: int, loss_ppm: int, rtt_us: int | None, samples: int = 12, **more: object
) -> dict[str, object]:
    at = MONDAY + hour * HOUR
    trips = 0 if rtt_us is None else samples
    return {
        "realm": "r",
        "node": ends[0],
        "peer": ends[1],
        "hour": at,
        "samples": samples,
        "up_samples": samples,
        "loss_samples": samples,
        "loss_ppm_sum": samples * loss_ppm,
        "rtt_samples": trips,
        "rtt_us_sum": trips * (rtt_us or 0),
        "date": at.date(),
        **more,
    }


def advice(spark: SparkSession, rows: list[dict[str, object]]) -> DataFrame:
    return link_cost_advice(spark_frame(spark, LINK_HOURS, made(LINK_HOURS, rows)))


def test_a_nightly_fade_is_seen_coming(spark: SparkSession) -> None:
    """Two weeks: from two to four every night half is lost; a device's own figures do not count."""
    hours = range(2 * WEEK + 1)
    fading = [sample("ba", hour, 50_000 if hour % DAY in (2, 3) else 0, 10_000) for hour in hours]
    steady = [sample("ac", hour, 20_000, 30_000) for hour in hours]
    devices = [sample("xy", hour, 500_000 * (hour % 2), 1, realm="") for hour in hours]
    trips = {9: 13_000, 11: 11_000, 13: 10_999}  # a tenth more is worth a word, less is not
    slow = [sample("bc", hour, 0, trips.get(hour % WEEK, 10_000)) for hour in hours]
    down = [
        sample("cd", hour, 0, None, up_samples=0) if hour % DAY == 5 else sample("cd", hour, 0, 1)
        for hour in hours
    ]
    found = advice(spark, [*fading, *steady, *devices, *slow, *down])
    now = MONDAY + 2 * WEEK * HOUR
    known = [
        ("r", "a", "b", now + 2 * HOUR, now + 4 * HOUR, 1.5, 0.5, 2, 48),
        ("r", "a", "b", now + 26 * HOUR, now + 28 * HOUR, 1.5, 0.5, 2, 48),
        ("r", "b", "c", now + 9 * HOUR, now + 10 * HOUR, 1.3, 0.5, 2, 24),
        ("r", "b", "c", now + 11 * HOUR, now + 12 * HOUR, 1.1, 0.5, 2, 24),
        ("r", "c", "d", now + 5 * HOUR, now + 6 * HOUR, 2.0, 0.5, 2, 24),
        ("r", "c", "d", now + 29 * HOUR, now + 30 * HOUR, 2.0, 0.5, 2, 24),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(known, found.schema), rtol=0, atol=0)


def test_weeks_are_what_plain_python_makes_of_them(spark: SparkSession) -> None:
    """P4: row for row, from both ends, with holes and links that are new."""
    chance = random.Random(2)
    rows: list[dict[str, object]] = []
    known: dict[oracle.Link, dict[int, oracle.Hour]] = {}
    for ends, first in (("ab", 0), ("bc", 3 * WEEK), ("cd", 4 * WEEK - 100)):
        for hour in range(first, 4 * WEEK + 30):
            if chance.random() < 0.2:
                continue
            is_bad = hour % DAY in (1, 2) and chance.random() < 0.8
            both = []
            for direction in (ends, ends[::-1]):
                loss = chance.randrange(30_000) + is_bad * chance.randrange(200_000)
                rtt = None if chance.random() < 0.1 else chance.randrange(8_000, 12_000)
                both.append((loss, rtt, chance.randint(1, 12), chance.randint(0, 1)))
                loss, rtt, samples, lost = both[-1]
                more = {"up_samples": samples - lost}
                rows.append(sample(direction, hour, loss, rtt, samples, **more))
            number = (MONDAY - EPOCH) // HOUR + hour
            known.setdefault(("r", *ends), {})[number] = together(both)
    found = computed(LINK_COST_ADVICE, advice(spark, rows)).to_pylist()
    numbered = {
        (
            *list(row.values())[:3],
            *((row[name] - EPOCH) // HOUR for name in ("from_at", "to_at")),
            *list(row.values())[5:],
        )
        for row in found
    }
    assert numbered == oracle.advice(known)
    assert {row["b"] for row in found} == {"b", "c", "d"}


def together(both: list[tuple[int, int | None, int, int]]) -> tuple[int, int | None, int]:
    samples = sum(some for _, _, some, _ in both)
    loss = sum(ppm * some for ppm, _, some, _ in both) // samples
    down = sum(lost for *_, lost in both) * 1_000_000 // samples
    trips = [(rtt, some) for _, rtt, some, _ in both if rtt is not None]
    count = sum(some for _, some in trips)
    rtt = sum(rtt * some for rtt, some in trips) // count if count else None
    return max(loss, down), rtt, samples
