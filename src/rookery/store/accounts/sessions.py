"""Sessions of browsers: kept here, so that any hub knows them and signing out is final."""

import msgspec
from sqlalchemy import ColumnElement, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns, parse_row
from rookery.store.database.tables import web_session

BROWSER_SIZE_MAX = 255


class BrowserSession(msgspec.Struct, frozen=True):
    """A browser that signed in; its cookie is not kept, only the cookie's hash."""

    key_hash: bytes  # 32
    account: int
    created_at: float  # wall seconds, as all of them
    seen_at: float
    expires_at: float
    address: str = ""
    browser: str = ""
    proved_at: float | None = None  # when the password was last confirmed; None: only at sign-in

    @property
    def proof_at(self) -> float:
        return self.created_at if self.proved_at is None else self.proved_at

    def __repr__(self) -> str:
        return f"BrowserSession(account={self.account}, created_at={self.created_at})"


_COLUMNS = columns(web_session, BrowserSession)


class BrowserSessions:
    """By the hash of the cookie."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, session: BrowserSession) -> None:
        row = msgspec.structs.asdict(session)
        row["browser"] = session.browser[:BROWSER_SIZE_MAX]

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(web_session).values(row))

        await self._database.write(work)

    async def find(self, key_hash: bytes, now: float) -> BrowserSession | None:
        """If it has not expired."""
        query = select(*_COLUMNS).where(
            web_session.c.key_hash == key_hash, web_session.c.expires_at > now
        )

        async def work(connection: AsyncConnection) -> BrowserSession | None:
            row = (await connection.execute(query)).one_or_none()
            return _session(row) if row else None

        return await self._database.read(work)

    async def of(self, owner: int, now: float) -> list[BrowserSession]:
        """All of an account, the one seen last first."""
        query = (
            select(*_COLUMNS)
            .where(web_session.c.account == owner, web_session.c.expires_at > now)
            .order_by(web_session.c.seen_at.desc())
        )

        async def work(connection: AsyncConnection) -> list[BrowserSession]:
            return [_session(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def touch(self, key_hash: bytes, seen_at: float, expires_at: float) -> None:
        """It was used; once a minute is enough to say so."""
        statement = (
            update(web_session)
            .where(web_session.c.key_hash == key_hash)
            .values(seen_at=seen_at, expires_at=expires_at)
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement)

        await self._database.write(work)

    async def prove(self, key_hash: bytes, now: float) -> None:
        """The account's password was confirmed again."""
        statement = (
            update(web_session).where(web_session.c.key_hash == key_hash).values(proved_at=now)
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(statement)

        await self._database.write(work)

    async def remove(self, key_hash: bytes) -> None:
        await self._delete(web_session.c.key_hash == key_hash)

    async def remove_all(self, owner: int) -> None:
        """Sign an account out everywhere."""
        await self._delete(web_session.c.account == owner)

    async def purge(self, now: float) -> int:
        """Forget those that have expired; says how many."""
        return await self._delete(web_session.c.expires_at <= now)

    async def _delete(self, condition: ColumnElement[bool]) -> int:
        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(delete(web_session).where(condition))).rowcount

        return await self._database.write(work)


def _session(row: AnyRow) -> BrowserSession:
    return parse_row(row, BrowserSession)
