"""Incidents: what failed together; see `incident_groups` for what that means.

A day's outages and anomalies are few, so that they are brought together in one process.
"""

from datetime import date

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)
from pyspark.sql.types import StructType

from rookery.lake.insights import incident_groups
from rookery.lake.insights.incident_groups import IncidentMember, IncidentWeakness
from rookery.lake.schema import insights

LOOKBACK_DAYS = 0  # outages and anomalies are cut at midnight
LOOKAHEAD_DAYS = 0

MEMBERS_MAX = 200_000  # of a day; those that began first are looked at

_MEMBER = ("from_at", "kind", "entity", "to_at", "node_a", "node_b", "site", "is_reboot")


def incidents(
    outages: DataFrame, anomalies: DataFrame, critical: DataFrame, places: DataFrame
) -> DataFrame:
    """`insights/incidents` from its sources, in the order that the table names them."""
    table = insights.INCIDENTS
    schema = pa.schema([field for field in table.arrow if field.name != insights.LINEAGE.name])
    struct = StructType([field for field in table.struct if field.name != insights.LINEAGE.name])

    def grouped(key: tuple[pa.Scalar, ...], members: pa.Table, weak: pa.Table) -> pa.Table:
        day: date = key[0].as_py()
        found = incident_groups.incidents(day, _members(members), _weaknesses(weak))
        return pa.Table.from_pylist([{**each._asdict(), "date": day} for each in found], schema)

    members = _placed(outages, anomalies, places)
    weak = critical.select("date", "hour", "a", "b")
    return members.groupBy("date").cogroup(weak.groupBy("date")).applyInArrow(grouped, struct)


def _placed(outages: DataFrame, anomalies: DataFrame, places: DataFrame) -> DataFrame:
    """Outages and anomalies with hashnames and sites; silences are there as outages already."""
    nothing = F.lit(None).cast("string")
    members = outages.select(
        "date",
        "from_at",
        F.lit("outage").alias("kind"),
        F.col("device").alias("entity"),
        "to_at",
        "device",
        nothing.alias("peer"),
        "is_reboot",
    ).unionByName(
        anomalies.filter("kind <> 'silence'").select(
            "date",
            "from_at",
            "kind",
            "entity",
            "to_at",
            F.coalesce("device", "node").alias("device"),
            "peer",
            F.lit(False).alias("is_reboot"),
        )
    )
    known = places.select(F.col("reporter").alias("device"), "hashname", "site", "kind")
    is_device = F.coalesce(F.col("known.kind") == "router", F.lit(False))
    # A node that measured has its hashname already, unless a device reported for it.
    node = F.when(F.col("members.peer").isNotNull(), F.coalesce("hashname", "members.device"))
    return (
        members.alias("members")
        .join(F.broadcast(known.alias("known")), "device", "left")
        .select(
            "date",
            "from_at",
            "members.kind",
            "entity",
            "to_at",
            F.coalesce(node, F.when(is_device, F.col("hashname"))).alias("node_a"),
            F.col("peer").alias("node_b"),
            F.when(F.col("peer").isNull(), F.col("site")).alias("site"),
            "is_reboot",
        )
    )


def _members(rows: pa.Table) -> list[IncidentMember]:
    order = [(name, "ascending") for name in _MEMBER[:4]]
    first = rows.sort_by(order).slice(0, MEMBERS_MAX)
    columns = (first[name].to_pylist() for name in _MEMBER)
    return [
        IncidentMember(
            from_at, kind, entity, to_at, tuple(each for each in (a, b) if each), site, is_reboot
        )
        for from_at, kind, entity, to_at, a, b, site, is_reboot in zip(*columns, strict=True)
    ]


def _weaknesses(rows: pa.Table) -> list[IncidentWeakness]:
    columns = (rows[name].to_pylist() for name in ("hour", "a", "b"))
    return [
        IncidentWeakness(hour, tuple(each for each in (a, b) if each))
        for hour, a, b in zip(*columns, strict=True)
    ]
