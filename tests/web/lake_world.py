"""A small lake as the pipeline would leave it, written without Spark: two devices, three nodes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pyarrow as pa

from rookery.fleet.entry import server_id
from rookery.identity.hashname import hashname
from rookery.lake.engine.delta import CommitClaim, Lake
from rookery.lake.schema import facts, insights
from rookery.lake.schema.table import Table
from rookery.web.settings import WebSettings
from rookery.wire.fleet.mac import mac_text
from tests.web.world import SETTINGS

HOUR = timedelta(hours=1)
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
DAY = TODAY - timedelta(days=1)  # the day that most is known of
NOON = DAY + 12 * HOUR
RUN = "20260302T120000-c0ffee00"
SERVER = hashname({0x40: bytes(64)})
SERVER_ID = mac_text(server_id(SERVER))
ADA, BOB, CY = ("a" * 52, "b" * 52, "c" * 52)
REALM = "0712912fee4cf8a0"
DEVICE_MACS = ("02:fc:00:00:00:01", "02:fc:00:00:00:02")
HOSTILE = "<script>alert(1)</script>"

Rows = Sequence[Mapping[str, object]]


def append(lake: Lake, table: Table, rows: Rows, claims: Sequence[CommitClaim] = ()) -> None:
    """Columns without a value are null."""
    lineage = {"run": RUN, "inputs": "facts/x@1", "code": "0.1.0"}
    known = {column.name for column in table.columns}
    complete = [{"lineage": lineage, "date": DAY.date()} | dict(row) for row in rows]
    full = [{name: row.get(name) for name in table.arrow.names} for row in complete]
    assert all(set(row) <= known for row in rows)
    metadata = {"run": RUN, "code": "0.1.0"}
    lake.append(table, pa.Table.from_pylist(full, table.arrow), claims, metadata)


def with_lake(url: Path | str) -> WebSettings:
    return msgspec.structs.replace(SETTINGS, lake=str(url))


def write_lake(folder: Path) -> Path:
    """All insights, and the facts that pages read."""
    lake = Lake(str(folder))
    _write_facts(lake)
    _write_devices(lake)
    _write_links(lake)
    return folder


def _write_facts(lake: Lake) -> None:
    edges = [
        {"realm": REALM, "a": a, "b": b, "from_at": DAY, "to_at": until, **costs}
        for a, b, until, costs in (
            (ADA, BOB, TODAY, {"cost_ab_us": 5000, "cost_ba_us": 6000}),
            (BOB, CY, NOON, {"cost_ab_us": 9000, "cost_ba_us": 9000}),
        )
    ]
    append(lake, facts.TOPOLOGY_EDGES, edges)
    samples = [
        {
            "at": NOON - timedelta(minutes=minutes),
            **{"realm": REALM, "node": node, "peer": peer, "rtt_us": rtt_us, "is_up": True},
            **{"loss_in_ppm": 20_000, "loss_out_ppm": 10_000, "rate_bps": 8_000_000},
        }
        for node, peer, rtt_us in ((ADA, BOB, 10_000), (BOB, ADA, 12_000))
        for minutes in (1, 6)
    ]
    append(lake, facts.LINK_SAMPLES, samples)
    hours = [
        {
            "hour": DAY + hour * HOUR,
            **{"realm": REALM, "node": ADA, "peer": BOB, "samples": 12, "up_samples": 12},
            **{"rtt_samples": 12, "rtt_us_sum": 240_000, "loss_samples": 12, "loss_ppm_sum": 120},
        }
        for hour in range(24)
    ]
    append(lake, facts.LINK_HOURS, hours)
    servers = [
        {
            "hour": DAY + hour * HOUR,
            **{"reporter": SERVER_ID, "reports": 10, "seats_max": 100},
            "seats_used_sum": 10 * (20 + hour),
        }
        for hour in range(24)
    ]
    append(lake, facts.SERVER_HOURS, servers)


def _write_devices(lake: Lake) -> None:
    good, poor = DEVICE_MACS
    days = [
        {"device": device, "present_us": int(share * 1e9), "expected_us": 10**9, "share": share}
        | {"outages": 2, "longest_outage_us": 120_000_000, "reboots": 1}
        for device, share in ((good, 1.0), (poor, 0.5))
    ]
    claim = CommitClaim("facts/uptime_intervals", None, 3)
    append(lake, insights.AVAILABILITY, days, [claim])
    week = DAY.date() - timedelta(days=DAY.weekday())
    weeks = [
        {"device": device, "week": week, "share": share, "sla_share": 0.999, "is_met": is_met}
        for device, share, is_met in ((good, 1.0, True), (poor, 0.5, False))
    ]
    append(lake, insights.AVAILABILITY_WEEKS, weeks)
    span = {"from_at": NOON, "to_at": NOON + HOUR}
    outages = [{"device": poor, **span, "lasted_us": 3_600_000_000, "is_open": False}]
    append(lake, insights.OUTAGES, [*outages, outages[0] | {"device": HOSTILE}])
    append(lake, insights.UPTIME_SESSIONS, [{"device": good, **span, "up_us": 3_600_000_000}])
    traffic = [
        {"device": good, "interface": "wan", "hour": DAY + hour * HOUR, "received_bytes": 3_600_000}
        | {"sent_bytes": 360_000}
        for hour in range(24)
    ]
    append(lake, insights.TRAFFIC_HOURS, traffic)
    anomaly = {"kind": "silence", "entity": poor, "device": poor, **span, "score": 28.8}
    append(lake, insights.ANOMALIES, [anomaly])
    incident = {"id": "20260302-1", "kind": "outage", **span, "members": 1, "first": poor}
    append(lake, insights.INCIDENTS, [incident])
    forecast = [
        {"server": SERVER_ID, "hour": TODAY + hour * HOUR, "share": hour / 100}
        | {"high_share": hour / 50, "confidence": 0.5, "evidence": 3}
        for hour in range(48)
    ]
    append(lake, insights.SERVER_LOAD_FORECAST, forecast)


def _write_links(lake: Lake) -> None:
    append(
        lake,
        insights.LINK_QUALITY,
        [
            {"realm": REALM, "node": ADA, "peer": BOB, "hour_of_week": hour, "samples": 12}
            | {"loss": 0.3 if hour < 3 else 0.0, "rtt_p95_us": 20_000, "up_share": 1.0}
            for hour in range(168)
        ],
    )
    span = {"from_at": NOON, "to_at": NOON + HOUR, "downs": 6, "down_us": 900_000_000}
    append(lake, insights.LINK_DAYS, [{"realm": REALM, "a": ADA, "b": BOB, **span}])
    flapping = {"realm": REALM, "a": ADA, "b": BOB, **span, "kind": "more often"}
    append(lake, insights.FLAPPING_LINKS, [flapping | {"usual_downs": 1, "usual_days": 14}])
    health = {"realm": REALM, "hour": NOON, "nodes": 3, "edges": 2, "bridges": 2}
    append(lake, insights.TOPOLOGY_HEALTH, [health | {"articulation_points": 1}])
    critical = {"realm": REALM, "hour": NOON, "kind": "node", "a": BOB, "b": "", "cut_off": 1}
    append(lake, insights.CRITICAL_ELEMENTS, [critical | {"nodes": [CY]}])
    advice = {"realm": REALM, "a": ADA, "b": BOB, "from_at": TODAY + 25 * HOUR}
    append(lake, insights.LINK_COST_ADVICE, [advice | {"to_at": TODAY + 28 * HOUR, "factor": 2.0}])
