"""Realms hour by hour (P4)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.insights.topology_health import critical_elements, topology_health
from rookery.lake.schema.facts import TOPOLOGY_EDGES
from rookery.lake.schema.insights import CRITICAL_ELEMENTS, TOPOLOGY_HEALTH
from tests.lake.fact_tables import computed, facts_of, made, spark_frame
from tests.lake.oracle import topology_health as oracle
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def edge(a: str, b: str, from_min: float, to_min: float) -> dict[str, object]:
    from_at, to_at = (NOON + timedelta(minutes=each) for each in (from_min, to_min))
    return {
        "realm": "r",
        "a": a,
        "b": b,
        "from_at": from_at,
        "to_at": to_at,
        "date": from_at.date(),
    }


def test_an_edge_counts_where_it_held_half_the_hour(spark: SparkSession) -> None:
    """At noon all are in a row, b-c for 30 minutes in two pieces; at one for 29: c is alone."""
    rows = [
        edge("a", "b", 0, 120),
        edge("b", "c", 20, 30),
        edge("b", "c", 40, 75),
        edge("b", "c", 90, 104),
    ]
    edges = spark_frame(spark, TOPOLOGY_EDGES, made(TOPOLOGY_EDGES, rows)).cache()
    found, day = topology_health(edges), NOON.date()
    one = NOON + timedelta(hours=1)
    known = [
        ("r", NOON, 3, 2, 1, 1, 2, 4 / 3, "b", 1.0, day),
        ("r", one, 3, 1, 2, 0, 1, 2 / 3, "a", 0.0, day),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(known, found.schema), rtol=0, atol=0)
    cut = critical_elements(edges)
    missed = [
        ("r", NOON, "node", "b", "", 1, ["c"], day),
        ("r", NOON, "link", "a", "b", 1, ["a"], day),
        ("r", NOON, "link", "b", "c", 1, ["c"], day),
        ("r", one, "link", "a", "b", 1, ["b"], day),
    ]
    assertDataFrameEqual(cut, spark.createDataFrame(missed, cut.schema))
    edges.unpersist()


def test_a_history_is_what_networkx_makes_of_it(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: row for row; and what was planted is what the realm hangs on."""
    rows = facts_of(synthetic.lake.url)[TOPOLOGY_EDGES.path]
    edges = spark_frame(spark, TOPOLOGY_EDGES, rows)
    graphs = oracle.graphs(rows.to_pylist())
    found = computed(TOPOLOGY_HEALTH, topology_health(edges)).to_pylist()
    assert {(row["realm"], row["hour"]): tuple(row.values())[2:-1] for row in found} == {
        key: oracle.health(graph) for key, graph in graphs.items()
    }
    assert len(found) == len(graphs)
    cut = computed(CRITICAL_ELEMENTS, critical_elements(edges)).to_pylist()
    assert sorted(tuple(row.values())[:-1] for row in cut) == sorted(
        (realm, hour, *each)
        for (realm, hour), graph in graphs.items()
        for each in oracle.critical(graph)
    )
    by_kind = {
        kind: {(row["realm"], row["a"], row["b"]) for row in cut if row["kind"] == kind}
        for kind in ("node", "link")
    }
    for realm, names in synthetic.truth.articulation_points().items():
        assert {(realm, name, "") for name in names} <= by_kind["node"]
    for realm, links in synthetic.truth.bridges().items():
        assert {(realm, *ends) for ends in links} <= by_kind["link"]
