"""Audit log: actor, action, target and time; rows are only added, and purged by age."""

import msgspec
from sqlalchemy import delete, insert, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns
from rookery.store.database.tables import audit
from rookery.wire.link.lob import JsonObject

PAGE = 100
ACTOR_SIZE_MAX = 64
TARGET_SIZE_MAX = 128
DETAIL_SIZE_MAX = 16_000

_encoder = msgspec.json.Encoder()


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One action or attempt."""

    at: float  # wall seconds
    who: str  # the actor: a login, a hashname or another name
    what: str  # `session.begun`, `device.claimed`, `rpc.called`, …
    target: str = ""
    detail: JsonObject = {}
    address: str = ""
    id: int = 0  # given by the database


_COLUMNS = columns(audit, AuditRow)


class AuditTrail:
    """Texts that are too long are shortened: a long name must not prevent its own record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, *rows: AuditRow) -> None:
        """All of them; in doubt, after a lost connection, one may be there twice."""
        values = [_values(row) for row in rows]
        if not values:
            return

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(audit), values)

        await self._database.write(work)

    async def latest(
        self,
        *,
        who: str | None = None,
        target: str | None = None,
        what: str | None = None,
        before: int | None = None,
        limit: int = PAGE,
    ) -> list[AuditRow]:
        """The newest first; `before` is the id of the last row of the page before.

        `what` is the whole of it, or what is before a point: `device` finds `device.claim`.
        """
        query = select(*_COLUMNS).order_by(audit.c.id.desc()).limit(limit)
        if who is not None:
            query = query.where(audit.c.who == who)
        if target is not None:
            query = query.where(audit.c.target == target)
        if what is not None:
            is_part = audit.c.what.startswith(f"{what}.", autoescape=True)
            query = query.where(or_(audit.c.what == what, is_part))
        if before is not None:
            query = query.where(audit.c.id < before)

        async def work(connection: AsyncConnection) -> list[AuditRow]:
            return [_row(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def since(self, at: float, what: str, *, limit: int = PAGE) -> list[AuditRow]:
        """Those of a kind that were added from then on, the newest first."""
        is_part = audit.c.what.startswith(f"{what}.", autoescape=True)
        query = select(*_COLUMNS).where(audit.c.at >= at, is_part)

        async def work(connection: AsyncConnection) -> list[AuditRow]:
            newest = query.order_by(audit.c.at.desc()).limit(limit)
            return [_row(row) for row in await connection.execute(newest)]

        return await self._database.read(work)

    async def purge(self, before: float) -> int:
        """Forget what is older; says how many rows."""

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(delete(audit).where(audit.c.at < before))).rowcount

        return await self._database.write(work)


def _values(row: AuditRow) -> dict[str, object]:
    detail = _encoder.encode(row.detail).decode()
    if len(detail) > DETAIL_SIZE_MAX:
        detail = _encoder.encode({"omitted_bytes": len(detail)}).decode()
    return {
        "at": row.at,
        "who": row.who[:ACTOR_SIZE_MAX],
        "what": row.what[:ACTOR_SIZE_MAX],
        "target": row.target[:TARGET_SIZE_MAX],
        "detail": detail,
        "address": row.address[:ACTOR_SIZE_MAX],
    }


def _row(row: AnyRow) -> AuditRow:
    values = dict(zip(AuditRow.__struct_fields__, row, strict=True))
    values["detail"] = msgspec.json.decode(str(values["detail"]))
    return msgspec.convert(values, AuditRow)
