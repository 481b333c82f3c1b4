"""P1: Spark reads what delta-rs compacted, row by row what it was before."""

from datetime import date

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.engine import damaged_files, maintenance
from rookery.lake.engine.delta import Lake
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.landing.batch import LandingBatch
from rookery.lake.landing.row_kinds import TABLES
from rookery.lake.schema import clean
from rookery.lake.schema.catalog import BY_PATH
from tests.lake import spools

pytestmark = pytest.mark.xdist_group("spark")

DAY_MS = 86_400_000
KINDS = (1, 8, 11)  # with lists of structs, lists of text, and bytes
FIRST, SECOND = date(2026, 11, 4), date(2026, 11, 5)


def fill(lake: Lake) -> None:
    """Clean tables in small files, of two dates."""
    for turn in range(4):
        batch = LandingBatch("hub", FIRST)
        received_ms = spools.RECEIVED_MS + turn % 2 * DAY_MS
        records = [spools.record(kind, received_ms=received_ms) for kind in KINDS]
        batch.fill(enumerate(records, start=10 * turn), 100, 1 << 20)
        for table, rows in batch.tables():
            target = BY_PATH[f"clean/{table.name}"]
            index = target.arrow.get_field_index("clock_wrong")
            wrong = [[False] * rows.num_rows]
            lake.append(target, rows.add_column(index, target.arrow.field(index), wrong), [], {})


def test_compacted_tables_are_the_same_to_spark(spark: SparkSession, lake: Lake) -> None:
    fill(lake)
    tables = SparkTables(spark, lake)
    targets = [BY_PATH[f"clean/{TABLES[kind].name}"] for kind in KINDS]
    before = {table: tables.read(table).collect() for table in targets}
    done = maintenance.compact(lake)
    assert done == [maintenance.CompactionResult(table, removed=4, added=2) for table in targets]
    for table in targets:
        uris = lake.files(table)
        assert damaged_files.sound(uris, table) == (uris, [])
        assert not any("/data/" in uri for uri in uris)
        assertDataFrameEqual(tables.read(table), before[table])
    later = tables.read(clean.MESSAGES, {SECOND}).collect()
    assert [row["date"] for row in later] == [SECOND] * 2
