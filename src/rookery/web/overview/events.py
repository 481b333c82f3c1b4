"""Recent events for operators: alerts, and a part of the audit.

The whole audit is for administrators: sign-ins and calls are not shown here.
"""

from typing import Literal

import msgspec

from rookery.store.accounts.audit import AuditRow
from rookery.store.alerts.alerts import AlertFilter, Alerts
from rookery.web.site import WebSite

EVENTS_MAX = 10
_LOOKED_AT = 60  # rows of the audit
_SHOWN = ("router.", "server.", "security.", "device.", "alert.", "code.", "queue.")
_TEXTS = {
    "router.enrolled": "Device enrolled",
    "server.enrolled": "Server enrolled",
    "server.certified": "Server certificate issued",
    "server.drain": "Server drained",
    "server.forget": "Server forgotten",
    "server.undrain": "Server serves again",
    "device.claim": "Device claimed",
    "device.rename": "Device renamed",
    "device.release": "Device released",
    "device.forget": "Device forgotten",
    "device.connect": "Connected to a device",
    "queue.cancel": "Request taken back",
    "code.make": "Code made",
    "code.withdraw": "Code withdrawn",
    "alert.acknowledge": "Alert acknowledged",
    "alert.mute": "Alert muted",
    "security.forged": "Forged report",
    "security.old_secret": "Report with an old secret",
    "security.replay": "Report sent again",
    "security.clone": "Two devices with one identity",
    "security.foreign_key": "Another key for a known device",
    "security.rebound": "Taken over by an owner's code",
    "security.denied": "Device refused",
    "security.foreign_name": "Server certificate refused",
}


class RecentEventShown(msgspec.Struct, frozen=True, kw_only=True):
    """One line."""

    at: float
    kind: Literal["alert", "security", "fleet"]
    what: str
    target: str
    who: str
    url: str = ""


async def recent_events(site: WebSite) -> list[RecentEventShown]:
    """The newest first."""
    alerts = await Alerts(site.hub.database).latest(AlertFilter(), limit=EVENTS_MAX)
    rows = await site.audit.latest(limit=_LOOKED_AT)
    events = [
        RecentEventShown(
            at=each.raised_at,
            kind="alert",
            what=each.title,
            target="",
            who="",
            url=f"/fleet/incidents/{each.id}",
        )
        for each in alerts
    ]
    events += [_event(row) for row in rows if row.what.startswith(_SHOWN)]
    return sorted(events, key=lambda event: event.at, reverse=True)[:EVENTS_MAX]


def _event(row: AuditRow) -> RecentEventShown:
    is_security = row.what.startswith("security.")
    is_server = row.what.startswith("server.")
    return RecentEventShown(
        at=row.at,
        kind="security" if is_security else "fleet",
        what=_TEXTS.get(row.what, row.what),
        target=row.target or row.who,
        who=row.who if row.target else "",
        url="/fleet/servers" if is_server else "",
    )
