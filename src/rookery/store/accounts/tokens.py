"""API tokens: bearers that act for an account, within scopes, until they expire."""

import msgspec
from sqlalchemy import ColumnElement, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import UsageError
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns
from rookery.store.database.tables import api_token

NAME_SIZE_MAX = 64
SCOPES_SIZE_MAX = 255


class ApiToken(msgspec.Struct, frozen=True):
    """The token itself is not kept, only its hash."""

    id: int
    token_hash: bytes  # 32
    account: int
    name: str
    scopes: tuple[str, ...]
    created_at: float  # wall seconds, as all of them
    expires_at: float | None = None
    used_at: float | None = None

    def __repr__(self) -> str:
        return f"ApiToken(id={self.id}, account={self.account}, name={self.name!r})"


_COLUMNS = columns(api_token, ApiToken)


class ApiTokens:
    """Looked up by hash to authenticate requests, and by account to manage them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        token_hash: bytes,
        account: int,
        name: str,
        scopes: tuple[str, ...],
        *,
        now: float,
        expires_at: float | None = None,
    ) -> ApiToken:
        text = " ".join(scopes)
        if len(name) > NAME_SIZE_MAX or len(text) > SCOPES_SIZE_MAX:
            raise UsageError(f"a token's name has at most {NAME_SIZE_MAX} characters")
        token = ApiToken(0, token_hash, account, name, scopes, now, expires_at)
        row = {**msgspec.structs.asdict(token), "scopes": text}
        del row["id"]

        async def work(connection: AsyncConnection) -> int:
            result = await connection.execute(insert(api_token).values(row))
            (number,) = result.inserted_primary_key or (0,)
            return int(number)

        return msgspec.structs.replace(token, id=await self._database.write(work))

    async def find(self, token_hash: bytes, now: float) -> ApiToken | None:
        """If it has not expired."""
        query = select(*_COLUMNS).where(api_token.c.token_hash == token_hash, _is_fresh(now))

        async def work(connection: AsyncConnection) -> ApiToken | None:
            row = (await connection.execute(query)).one_or_none()
            return _token(row) if row else None

        return await self._database.read(work)

    async def of(self, account: int) -> list[ApiToken]:
        query = select(*_COLUMNS).where(api_token.c.account == account).order_by(api_token.c.id)

        async def work(connection: AsyncConnection) -> list[ApiToken]:
            return [_token(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def touch(self, number: int, used_at: float) -> None:
        """It was used; once a minute is enough to say so."""

        async def work(connection: AsyncConnection) -> None:
            statement = update(api_token).where(api_token.c.id == number).values(used_at=used_at)
            await connection.execute(statement)

        await self._database.write(work)

    async def remove(self, number: int, account: int) -> bool:
        """False when the account has no such token."""
        statement = delete(api_token).where(
            api_token.c.id == number, api_token.c.account == account
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)


def _is_fresh(now: float) -> ColumnElement[bool]:
    return or_(api_token.c.expires_at.is_(None), api_token.c.expires_at > now)


def _token(row: AnyRow) -> ApiToken:
    values = dict(zip(ApiToken.__struct_fields__, row, strict=True))
    values["scopes"] = str(values["scopes"]).split()
    return msgspec.convert(values, ApiToken)
