"""Codes: what lets a device or a server enrol, once, until it expires."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetKind
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns, parse_row
from rookery.store.database.tables import code


class IssuedCode(msgspec.Struct, frozen=True):
    """What its owner may see of a code: not its key."""

    id: bytes
    kind: FleetKind
    owner: int | None  # an account
    created_at: float  # wall seconds, as all of them
    expires_at: float
    used_at: float | None
    used_by: str  # hashname, or empty


_CODE = columns(code, EnrolmentCode)
_ISSUED = columns(code, IssuedCode)


class EnrolmentCodes:
    """Looked up by id to enrol, and by owner to manage them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: EnrolmentCode, *, now: float) -> None:
        row = {**msgspec.structs.asdict(new), "created_at": now}

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(code).values(row))

        await self._database.write(work)

    async def find(self, ids: Sequence[bytes]) -> list[EnrolmentCode | None]:
        """Each as it is, also when it is used or has expired."""
        query = select(*_CODE).where(code.c.id.in_(ids))

        async def work(connection: AsyncConnection) -> list[EnrolmentCode | None]:
            rows = await connection.execute(query)
            found = {row.id: parse_row(row, EnrolmentCode) for row in rows}
            return [found.get(id_) for id_ in ids]

        return await self._database.read(work)

    async def redeem(self, id_: bytes, hashname: str, now: float) -> bool:
        """True for the first user of the code in time, and for its repeated requests."""
        is_free = and_(code.c.used_by == "", code.c.expires_at > now)
        statement = (
            update(code)
            .where(code.c.id == id_, or_(is_free, code.c.used_by == hashname))
            .values(used_at=now, used_by=hashname)
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def of(self, owner: int | None) -> list[IssuedCode]:
        """The codes of an account, or all; the newest first."""
        query = select(*_ISSUED).order_by(code.c.created_at.desc())
        if owner is not None:
            query = query.where(code.c.owner == owner)

        async def work(connection: AsyncConnection) -> list[IssuedCode]:
            return [_issued(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def remove(self, id_: bytes, owner: int | None = None) -> bool:
        """False when there is none, or not of this owner."""
        statement = delete(code).where(code.c.id == id_)
        if owner is not None:
            statement = statement.where(code.c.owner == owner)

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def purge(self, before: float) -> int:
        """Forget those that expired before; says how many."""

        async def work(connection: AsyncConnection) -> int:
            statement = delete(code).where(code.c.expires_at < before)
            return (await connection.execute(statement)).rowcount

        return await self._database.write(work)


def _issued(row: AnyRow) -> IssuedCode:
    return parse_row(row, IssuedCode)
