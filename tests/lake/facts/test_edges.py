"""Links of a mesh that both ends claim, and for how long (P3)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.facts import edges
from rookery.lake.schema import clean, facts
from tests.lake.frames import NOON, frame, noon

pytestmark = pytest.mark.xdist_group("spark")

MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)
HOUR_S = 3600


def record(
    seconds: float, realm: str, node: str, number: int, *links: tuple[str, int], **more: object
) -> dict[str, object]:
    sender = {"realm": realm, "node": node, "epoch": 1, "number": number, "lifetime_s": HOUR_S}
    return {**sender, "at": noon(seconds), "links": list(links), "is_withdrawn": False, **more}


def test_an_edge_lasts_while_both_ends_claim_it(spark: SparkSession) -> None:
    """Each realm is a case of its own."""
    rows = [
        # Renewed at the same cost, then at another, then not at all.
        record(0, "renewed", "a", 1, ("b", 5), ("z", 9)),
        record(600, "renewed", "a", 2, ("b", 5)),
        record(900, "renewed", "a", 3, ("b", 6)),
        record(60, "renewed", "b", 1, ("a", 7), lifetime_s=7200),
        # Claimed by one end only, and by a node of itself.
        record(0, "one end", "a", 1, ("b", 5), ("a", 1)),
        record(0, "one end", "b", 1),
        # A goodbye, and an observer that heard of the record after it.
        record(0, "goodbye", "a", 1, ("b", 5)),
        record(0, "goodbye", "b", 1, ("a", 5)),
        record(100, "goodbye", "b", 1, ("a", 5), is_withdrawn=True),
        record(200, "goodbye", "b", 1, ("a", 5)),
        # An older record that comes late, and a new life with smaller numbers.
        record(0, "late", "a", 9, ("b", 5)),
        record(0, "late", "b", 2, ("a", 5)),
        record(10, "late", "b", 1),
        record(50, "late", "b", 1, ("a", 8), epoch=2),
        # Two links to one peer: the cheaper one.
        record(0, "two", "a", 1, ("b", 5), ("b", 3)),
        record(0, "two", "b", 1, ("a", 4)),
    ]
    found = edges.topology_edges(frame(spark, clean.RECORD_CHANGES, rows))
    day = NOON.date()
    expected = [
        ("renewed", "a", "b", noon(60), noon(900), 5, 7, day),
        ("renewed", "a", "b", noon(900), noon(900 + HOUR_S), 6, 7, day),
        ("goodbye", "a", "b", noon(0), noon(100), 5, 5, day),
        ("late", "a", "b", noon(0), noon(50), 5, 5, day),
        ("late", "a", "b", noon(50), noon(HOUR_S), 5, 8, day),
        ("two", "a", "b", noon(0), noon(HOUR_S), 3, 4, day),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.TOPOLOGY_EDGES.struct))


def test_an_edge_is_cut_at_midnight_and_no_record_holds_longer_than_a_day(
    spark: SparkSession,
) -> None:
    week_s = 7 * 86_400
    rows = [
        record(0, "r", "a", 1, ("b", 5), lifetime_s=week_s),
        record(0, "r", "b", 1, ("a", 5), lifetime_s=week_s),
    ]
    found = edges.topology_edges(frame(spark, clean.RECORD_CHANGES, rows))
    next_noon = NOON + timedelta(days=1)
    expected = [
        ("r", "a", "b", NOON, MIDNIGHT, 5, 5, NOON.date()),
        ("r", "a", "b", MIDNIGHT, next_noon, 5, 5, MIDNIGHT.date()),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, facts.TOPOLOGY_EDGES.struct))
