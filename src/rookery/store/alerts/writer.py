"""Writes alert transitions, together with the notifications that they cause.

One transaction writes both and checks the lease, so that one of several hubs writes, and no
transition is written without its notifications.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.alerts.alert import (
    RANKS,
    AlertChanged,
    AlertRaised,
    AlertResolved,
    AlertTransition,
    Severity,
)
from rookery.store.alerts.alert import (
    COLUMNS,
    Alert,
    AlertEventKind,
    condition_detail,
    detail_text,
    parse_alert,
)
from rookery.store.alerts.alerts import add_event
from rookery.store.database.database import Database
from rookery.store.database.tables import alert, alert_delivery
from rookery.store.hubs.leases import hold_lease

LEASE_S = 30.0
DELIVERIES_WAITING_MAX = 1000  # deliveries; beyond that an alert is only in the pages

_encoder = msgspec.json.Encoder()


class AlertChannels(msgspec.Struct, frozen=True, kw_only=True):
    """The notification channels, and how notifications name this hub."""

    channels: tuple[str, ...] = ()
    least: Severity = "notice"  # alerts below it are only in the pages
    hub: str = ""  # hashname
    url: str = ""  # of its pages


class AlertNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notification: the body of a webhook."""

    version: int = 1
    delivery: str  # the same at each attempt
    event: str  # raised, worse, resolved or reminder
    at: float
    hub: str
    url: str
    alert: dict[str, object]


class AlertWriter:
    """Writes the alerts of one scope for one lease holder."""

    def __init__(self, database: Database, scope: str, holder: str, outlets: AlertChannels) -> None:
        self._database = database
        self._scope = scope
        self._holder = holder
        self._outlets = outlets

    async def apply(self, transitions: Sequence[AlertTransition], *, now: float) -> bool:
        """Write all transitions and renew the lease; False, without a write, when it is lost."""

        async def work(connection: AsyncConnection) -> bool:
            lease = f"alerts {self._scope}"
            if not await hold_lease(connection, lease, self._holder, now=now, seconds=LEASE_S):
                return False
            for transition in transitions:
                match transition:
                    case AlertRaised():
                        await self._raise(connection, transition, now)
                    case AlertChanged():
                        await self._change(connection, transition, now)
                    case AlertResolved():
                        await self._resolve(connection, transition, now)
            await self._end_mutes(connection, now)
            return True

        return await self._database.write(work)

    async def _raise(self, connection: AsyncConnection, raised: AlertRaised, now: float) -> None:
        condition = raised.condition
        before = select(alert.c.muted_by, alert.c.muted_until).where(alert.c.key == condition.key)
        row = (await connection.execute(before.order_by(alert.c.id.desc()).limit(1))).one_or_none()
        muted_by, muted_until = row if row and (row[1] or 0.0) > now else ("", None)
        values = {
            "key": condition.key,
            "open_key": condition.key,
            "scope": self._scope,
            "kind": condition.kind,
            "severity": condition.severity,
            "title": condition.title,
            "detail": detail_text(condition_detail(condition)),
            "since": raised.since,
            "raised_at": now,
            "changed_at": now,
            "acknowledged_by": "",
            "muted_by": muted_by,
            "muted_until": muted_until,
        }
        await connection.execute(insert(alert).values(values))
        await self._add_event(connection, condition.key, "raised", now, condition.note)

    async def _change(self, connection: AsyncConnection, changed: AlertChanged, now: float) -> None:
        condition = changed.condition
        values = {
            "severity": condition.severity,
            "title": condition.title,
            "detail": detail_text(condition_detail(condition)),
            "changed_at": now,
        }
        ours = update(alert).where(alert.c.open_key == condition.key)
        await connection.execute(ours.values(values))
        if changed.how != "otherwise":
            await self._add_event(connection, condition.key, changed.how, now, condition.note)

    async def _resolve(
        self, connection: AsyncConnection, resolved: AlertResolved, now: float
    ) -> None:
        found = await _open_alert(connection, resolved.key)
        if found is None:
            return
        values: dict[str, object] = {"until": resolved.until, "changed_at": now}
        if resolved.why:
            detail = msgspec.structs.replace(found.detail, why=resolved.why)
            values["detail"] = detail_text(detail)
        await connection.execute(update(alert).where(alert.c.id == found.id).values(values))
        await self._add_event(connection, resolved.key, "resolved", now, resolved.why)
        closing = update(alert).where(alert.c.id == found.id).values(open_key=None)
        await connection.execute(closing)

    async def _end_mutes(self, connection: AsyncConnection, now: float) -> None:
        """End mutes that have expired, and send a reminder of alerts that are still open."""
        over = select(*COLUMNS).where(
            alert.c.scope == self._scope, alert.c.open_key.is_not(None), alert.c.muted_until <= now
        )
        for found in [parse_alert(row) for row in await connection.execute(over)]:
            ours = update(alert).where(alert.c.id == found.id)
            await connection.execute(ours.values(muted_by="", muted_until=None))
            event = await add_event(connection, found.id, "unmuted", now=now)
            await self._notify(connection, found, event, "reminder", now)

    async def _add_event(
        self, connection: AsyncConnection, key: str, what: AlertEventKind, now: float, text: str
    ) -> None:
        found = await _open_alert(connection, key)
        if found is None:
            return
        event = await add_event(connection, found.id, what, now=now, text=text)
        if what in ("raised", "worse", "resolved") and not found.is_muted(now):
            await self._notify(connection, found, event, what, now)

    async def _notify(
        self, connection: AsyncConnection, found: Alert, event: int, word: str, now: float
    ) -> None:
        if RANKS[found.severity] < RANKS[self._outlets.least]:
            return
        waiting = await connection.scalar(select(func.count()).select_from(alert_delivery))
        room = max(0, DELIVERIES_WAITING_MAX - int(waiting or 0))
        for number, channel in enumerate(self._outlets.channels[:room]):
            key = f"{found.id}-{event}-{number}"
            notice = AlertNotice(
                delivery=key,
                event=word,
                at=now,
                hub=self._outlets.hub,
                url=f"{self._outlets.url}/fleet/incidents/{found.id}" if self._outlets.url else "",
                alert=alert_notice_body(found),
            )
            row = {
                "key": key,
                "alert": found.id,
                "channel": channel,
                "event": word,
                "body": _encoder.encode(notice).decode(),
                "attempts": 0,
                "due_at": now,
            }
            await connection.execute(insert(alert_delivery).values(row))


def alert_notice_body(found: Alert) -> dict[str, object]:
    """The alert as notifications show it, without its scope."""
    detail = found.detail
    return {
        "id": found.id,
        "key": found.key,
        "kind": found.kind,
        "severity": found.severity,
        "title": found.title,
        "cause": detail.cause,
        "entities": list(detail.entities),
        "note": detail.note,
        "since": found.since,
        "until": found.until,
    }


async def _open_alert(connection: AsyncConnection, key: str) -> Alert | None:
    query = select(*COLUMNS).where(alert.c.open_key == key)
    row = (await connection.execute(query)).one_or_none()
    return parse_alert(row) if row else None
