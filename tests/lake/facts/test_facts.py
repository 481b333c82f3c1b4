"""Facts of a whole dataset, row by row as DuckDB finds them, and day by day (P3)."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

from rookery.lake.engine.delta import Lake
from rookery.lake.engine.spark_tables import SparkTables
from rookery.lake.facts import edges, hours, link_hours, link_samples, rates, uptime
from rookery.lake.schema import clean, facts, landing
from rookery.lake.schema.catalog import BY_PATH
from rookery.lake.schema.table import Table
from tests.lake.oracle import clean as clean_oracle
from tests.lake.oracle import database
from tests.lake.oracle import edges as edges_oracle
from tests.lake.oracle import hours as hours_oracle
from tests.lake.oracle import links as links_oracle
from tests.lake.oracle import rates as rates_oracle
from tests.lake.oracle import uptime as uptime_oracle
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

TRANSFORMS: dict[str, tuple[Callable[..., DataFrame], str]] = {
    "device_rates": (rates.device_rates, rates_oracle.sql()),
    "uptime_intervals": (uptime.uptime_intervals, uptime_oracle.sql()),
    "link_samples": (link_samples.link_samples, links_oracle.samples_sql()),
    "link_hours": (link_hours.link_hours, links_oracle.hours_sql()),
    "topology_edges": (edges.topology_edges, edges_oracle.sql()),
    "device_hours": (hours.device_hours, hours_oracle.sql("device_hours")),
    "server_hours": (hours.server_hours, hours_oracle.sql("server_hours")),
    "call_hours": (hours.call_hours, hours_oracle.sql("call_hours")),
    "sessions": (hours.sessions, hours_oracle.sessions_sql()),
    "request_hours": (hours.request_hours, hours_oracle.sql("request_hours")),
    "message_hours": (hours.message_hours, hours_oracle.sql("message_hours")),
    "decision_hours": (hours.decision_hours, hours_oracle.sql("decision_hours")),
    "security_hours": (hours.security_hours, hours_oracle.sql("security_hours")),
}
LOOKBACK_DAYS = {
    "device_rates": rates.LOOKBACK_DAYS,
    "uptime_intervals": uptime.LOOKBACK_DAYS,
    "topology_edges": edges.LOOKBACK_DAYS,
}


class Facts:
    """Clean rows and facts of a dataset, all by DuckDB, as a lake of their own."""

    def __init__(self, spark: SparkSession, world: SyntheticWorld, folder: Path) -> None:
        self.lake = Lake(str(folder / "lake"))
        self._tables = SparkTables(spark, self.lake)
        self.expected: dict[str, pa.Table] = {}
        found = {table.path: world.lake.dataset(table) for table in landing.TABLES}
        connection = database.opened(found)
        for table in clean.TABLES:
            self._add(connection, table, clean_oracle.sql(table.name))
        for name, (_, sql) in TRANSFORMS.items():
            self._add(connection, BY_PATH[f"facts/{name}"], sql)

    def _add(self, connection: duckdb.DuckDBPyConnection, table: Table, sql: str) -> None:
        rows = database.rows(connection, table, sql)
        database.add(connection, table.path, rows)
        self.expected[table.path] = rows
        self.lake.append(table, rows, [], {})

    def computed(self, table: Table, dates: set[date] | None = None) -> DataFrame:
        """By Spark, from sources of all dates or of some."""
        transform, _ = TRANSFORMS[table.name]
        sources = [self._tables.read(BY_PATH[path], dates) for path in table.sources]
        return transform(*sources)


@pytest.fixture(scope="module")
def known(
    spark: SparkSession, synthetic: SyntheticWorld, tmp_path_factory: pytest.TempPathFactory
) -> Facts:
    return Facts(spark, synthetic, tmp_path_factory.mktemp("facts"))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_facts_of_a_history_are_those_that_duckdb_finds(known: Facts, name: str) -> None:
    """Row by row, with resets, wraps, clones, outages and dead links."""
    table = BY_PATH[f"facts/{name}"]
    found = known.computed(table)
    types = [(each.name, each.dataType.simpleString()) for each in found.schema]
    assert types == [(each.name, each.dataType.simpleString()) for each in table.struct]
    assert database.differences(known.expected[table.path], found.toArrow()) == []
    assert known.expected[table.path].num_rows > 0


def test_the_history_has_what_rates_are_about(known: Facts) -> None:
    rows, intervals = (
        known.expected[table.path] for table in (facts.DEVICE_RATES, facts.UPTIME_INTERVALS)
    )
    assert pc.sum(rows["is_reset"]).as_py() > 0
    assert pc.sum(rows["is_wrapped"]).as_py() > 0
    assert pc.sum(intervals["is_continued"]).as_py() > 0


@pytest.mark.parametrize("name", LOOKBACK_DAYS)
def test_a_day_that_is_computed_alone_is_the_same_as_among_all(known: Facts, name: str) -> None:
    """P3: late data recompute days, not the past."""
    table = BY_PATH[f"facts/{name}"]
    expected = known.expected[table.path]
    day = sorted(set(expected["date"].to_pylist()))[1]
    read = {day - timedelta(days=back) for back in range(LOOKBACK_DAYS[name] + 1)}
    found = known.computed(table, read).where(F.col("date") == F.lit(day)).toArrow()
    of_day = expected.filter(pc.equal(expected["date"], pa.scalar(day)))
    assert database.differences(of_day, found) == []
    assert of_day.num_rows > 0
