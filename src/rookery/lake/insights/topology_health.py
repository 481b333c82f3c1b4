"""Topology health: realms as graphs, hour by hour; see `realm_graph` for what is found in them.

A realm's hours of a day are processed together, in one process: mostly they are the same graph.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)
from pyspark.sql.types import StructType

from rookery.lake.insights.realm_graph import RealmGraph
from rookery.lake.schema import insights
from rookery.lake.schema.table import Table

LOOKBACK_DAYS = 0  # edges are cut at midnight
LOOKAHEAD_DAYS = 0

EDGES_MAX = 2_000_000  # of a realm's day; larger graphs are left out, to bound memory

_HOUR_US = 3_600_000_000

_Graph = tuple[frozenset[str], frozenset[tuple[str, str]]]
_Row = dict[str, object]


def topology_health(edges: DataFrame) -> DataFrame:
    """`insights/topology_health` from `facts/topology_edges`."""
    return _by_day(edges, insights.TOPOLOGY_HEALTH, _health_rows)


def critical_elements(edges: DataFrame) -> DataFrame:
    """`insights/critical_elements` from `facts/topology_edges`."""
    return _by_day(edges, insights.CRITICAL_ELEMENTS, _critical_rows)


def _by_day(edges: DataFrame, table: Table, rows: Callable[[RealmGraph], list[_Row]]) -> DataFrame:
    schema = pa.schema([field for field in table.arrow if field.name != insights.LINEAGE.name])
    struct = StructType([field for field in table.struct if field.name != insights.LINEAGE.name])

    def described(key: tuple[pa.Scalar, ...], day: pa.Table) -> pa.Table:
        head = {"realm": key[0].as_py(), "date": key[1].as_py()}
        found = _described(head, day, rows) if day.num_rows <= EDGES_MAX else []
        return pa.Table.from_pylist(found, schema)

    return _edge_hours(edges).groupBy("realm", "date").applyInArrow(described, struct)


def _edge_hours(edges: DataFrame) -> DataFrame:
    """Each edge in each hour that it held in, and whether it did so for at least half of it."""
    hour_us = F.unix_micros("hour")
    held = F.least(F.unix_micros("to_at"), hour_us + _HOUR_US) - F.greatest(
        F.unix_micros("from_at"), hour_us
    )
    hours = F.sequence(
        F.date_trunc("hour", "from_at"),
        F.date_trunc("hour", F.col("to_at") - F.expr("INTERVAL 1 MICROSECOND")),
        F.expr("INTERVAL 1 HOUR"),
    )
    return (
        edges.filter("to_at > from_at")
        .withColumn("hour", F.explode(hours))
        .groupBy("realm", F.to_date("hour").alias("date"), "hour", "a", "b")
        .agg((2 * F.sum(held) >= _HOUR_US).alias("is_held"))
    )


def _described(
    head: dict[str, str | date], day: pa.Table, rows: Callable[[RealmGraph], list[_Row]]
) -> list[_Row]:
    known: dict[_Graph, list[_Row]] = {}
    found: list[_Row] = []
    for hour, graph in _graphs(day):
        if graph not in known:
            known[graph] = rows(RealmGraph(*graph))
        found.extend({**row, **head, "hour": hour} for row in known[graph])
    return found


def _graphs(day: pa.Table) -> Iterator[tuple[datetime, _Graph]]:
    nodes: dict[datetime, set[str]] = {}
    edges: dict[datetime, set[tuple[str, str]]] = {}
    columns = (day[name].to_pylist() for name in ("hour", "a", "b", "is_held"))
    for hour, a, b, is_held in zip(*columns, strict=True):
        nodes.setdefault(hour, set()).update((a, b))
        if is_held:
            edges.setdefault(hour, set()).add((a, b))
    for hour, names in sorted(nodes.items()):
        yield hour, (frozenset(names), frozenset(edges.get(hour, ())))


def _health_rows(graph: RealmGraph) -> list[_Row]:
    return [graph.health()._asdict()]


def _critical_rows(graph: RealmGraph) -> list[_Row]:
    return [{**each._asdict(), "kind": "link" if each.b else "node"} for each in graph.critical()]
