"""Events of a device, newest first: audit rows, and findings of the lake.

An owner sees what happened since the device became theirs; operators see all of it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Literal

import msgspec

from rookery.errors import CongestionError
from rookery.store.accounts.audit import AuditRow
from rookery.web.accounts.caller import Caller
from rookery.web.insights.lake_reader import LakeUnavailableError, Row
from rookery.web.site import WebSite
from rookery.wire.fleet.mac import mac_text

EVENTS_MAX = 200
LAKE_DAYS = 14

EventKind = Literal["access", "call", "claim", "security", "outage", "session", "anomaly", "other"]


class DeviceEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event."""

    at: float  # wall seconds
    kind: EventKind
    what: str  # of the audit, `rpc.called`; or of the lake, `lake.outage`
    who: str = ""
    detail: Mapping[str, object] = {}
    address: str = ""
    until: float | None = None


class DeviceEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events, and whether the lake contributed."""

    events: list[DeviceEvent]
    lake: Literal["asked", "none", "away"]


_OUTAGES = """
SELECT from_at, to_at, lasted_us, is_reboot, is_open FROM insights.outages
WHERE device = $1 AND date >= $2 ORDER BY from_at DESC LIMIT 100
"""
_SESSIONS = """
SELECT opened_at AS from_at, closed_at AS to_at, who, server, is_met, reason FROM facts.sessions
WHERE router = $1 AND date >= $2 ORDER BY opened_at DESC LIMIT 100
"""
_ANOMALIES = """
SELECT kind, from_at, to_at, expected, observed, score FROM insights.anomalies
WHERE device = $1 AND date >= $2 AND kind <> 'silence' ORDER BY from_at DESC LIMIT 100
"""
_SECURITY = """
SELECT hour AS from_at, event, events, addresses FROM facts.security_hours
WHERE reporter = $1 AND date >= $2 ORDER BY hour DESC LIMIT 100
"""
_QUESTIONS: tuple[tuple[EventKind, str], ...] = (
    ("outage", _OUTAGES),
    ("session", _SESSIONS),
    ("anomaly", _ANOMALIES),
    ("security", _SECURITY),
)


async def device_events(site: WebSite, caller: Caller, mac: bytes, since: float) -> DeviceEvents:
    """The newest events since then, at most `EVENTS_MAX` of each source."""
    rows = await site.audit.latest(target=mac_text(mac), limit=EVENTS_MAX)
    rows += await site.audit.latest(who=mac_text(mac), limit=EVENTS_MAX)  # security events
    events = [_audited(row, caller) for row in rows]
    lake: Literal["asked", "none", "away"] = "none"
    if site.lake is not None:
        lake = "away"
        with suppress(LakeUnavailableError, CongestionError):
            events += await _from_lake(site, mac)
            lake = "asked"
    kept = sorted(
        (event for event in events if event.at >= since), key=lambda one: one.at, reverse=True
    )
    return DeviceEvents(events=kept[:EVENTS_MAX], lake=lake)


async def accesses(site: WebSite, caller: Caller, mac: bytes, since: float) -> list[DeviceEvent]:
    """The latest connections and calls."""
    rows = await site.audit.latest(target=mac_text(mac), limit=EVENTS_MAX)
    events = (_audited(row, caller) for row in rows)
    return [one for one in events if one.at >= since and one.kind in ("access", "call")][:20]


def _audited(row: AuditRow, caller: Caller) -> DeviceEvent:
    kind = _KINDS.get(row.what) or _AREAS.get(row.what.partition(".")[0], "other")
    is_address_shown = (
        row.who == caller.login or kind == "security" or caller.is_at_least("operator")
    )
    return DeviceEvent(
        at=row.at,
        kind=kind,
        what=row.what,
        who=row.who,
        detail=row.detail,
        address=row.address if is_address_shown else "",
    )


_KINDS: dict[str, EventKind] = {"device.connect": "access", "rpc.called": "call"}
_AREAS: dict[str, EventKind] = {"security": "security", "device": "claim", "router": "claim"}


async def _from_lake(site: WebSite, mac: bytes) -> list[DeviceEvent]:
    assert site.lake is not None
    first = datetime.fromtimestamp(site.wall() - LAKE_DAYS * 86_400, UTC).date()
    events: list[DeviceEvent] = []
    for kind, sql in _QUESTIONS:
        rows = await site.lake.rows(sql, mac_text(mac), first)
        events += _found(kind, rows)
    return events


def _found(kind: EventKind, rows: Iterable[Row]) -> Iterable[DeviceEvent]:
    for row in rows:
        at = _seconds(row.get("from_at"))
        if at is None:
            continue
        others = (item for item in row.items() if item[0] not in _OWN and item[1] is not None)
        yield DeviceEvent(
            at=at,
            kind=kind,
            what=f"lake.{kind}",
            who=str(row.get("who") or ""),
            detail={key: _plain(value) for key, value in others},
            until=_seconds(row.get("to_at")),
        )


_OWN = frozenset({"from_at", "to_at", "who"})


def _seconds(value: object) -> float | None:
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value
