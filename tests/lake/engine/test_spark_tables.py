"""Spark writes, delta-rs commits, everybody reads (P1, P3)."""

from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.engine.delta import CommitClaim, ConflictError, Lake
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.schema.table import Column, Table

pytestmark = pytest.mark.xdist_group("spark")

COLUMNS = (Column("n", pa.int64(), "a number"), Column("date", pa.date32(), "a date"))
DATED = Table("facts", "dated", COLUMNS, ("n",), "for tests")
WHOLE = Table("insights", "whole", COLUMNS[:1], ("n",), "for tests", is_dated=False)
FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)


def test_a_commit_of_spark_is_a_delta_table_for_all(spark: SparkSession, lake: Lake) -> None:
    tables = SparkTables(spark, lake)
    both = spark.createDataFrame([(1, FIRST), (2, SECOND)], DATED.struct)
    written = tables.append(DATED, both, [CommitClaim("landing/x", None, 3)], {"run": "a"})
    assert written.rows == 2
    assert written.dates == {FIRST, SECOND}
    with pytest.raises(ConflictError):
        tables.append(DATED, both, [CommitClaim("landing/x", None, 3)], {"run": "a"})
    later = spark.createDataFrame([(3, SECOND)], DATED.struct)
    tables.replace(DATED, later, {SECOND}, [CommitClaim("landing/x", 3, 4)], {"run": "b"})
    assertDataFrameEqual(tables.read(DATED), [(1, FIRST), (3, SECOND)])
    assertDataFrameEqual(tables.read(DATED, {SECOND}), [(3, SECOND)])
    assert sorted(lake.dataset(DATED).to_table()["n"].to_pylist()) == [1, 3]
    lake.delta_table(DATED).optimize.compact()
    assertDataFrameEqual(tables.read(DATED), [(1, FIRST), (3, SECOND)])


def test_a_whole_table_is_replaced_and_an_absent_one_is_empty(
    spark: SparkSession, lake: Lake
) -> None:
    tables = SparkTables(spark, lake)
    assert tables.read(WHOLE).count() == 0
    for number in (1, 2):
        rows = spark.createDataFrame([(number,)], WHOLE.struct)
        assert tables.replace(WHOLE, rows, "all", [], {}).rows == 1
    assertDataFrameEqual(tables.read(WHOLE), [(2,)])


def test_texts_have_dictionaries_and_numbers_have_none(spark: SparkSession, lake: Lake) -> None:
    """Also those within lists: a dictionary of numbers costs time, and texts repeat themselves."""
    items = pa.list_(pa.struct([("name", pa.string()), ("size", pa.int64())]))
    columns = (Column("text", pa.string(), "a text"), Column("items", items, "more of them"))
    table = Table(
        "insights", "texts", (*COLUMNS[:1], *columns), ("n",), "for tests", is_dated=False
    )
    rows = [(number, "same", [("same", number)]) for number in range(1000)]
    SparkTables(spark, lake).append(table, spark.createDataFrame(rows, table.struct), [], {})
    group = pq.read_metadata(lake.files(table)[0]).row_group(0)
    chunks = [group.column(number) for number in range(group.num_columns)]
    found = {each.path_in_schema: each.has_dictionary_page for each in chunks}
    assert found == {
        "n": False,
        "text": True,
        "items.list.element.name": True,
        "items.list.element.size": False,
    }
