"""F15: telemetry and events of a device, from the hub's memory, the audit and the lake."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from rookery.lake.engine.delta import Lake
from rookery.lake.schema import clean, facts, insights
from rookery.store.accounts.audit import AuditRow
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import DeviceReport, InterfaceCounters
from tests.web.lake_world import append, with_lake
from tests.web.world import MAC, World, world

API = "/api/v1"
TEXT = MAC.hex(":")
NOW = datetime.now(UTC)
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}


def minutes_ago(minutes: float) -> dict[str, object]:
    at = NOW - timedelta(minutes=minutes)
    return {"at": at, "date": at.date()}


@pytest.fixture
async def lakeworld(tmp_path: Path, template: Path) -> AsyncIterator[World]:
    lake = Lake(str(tmp_path / "lake"))
    mac = {"reporter": TEXT}
    kept = {"spool": "s", "position": 1, "boot": 1, "sequence": 1, "received_at": NOW}
    reports = [
        {
            **mac,
            **minutes_ago(10),
            "load": 1.0,
            "mem": 0.5,
            "disk": 0.25,
            "temp": 40.0,
            "signal": -60.0,
        },
        {**mac, **minutes_ago(5), "load": 2.0, "mem": 0.7, "disk": 0.25, "temp": None},
        {**mac, **minutes_ago(600), "load": 3.0, "mem": 0.1, "disk": 0.1, "temp": 30.0},
        {**minutes_ago(5), "reporter": "02:fc:00:00:00:02", "load": 9.0},
    ]
    append(lake, clean.DEVICE_REPORTS, [kept | report for report in reports])
    minute = (NOW - timedelta(minutes=10)).replace(second=0, microsecond=0)
    traffic = {"device": TEXT, "minute": minute, "date": minute.date(), "covered_ms": 60_000}
    carried = {"received_bytes": 60_000, "sent_bytes": 6_000}
    for interface in ("wan", "lan", "lo"):
        append(lake, insights.TRAFFIC_MINUTES, [traffic | carried | {"interface": interface}])
    span = {"from_at": NOW - timedelta(hours=2), "to_at": NOW - timedelta(hours=1)}
    today = {"date": (NOW - timedelta(hours=2)).date()}
    outage = {"device": TEXT, **span, **today, "lasted_us": 3_600_000_000, "is_reboot": True}
    append(lake, insights.OUTAGES, [outage])
    session = {"router": TEXT, "who": "alice", "opened_at": NOW - timedelta(hours=3), **today}
    append(lake, facts.SESSIONS, [session | {"closed_at": NOW - timedelta(hours=3)}])
    async with world(tmp_path, template, with_lake(tmp_path / "lake")) as made:
        yield made


async def owner(made: World, claimed_at: float) -> httpx.AsyncClient:
    client = await made.signed_in("alice")
    account = await made.site.accounts.find("alice")
    assert account is not None
    await made.hub.report()
    await made.site.devices.claim(MAC, account.id, "attic", now=claimed_at)
    return client


async def fetched(client: httpx.AsyncClient, what: str) -> dict[str, list[float | None]]:
    answer = await client.get(f"{API}/devices/{TEXT}/{what}")
    assert answer.status_code == 200, answer.text
    found: dict[str, list[float | None]] = answer.json()
    return found


async def test_the_last_reports_are_there_at_once(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    for number in range(1, 4):
        report = DeviceReport(
            t=number * 2000, load=number / 2, ifs={"wan": InterfaceCounters(number * 400, 0)}
        )
        await hubworld.hub.report(ago_s=10 - number, content=telemetry.encode(report))
    found = await fetched(alice, "telemetry")
    assert found["received"] == [None, 200.0, 200.0]
    assert found["load"] == [0.5, 1.0, 1.5]
    listed = (await alice.get(f"{API}/devices")).json()
    assert listed[0]["traffic"] == [200, 200]


async def test_a_signal_is_shown_where_a_device_reports_one(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    for ago_s, signal in ((3, None), (2, -61.4)):
        report = DeviceReport(t=10_000 - ago_s * 1000, temp=41.26, up=7200.0, signal=signal)
        await hubworld.hub.report(ago_s=ago_s, content=telemetry.encode(report))
        page = (await alice.get(f"/devices/{TEXT}", headers=BROWSER)).text
        shown = "–" if signal is None else "-61 dBm"
        assert f'data-fact="signal" data-unit="dBm">{shown}</p>' in page
    assert 'data-fact="temp" data-unit="°C">41.3 °C</p>' in page
    assert 'data-fact="up_s" data-unit="s">2 h</p>' in page
    assert (await fetched(alice, "telemetry"))["signal"] == [None, -61.4]
    answer = await alice.get(f"{API}/devices/{TEXT}/report")
    assert answer.json()["signal"] == -61.4
    charts = (await alice.get(f"/devices/{TEXT}/telemetry", headers=BROWSER)).text
    assert 'data-chart="signal" data-unit="dBm" data-signal="signal"' in charts


async def test_the_last_reports_are_those_since_it_is_mine(hubworld: World) -> None:
    """Low: `span=now`, the last report and the small picture told of a former owner's time."""
    alice = await hubworld.signed_in("alice")
    account = await hubworld.site.accounts.find("alice")
    assert account is not None
    for number in range(1, 4):
        report = DeviceReport(t=number * 2000, ifs={"wan": InterfaceCounters(number * 400, 0)})
        await hubworld.hub.report(ago_s=60 - number, content=telemetry.encode(report))
    await hubworld.site.devices.claim(MAC, account.id, "attic", now=time.time() - 30)
    assert (await fetched(alice, "telemetry"))["at"] == []
    assert (await alice.get(f"{API}/devices")).json()[0]["traffic"] == []
    assert (await alice.get(f"{API}/devices/{TEXT}/report")).status_code == 404
    olga = await hubworld.signed_in("olga", "operator")
    assert len((await fetched(olga, "telemetry"))["at"]) == 3
    await hubworld.hub.report(ago_s=1, content=telemetry.encode(DeviceReport(t=9000, load=2.5)))
    assert (await fetched(alice, "telemetry"))["load"] == [2.5]
    assert (await alice.get(f"{API}/devices/{TEXT}/report")).status_code == 200


async def test_without_a_lake_longer_times_are_not_known(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    answer = await alice.get(f"{API}/devices/{TEXT}/telemetry?span=24h")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_lake")
    assert (await alice.get(f"{API}/devices/{TEXT}/telemetry?span=1y")).status_code == 400


async def test_the_lake_gives_means_of_each_step(lakeworld: World) -> None:
    alice = await owner(lakeworld, claimed_at=1.0)
    hour = await fetched(alice, "telemetry?span=1h")
    assert [value for value in hour["load"] if value is not None] == [1.0, 2.0]
    assert [value for value in hour["temp"] if value is not None] == [40.0]
    assert [value for value in hour["signal"] if value is not None] == [-60.0]
    assert [value for value in hour["received"] if value is not None] == [2000.0]
    assert [value for value in hour["sent"] if value is not None] == [200.0]
    day = await fetched(alice, "telemetry?span=24h")
    assert sorted(value for value in day["load"] if value is not None)[-1] == 3.0
    lengths = {len(day[name]) for name in ("at", "received", "sent", "load", "mem", "disk", "temp")}
    assert len(lengths) == 1


async def test_what_was_before_it_was_mine_is_not_shown_to_me(lakeworld: World) -> None:
    """Somebody else's traffic, sessions and addresses are none of a later owner's."""
    before = AuditRow(at=NOW.timestamp() - 60, who="zoe", what="device.connect", target=TEXT)
    await lakeworld.site.audit.add(before)
    alice = await owner(lakeworld, claimed_at=time.time())
    assert (await fetched(alice, "telemetry?span=24h"))["at"] == []
    assert (await fetched(alice, "events"))["events"] == []
    for tab in ("events", "access"):
        assert "zoe" not in (await alice.get(f"/devices/{TEXT}/{tab}", headers=BROWSER)).text
    olga = await lakeworld.signed_in("olga", "operator")
    assert len((await fetched(olga, "events"))["events"]) == 3


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "14d"])
async def test_nor_what_was_a_moment_before(lakeworld: World, span: str) -> None:
    """Though it would be drawn as one point with what came after it."""
    last = NOW - timedelta(minutes=5)
    alice = await owner(lakeworld, claimed_at=last.timestamp() + 2)
    assert (await fetched(alice, f"telemetry?span={span}"))["at"] == []


async def test_events_of_audit_and_lake_are_one_timeline(lakeworld: World) -> None:
    alice = await owner(lakeworld, claimed_at=1.0)
    await alice.patch(f"{API}/devices/{TEXT}", json={"name": "cellar"})
    forged = AuditRow(
        at=NOW.timestamp() - 5400, who=TEXT, what="security.forged", address="198.51.100.9:1"
    )
    await lakeworld.site.audit.add(forged)
    answer = (await alice.get(f"{API}/devices/{TEXT}/events")).json()
    assert answer["lake"] == "asked"
    assert [event["what"] for event in answer["events"]] == [
        "device.rename",
        "security.forged",
        "lake.outage",
        "lake.session",
    ]
    page = (await alice.get(f"/devices/{TEXT}/events", headers=BROWSER)).text
    for text in ("cellar", "Forged report", "198.51.100.9:1", "Outage", "restart"):
        assert text in page


async def test_addresses_of_others_are_shown_to_operators_only(hubworld: World) -> None:
    alice = await hubworld.owner("alice")
    row = AuditRow(
        at=time.time() + 1, who="olga", what="device.connect", target=TEXT, address="198.51.100.1"
    )
    await hubworld.site.audit.add(row)
    assert "198.51.100.1" not in (await alice.get(f"{API}/devices/{TEXT}/events")).text
    olga = await hubworld.signed_in("olga", "operator")
    assert "198.51.100.1" in (await olga.get(f"{API}/devices/{TEXT}/events")).text


async def test_a_lake_that_is_away_leaves_the_audit(tmp_path: Path, template: Path) -> None:
    (tmp_path / "lake" / "insights" / "outages" / "_delta_log").mkdir(parents=True)
    log = tmp_path / "lake" / "insights" / "outages" / "_delta_log" / f"{0:020}.json"
    log.write_text("rubbish")
    async with world(tmp_path, template, with_lake(tmp_path / "lake")) as made:
        alice = await owner(made, claimed_at=1.0)
        answer = await alice.get(f"{API}/devices/{TEXT}/events")
        assert (answer.status_code, answer.json()["lake"]) == (200, "away")
