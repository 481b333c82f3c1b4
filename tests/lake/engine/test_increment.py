"""What is taken in bit by bit is the same as what is taken in at once (P1, P3)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.engine.pipeline import Pipeline
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.engine.step import LakeStep
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.schema.insights import LINEAGE
from rookery.lake.schema.table import TIMESTAMP
from rookery.lake.steps import STEPS
from tests.lake.oracle.database import differences
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

# Those that look beyond a day, and what they build on.
TABLES = (
    "clean/device_reports",
    "clean/record_changes",
    "facts/device_rates",
    "facts/uptime_intervals",
    "facts/topology_edges",
    "insights/outages",
    "insights/availability",
    "insights/traffic_minutes",
)
DEVICES = 6
KINDS = ("device_reports", "record_changes")


def test_two_runs_find_what_one_finds(
    spark: SparkSession, synthetic: SyntheticWorld, lake: Lake
) -> None:
    """Reports that come late, twice or from days before, in the middle of a day."""
    steps = [each for each in STEPS if each.target.path in TABLES]
    assert len(steps) == len(TABLES)
    start = datetime.combine(synthetic.dataset.start, datetime.min.time(), UTC)
    bounds = [start + timedelta(hours=hours) for hours in (0, 49, 24 * 400)]
    bit_by_bit, at_once = Lake(f"{lake.url}/bit-by-bit"), Lake(f"{lake.url}/at-once")
    for first, last in pairwise(bounds):
        land(synthetic, bit_by_bit, first, last)
        run(spark, bit_by_bit, steps)
    land(synthetic, at_once, bounds[0], bounds[-1])
    run(spark, at_once, steps)
    for path in TABLES:
        expected, found = (rows(each, path) for each in (at_once, bit_by_bit))
        assert expected.num_rows, path
        assert differences(expected, found) == [], path


def land(synthetic: SyntheticWorld, lake: Lake, first: datetime, last: datetime) -> None:
    """What was received between two moments, of a few devices."""
    for kind in KINDS:
        every = synthetic.rows(kind)
        received_at = every["received_at"]
        is_due = pc.and_(
            pc.greater_equal(received_at, pa.scalar(first, TIMESTAMP)),
            pc.less(received_at, pa.scalar(last, TIMESTAMP)),
        )
        if kind == "device_reports":
            few = pa.array(sorted(set(every["reporter"].drop_null().to_pylist()))[:DEVICES])
            is_due = pc.and_(is_due, pc.is_in(every["reporter"], few))
        table = BY_PATH[f"landing/{kind}"]
        since = lake.ingested_version(table, "history")
        lake.append(
            table, every.filter(is_due), [CommitClaim("history", since, (since or 0) + 1)], {}
        )


def run(spark: SparkSession, lake: Lake, steps: Sequence[LakeStep]) -> None:
    report = Pipeline(SparkTables(spark, lake), steps).run()
    assert report.is_ok, [each for each in report.steps if each.text]


def rows(lake: Lake, path: str) -> pa.Table:
    """Without the lineage, which is the runs' own."""
    found = lake.dataset(BY_PATH[path]).to_table()
    return found.drop_columns([LINEAGE.name]) if LINEAGE.name in found.column_names else found
