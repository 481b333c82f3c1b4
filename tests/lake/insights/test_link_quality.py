"""What links are like at each hour of the week (P4)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts.histogram import BOUNDS
from rookery.lake.insights.link_quality import link_quality
from rookery.lake.schema.facts import LINK_HOURS
from rookery.lake.schema.insights import LINK_QUALITY
from tests.lake.fact_tables import computed, expected, facts_of, made, spark_frame
from tests.lake.oracle import database
from tests.lake.oracle import link_quality as oracle
from tests.lake.oracle.links import bucket
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

MONDAY = datetime(2026, 3, 2, 5, tzinfo=UTC)


def hour(
    week: int, rtt_us: dict[int, int], lost_ppm: int, up: int, **more: object
) -> dict[str, object]:
    """So many samples of each round trip."""
    count = sum(rtt_us.values())
    steps = sorted({bucket(each): some for each, some in rtt_us.items()}.items())
    at = MONDAY + timedelta(weeks=week)
    return {
        "realm": "r",
        "node": "a",
        "peer": "b",
        "hour": at,
        "samples": count,
        "up_samples": up,
        "rtt_samples": count,
        "rtt_histogram": [{"bucket": one, "count": some} for one, some in steps],
        "loss_samples": count,
        "loss_ppm_sum": lost_ppm,
        "date": at.date(),
        **more,
    }


def test_weeks_add_up_and_a_quantile_is_the_top_of_its_step(spark: SparkSession) -> None:
    """Of 100 samples 60 are of 1 ms and 5 of 100 ms: the 95th is one of 10 ms, the 99th is not."""
    rows = [
        hour(0, {1_000: 30, 10_000: 20}, lost_ppm=0, up=50),
        hour(1, {1_000: 30, 10_000: 15, 100_000: 5}, lost_ppm=1_000_000, up=45),
        hour(0, {}, 0, 0, realm=None, samples=4, loss_samples=0, loss_ppm_sum=None),
    ]
    found = link_quality(spark_frame(spark, LINK_HOURS, made(LINK_HOURS, rows)))
    top = {each: BOUNDS[bucket(each) + 1] - 1 for each in (1_000, 10_000, 100_000)}
    known = [
        ("r", "a", "b", 5, 2, 100, top[1_000], top[10_000], top[100_000], 0.01, 0.95),
        (None, "a", "b", 5, 1, 4, None, None, None, None, 0.0),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(known, found.schema), rtol=0, atol=0)
    for true, estimated in top.items():
        assert true <= estimated < 1.05 * true


def test_a_history_is_what_duckdb_makes_of_it(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: row for row."""
    facts = facts_of(synthetic.lake.url)
    found = computed(
        LINK_QUALITY, link_quality(spark_frame(spark, LINK_HOURS, facts[LINK_HOURS.path]))
    )
    known = expected(LINK_QUALITY, facts, oracle.sql())
    assert known.num_rows > 0
    assert database.differences(known, found) == []
