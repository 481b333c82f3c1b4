"""What failed together, from tables to a table (P4)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from rookery.lake.insights import availability
from rookery.lake.insights.incident_groups import IncidentMember
from rookery.lake.insights.incidents import incidents
from rookery.lake.insights.places import places
from rookery.lake.schema.clean import ENROLMENTS
from rookery.lake.schema.facts import UPTIME_INTERVALS
from rookery.lake.schema.insights import (
    ANOMALIES,
    CRITICAL_ELEMENTS,
    INCIDENTS,
    OUTAGES,
    PLACES,
)
from tests.lake.fact_tables import computed, expected, facts_of, made, spark_frame
from tests.lake.oracle import availability as availability_oracle
from tests.lake.oracle import incident_groups as oracle
from tests.lake.oracle import places as places_oracle
from tests.lake.synthetic_world import SyntheticWorld

pytestmark = pytest.mark.xdist_group("spark")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def out(device: str, from_min: int, to_min: int) -> dict[str, object]:
    return {
        "device": device,
        "from_at": NOON + timedelta(minutes=from_min),
        "to_at": NOON + timedelta(minutes=to_min),
        "lasted_us": 60_000_000 * (to_min - from_min),
        "is_reboot": False,
        "is_open": False,
        "date": NOON.date(),
    }


def unusual(kind: str, entity: str, hour: int, **columns: str) -> dict[str, object]:
    at = NOON + hour * HOUR
    return {
        "kind": kind,
        "entity": entity,
        "from_at": at,
        "to_at": at + HOUR,
        "date": at.date(),
        **columns,
    }


def place(
    reporter: str, hashname: str, site: str | None, kind: str = "router"
) -> dict[str, object]:
    return {"reporter": reporter, "kind": kind, "hashname": hashname, "site": site}


def together(spark: SparkSession, *rows: list[dict[str, object]]) -> DataFrame:
    tables = (OUTAGES, ANOMALIES, CRITICAL_ELEMENTS, PLACES)
    frames = [
        spark.createDataFrame(made(table, some)) for table, some in zip(tables, rows, strict=True)
    ]
    return incidents(*frames)


def test_a_relay_takes_its_links_and_its_site_with_it(spark: SparkSession) -> None:
    """The relay was an articulation point at eleven; what goes on at a server is another matter."""
    outages = [out("relay", 1, 50), out("beside", 2, 50), out("beside", 200, 210)]
    anomalies = [
        unusual("silence", "relay", 0, device="relay"),
        unusual("loss", "r/relay/leaf", 0, node="relay", peer="leaf hash", realm="r"),
        unusual("rtt", "r/leaf hash/x", 1, node="leaf hash", peer="x hash", realm="r"),
        unusual("load", "server", 0, device="server"),
    ]
    critical = [
        {
            "realm": "r",
            "hour": NOON - HOUR,
            "kind": "node",
            "a": "relay hash",
            "b": "",
            "cut_off": 1,
            "nodes": ["leaf hash"],
            "date": NOON.date(),
        }
    ]
    known_places = [
        place("relay", "relay hash", "192.0.2.0/24"),
        place("beside", "beside hash", "192.0.2.0/24"),
        place("server", "server hash", "198.51.100.0/24", kind="server"),
    ]
    found = together(spark, outages, anomalies, critical, known_places).drop("id")
    day, site = NOON.date(), ["192.0.2.0/24"]
    names = ["loss r/relay/leaf", "outage beside", "outage relay", "rtt r/leaf hash/x"]
    cause = ("articulation point", "relay")
    late = NOON + timedelta(minutes=200)
    end = late + timedelta(minutes=10)
    rows = [
        ("outage", NOON, NOON + 2 * HOUR, 4, names, site, "r/relay/leaf", "loss", *cause, day),
        ("outage", late, end, 1, ["outage beside"], site, "beside", "outage", "unknown", None, day),
        (
            "overload",
            NOON,
            NOON + HOUR,
            1,
            ["load server"],
            ["198.51.100.0/24"],
            "server",
            "load",
            "server",
            "server",
            day,
        ),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(rows, found.schema))


def test_a_link_is_at_no_site_and_a_server_is_no_mesh_node(spark: SparkSession) -> None:
    """Four that happen at once, and have nothing to do with each other."""
    anomalies = [
        unusual("loss", "r/far/x", 0, node="far", peer="x hash", realm="r"),
        unusual("rtt", "r/y/server", 0, node="y", peer="server hash", realm="r"),
        unusual("load", "server", 0, device="server"),
    ]
    known_places = [
        place("far", "far hash", "192.0.2.0/24"),
        place("beside", "beside hash", "192.0.2.0/24"),
        place("server", "server hash", "198.51.100.0/24", kind="server"),
    ]
    found = together(spark, [out("beside", 1, 50)], anomalies, [], known_places).collect()
    assert sorted(row.entities for row in found) == [
        ["load server"],
        ["loss r/far/x"],
        ["outage beside"],
        ["rtt r/y/server"],
    ]


def test_sites_that_lost_power_are_found_in_a_history(
    spark: SparkSession, synthetic: SyntheticWorld
) -> None:
    """P4: groups are those that pairs make, and each cut that was planted is one of them."""
    facts = facts_of(synthetic.lake.url)
    outages = availability.outages(
        spark_frame(spark, UPTIME_INTERVALS, facts[UPTIME_INTERVALS.path])
    )
    known_places = places(spark_frame(spark, ENROLMENTS, facts[ENROLMENTS.path]))
    anomalies = spark.createDataFrame([], ANOMALIES.struct)
    critical = spark.createDataFrame([], CRITICAL_ELEMENTS.struct)
    grouped = incidents(outages, anomalies, critical, known_places)
    found = computed(INCIDENTS, grouped).to_pylist()
    known = expected(OUTAGES, facts, availability_oracle.outages_sql()).to_pylist()
    where = {row["reporter"]: row for row in facts[ENROLMENTS.path].to_pylist()}
    groups = oracle_groups(known, where)
    assert sorted((row["from_at"], row["to_at"], row["members"]) for row in found) == sorted(groups)
    for planted in synthetic.truth.incidents():
        names = {f"outage {device}" for device in planted.devices}
        [cut] = [
            row
            for row in found
            if row["from_at"] < planted.to_at
            and row["to_at"] > planted.from_at
            and names <= set(row["entities"])
        ]
        assert cut["cause"] == "site"
        [only] = {places_oracle.site(where[each]["address"]) for each in planted.devices}
        assert cut["cause_entity"] == only


def oracle_groups(
    outages: list[dict[str, object]], where: dict[str, dict[str, str]]
) -> list[tuple[datetime, datetime, int]]:
    found = []
    for day in {row["date"] for row in outages}:
        members = []
        for row in (each for each in outages if each["date"] == day):
            known = where[str(row["device"])]
            from_at, to_at = row["from_at"], row["to_at"]
            assert isinstance(from_at, datetime)
            assert isinstance(to_at, datetime)
            nodes, site = (known["hashname"],), places_oracle.site(known["address"])
            name, is_reboot = str(row["device"]), bool(row["is_reboot"])
            members.append(IncidentMember(from_at, "outage", name, to_at, nodes, site, is_reboot))
        found += [
            (min(e.from_at for e in group), max(e.to_at for e in group), len(group))
            for group in oracle.groups(members)
        ]
    return found
