"""Alerts of a database: open and past ones, their events, acknowledgement and muting.

Any hub acknowledges and mutes. `writer` raises and resolves, for the hub that holds the lease of
a scope.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec
from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.alerts.alert import (
    ACTOR_SIZE_MAX,
    COLUMNS,
    EVENT_COLUMNS,
    TEXT_SIZE_MAX,
    Alert,
    AlertEvent,
    AlertEventKind,
    parse_alert,
)
from rookery.store.database.database import Database
from rookery.store.database.rows import parse_row
from rookery.store.database.tables import alert, alert_event

PAGE = 100
EVENTS_PER_ALERT_MAX = 200

AlertSelection = Literal["open", "over", "all"]


class AlertFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which alerts to list."""

    which: AlertSelection = "all"
    severity: str = ""
    kind: str = ""


class Alerts:
    """The alerts of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, number: int) -> Alert | None:
        async def work(connection: AsyncConnection) -> Alert | None:
            return await read_alert(connection, number)

        return await self._database.read(work)

    async def open(self, scope: str | None = None) -> list[Alert]:
        """All open alerts, of one scope or of all; their number is bounded."""
        query = select(*COLUMNS).where(alert.c.open_key.is_not(None)).order_by(alert.c.id)
        if scope is not None:
            query = query.where(alert.c.scope == scope)
        return await self._alerts(query)

    async def latest(
        self, wanted: AlertFilter, *, before: int | None = None, limit: int = PAGE
    ) -> list[Alert]:
        """The newest first; `before` is the id of the last one of the page before."""
        query = select(*COLUMNS).order_by(alert.c.id.desc()).limit(limit)
        if wanted.which != "all":
            is_over = alert.c.open_key.is_(None)
            query = query.where(is_over if wanted.which == "over" else ~is_over)
        if wanted.severity:
            query = query.where(alert.c.severity == wanted.severity)
        if wanted.kind:
            query = query.where(alert.c.kind == wanted.kind)
        if before is not None:
            query = query.where(alert.c.id < before)
        return await self._alerts(query)

    async def events(self, number: int) -> list[AlertEvent]:
        """The last events of an alert, oldest first."""
        query = (
            select(*EVENT_COLUMNS)
            .where(alert_event.c.alert == number)
            .order_by(alert_event.c.id.desc())
            .limit(EVENTS_PER_ALERT_MAX)
        )

        async def work(connection: AsyncConnection) -> list[AlertEvent]:
            return [parse_row(row, AlertEvent) for row in await connection.execute(query)]

        return (await self._database.read(work))[::-1]

    async def acknowledge(self, number: int, actor: str, *, now: float) -> Alert | None:
        """Acknowledge an alert; the first actor stays. None: there is no such alert."""

        async def work(connection: AsyncConnection) -> Alert | None:
            unseen = update(alert).where(alert.c.id == number, alert.c.acknowledged_at.is_(None))
            values = {"acknowledged_by": actor[:ACTOR_SIZE_MAX], "acknowledged_at": now}
            if (await connection.execute(unseen.values(values))).rowcount:
                await add_event(connection, number, "acknowledged", now=now, actor=actor)
            return await read_alert(connection, number)

        return await self._database.write(work)

    async def mute(self, number: int, actor: str, until: float, *, now: float) -> Alert | None:
        """Send no notifications until then, even if it is raised again; now: unmute."""
        is_muted = until > now
        values = {
            "muted_by": actor[:ACTOR_SIZE_MAX] if is_muted else "",
            "muted_until": until if is_muted else None,
        }

        async def work(connection: AsyncConnection) -> Alert | None:
            statement = update(alert).where(alert.c.id == number).values(values)
            if not (await connection.execute(statement)).rowcount:
                return None
            what: AlertEventKind = "muted" if is_muted else "unmuted"
            text = _duration_text(until - now) if is_muted else ""
            await add_event(connection, number, what, now=now, actor=actor, text=text)
            return await read_alert(connection, number)

        return await self._database.write(work)

    async def count_open(self) -> dict[str, int]:
        """The number of open alerts by severity."""
        query = (
            select(alert.c.severity, func.count())
            .where(alert.c.open_key.is_not(None))
            .group_by(alert.c.severity)
        )

        async def work(connection: AsyncConnection) -> dict[str, int]:
            return {str(name): int(count) for name, count in await connection.execute(query)}

        return await self._database.read(work)

    async def purge(self, before: float) -> int:
        """Delete alerts that were resolved before then; returns how many."""
        old = delete(alert).where(alert.c.open_key.is_(None), alert.c.until < before)

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(old)).rowcount

        return await self._database.write(work)

    async def _alerts(self, query: Select[*tuple[object, ...]]) -> list[Alert]:
        async def work(connection: AsyncConnection) -> list[Alert]:
            return [parse_alert(row) for row in await connection.execute(query)]

        return await self._database.read(work)


async def read_alert(connection: AsyncConnection, number: int) -> Alert | None:
    """One alert, within a transaction."""
    row = (await connection.execute(select(*COLUMNS).where(alert.c.id == number))).one_or_none()
    return parse_alert(row) if row else None


async def add_event(
    connection: AsyncConnection,
    number: int,
    what: AlertEventKind,
    *,
    now: float,
    actor: str = "",
    text: str = "",
) -> int:
    """Record an event of an alert; returns the event's id."""
    row = {
        "alert": number,
        "at": now,
        "what": what,
        "who": actor[:ACTOR_SIZE_MAX],
        "text": text[:TEXT_SIZE_MAX],
    }
    key: Sequence[object] | None = (
        await connection.execute(insert(alert_event).values(row))
    ).inserted_primary_key
    assert key is not None
    number_made = key[0]
    assert isinstance(number_made, int)
    return number_made


def _duration_text(seconds: float) -> str:
    """`45 min`, `8 h`, `3 d`."""
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} d"
