"""What the hub puts on record, and how much of it."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.fleet.entry import FleetEntry
from rookery.fleet.reports.security_events import SecurityEvent
from rookery.hub.audit_log import BURST, CALLS_MAX, ENROLLED_BURST, AuditLog
from rookery.hub.clock import HubClock
from rookery.store.accounts.audit import AuditTrail
from rookery.store.database.database import Database
from rookery.wire.fleet import telemetry
from rookery.wire.fleet.telemetry import CallReport, DeviceReport
from rookery.wire.observation import CALLED, Observation
from tests.hub.identities import mac

FORGED = SecurityEvent("forged", mac(1), "192.0.2.1:7")


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncIterator[AuditTrail]:
    database = await Database.open(f"sqlite:///{tmp_path / 'hub.db'}")
    await database.migrate()
    yield AuditTrail(database)
    await database.close()


async def test_an_event_is_on_record_with_who_and_whence(audit: AuditTrail) -> None:
    log = AuditLog(audit, HubClock(60.0))
    log.security(FORGED)
    await log.flush()
    (row,) = await audit.latest()
    assert (row.what, row.who, row.address) == ("security.forged", mac(1).hex(":"), "192.0.2.1:7")


async def test_a_flood_of_events_is_cut_and_the_cut_is_on_record(audit: AuditTrail) -> None:
    log = AuditLog(audit, HubClock(60.0))
    for _ in range(10_000):
        log.security(FORGED)
    await log.flush()
    rows = await audit.latest(limit=20_000)
    assert len(rows) < BURST + 200
    suppressed = next(row for row in rows if row.what == "audit.suppressed")
    assert suppressed.detail["rows"] == log.suppressed
    assert log.suppressed + len(rows) - 1 == 10_000


async def test_a_flood_of_enrolments_leaves_room_for_what_is_amiss(audit: AuditTrail) -> None:
    """H3: whoever has many MACs enrol must not keep the forgery after them off the record."""
    log = AuditLog(audit, HubClock(60.0))
    for number in range(10_000):
        log.enrolled(entry(number))
    for _ in range(10):
        log.security(FORGED)
    await log.flush()
    kinds = Counter(row.what for row in await audit.latest(limit=20_000))
    assert kinds["security.forged"] == 10
    assert ENROLLED_BURST <= kinds["router.enrolled"] < ENROLLED_BURST + 20
    assert log.suppressed == 10_000 - kinds["router.enrolled"]


def entry(number: int) -> FleetEntry:
    return FleetEntry(mac(number), "router", "name", b"", b"", 0, 0, 0, 0, 0.0, 0.0, "192.0.2.1:7")


def relayed(content: bytes) -> Observation:
    return Observation(1, CALLED, mac(9), 1, 1, content)


async def test_f11_calls_are_on_record_however_many(audit: AuditTrail) -> None:
    log = AuditLog(audit, HubClock(60.0))
    call = CallReport(
        t=7, who="ann", router="02:fc:00:00:00:01", method="system.reboot", ms=12.0, code=-32000
    )
    for _ in range(500):
        log.called(relayed(telemetry.encode(call)))
    log.called(relayed(b"\xc1"))
    log.called(relayed(telemetry.encode(DeviceReport(t=1))))
    await log.flush()
    rows = await audit.latest(limit=1000)
    assert len(rows) == 500
    assert {(row.who, row.what, row.target) for row in rows} == {
        ("ann", "rpc.called", "02:fc:00:00:00:01")
    }
    assert rows[0].detail["method"] == "system.reboot"
    assert rows[0].detail["code"] == -32000
    for _ in range(CALLS_MAX + 5):
        log.called(relayed(telemetry.encode(call)))
    assert log.suppressed == 5
