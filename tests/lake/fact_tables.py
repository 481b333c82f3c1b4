"""Facts of a landed dataset, by DuckDB alone, and insights as tables to compare."""

from collections.abc import Mapping
from functools import cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from rookery.lake.engine.delta import Lake
from rookery.lake.schema import clean, facts, insights, landing
from rookery.lake.schema.table import Table
from tests.lake.oracle import clean as clean_oracle
from tests.lake.oracle import database, edges, hours, links, rates, uptime


@cache
def facts_of(url: str) -> Mapping[str, pa.Table]:
    """What insights follow from, by path: facts, and the clean enrolments."""
    lake = Lake(url)
    connection = database.opened({each.path: lake.dataset(each) for each in landing.TABLES})
    for table in (
        clean.DEVICE_REPORTS,
        clean.LINK_SAMPLES,
        clean.RECORD_CHANGES,
        clean.SERVER_REPORTS,
        clean.ENROLMENTS,
    ):
        rows = database.rows(connection, table, clean_oracle.sql(table.name))
        database.add(connection, table.path, rows)
    found = {}
    for table, sql in (
        (facts.DEVICE_RATES, rates.sql()),
        (facts.UPTIME_INTERVALS, uptime.sql()),
        (facts.LINK_SAMPLES, links.samples_sql()),
        (facts.LINK_HOURS, links.hours_sql()),
        (facts.TOPOLOGY_EDGES, edges.sql()),
        (facts.SERVER_HOURS, hours.sql("server_hours")),
        (facts.DEVICE_HOURS, hours.sql("device_hours")),
        (clean.ENROLMENTS, "FROM clean.enrolments"),
    ):
        found[table.path] = database.rows(connection, table, sql)
        if table.stage == "facts":
            database.add(connection, table.path, found[table.path])
    return found


def bare(table: Table) -> pa.Schema:
    """Columns of an insight without its lineage, which the pipeline adds."""
    return pa.schema([field for field in table.arrow if field.name != insights.LINEAGE.name])


def computed(table: Table, rows: DataFrame) -> pa.Table:
    """What Spark makes of it; its columns must be those of the table, in their order."""
    schema = bare(table)
    assert rows.columns == schema.names
    return rows.toArrow().cast(schema)


def expected(table: Table, sources: Mapping[str, pa.Table], sql: str) -> pa.Table:
    """What DuckDB makes of it."""
    connection = database.opened(sources)
    schema = bare(table)
    return connection.sql(sql).to_arrow_table().select(schema.names).cast(schema)


def spark_frame(spark: SparkSession, table: Table, rows: pa.Table) -> DataFrame:
    """Rows for Spark, in one chunk: it reads no further than to one that is empty."""
    return spark.createDataFrame(rows.combine_chunks().cast(table.arrow), table.struct)


def made(table: Table, rows: list[dict[str, object]]) -> pa.Table:
    """Rows of a table; what is not given is null."""
    return pa.Table.from_pylist(rows, bare(table))
