"""Accounts: logins, passwords and roles."""

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import UsageError
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns, parse_row
from rookery.store.database.tables import account, api_token, code, web_session

LOGIN_SIZE_MAX = 64
PAGE = 100

Role = Literal["user", "operator", "admin"]


class LoginTakenError(UsageError):
    """Another account has this login."""


class Account(msgspec.Struct, frozen=True):
    """One account."""

    id: int
    login: str
    password_hash: str
    role: Role
    created_at: float  # wall seconds
    language: str | None = None  # of the pages; None: as the browser says
    theme: str | None = None

    def __repr__(self) -> str:
        return f"Account(id={self.id}, login={self.login!r}, role={self.role!r})"


_ALL = select(*columns(account, Account))


class Accounts:
    """The accounts of a database; logins are compared without regard to case."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, login: str, password_hash: str, *, now: float, role: Role = "user"
    ) -> Account:
        """LoginTakenError, or UsageError for what cannot be a login."""
        name = _login(login)
        row = {"login": name, "password_hash": password_hash, "role": role, "created_at": now}

        async def work(connection: AsyncConnection) -> int:
            result = await connection.execute(insert(account).values(row))
            (number,) = result.inserted_primary_key or (0,)
            return int(number)

        try:
            number = await self._database.write(work)
        except IntegrityError:
            raise LoginTakenError(f"the login {name} is taken") from None
        return Account(number, name, password_hash, role, now)

    async def find(self, login: str) -> Account | None:
        """By login; for any text, also one that never could be a login."""
        query = _ALL.where(account.c.login == login.casefold()[: LOGIN_SIZE_MAX + 1])

        async def work(connection: AsyncConnection) -> Account | None:
            row = (await connection.execute(query)).one_or_none()
            # MySQL takes `bob` for `bob `.
            found = _account(row) if row else None
            return found if found and found.login == login.casefold() else None

        return await self._database.read(work)

    async def get(self, number: int) -> Account | None:
        """By its number."""

        async def work(connection: AsyncConnection) -> Account | None:
            row = (await connection.execute(_ALL.where(account.c.id == number))).one_or_none()
            return _account(row) if row else None

        return await self._database.read(work)

    async def logins(self, numbers: Collection[int]) -> dict[int, str]:
        """Of those accounts that there are."""
        query = select(account.c.id, account.c.login).where(account.c.id.in_(list(numbers)))

        async def work(connection: AsyncConnection) -> dict[int, str]:
            return {row.id: row.login for row in await connection.execute(query)}

        return await self._database.read(work) if numbers else {}

    async def all(self, *, after: int = 0, limit: int = PAGE) -> list[Account]:
        """In order of their numbers, those after one."""
        query = _ALL.where(account.c.id > after).order_by(account.c.id).limit(limit)

        async def work(connection: AsyncConnection) -> list[Account]:
            return [_account(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def count(self) -> int:
        async def work(connection: AsyncConnection) -> int:
            return int(await connection.scalar(select(func.count()).select_from(account)) or 0)

        return await self._database.read(work)

    async def set_password(self, number: int, password_hash: str, *, kept: bytes = b"") -> None:
        """And end its sessions but one, its tokens and its open codes, all at once.

        Someone who knew the old password may have them.
        """
        values = {"password_hash": password_hash}
        statements = (
            update(account).where(account.c.id == number).values(values),
            delete(web_session).where(
                web_session.c.account == number, web_session.c.key_hash != kept
            ),
            delete(api_token).where(api_token.c.account == number),
            delete(code).where(code.c.owner == number, code.c.used_by == ""),
        )

        async def work(connection: AsyncConnection) -> None:
            for statement in statements:
                await connection.execute(statement)

        await self._database.write(work)

    async def set_role(self, number: int, role: Role) -> None:
        """An account that may not add servers has no open codes for them either."""
        for_servers = delete(code).where(
            code.c.owner == number, code.c.kind == "server", code.c.used_by == ""
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                update(account).where(account.c.id == number).values({"role": role})
            )
            if role == "user":
                await connection.execute(for_servers)

        await self._database.write(work)

    async def prefer(self, number: int, language: str | None, theme: str | None) -> None:
        """Store language and theme of the pages."""
        await self._set(number, {"language": language, "theme": theme})

    async def _set(self, number: int, values: Mapping[str, str | None]) -> None:
        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                update(account).where(account.c.id == number).values(dict(values))
            )

        await self._database.write(work)

    async def remove(self, number: int) -> None:
        """With its sessions, tokens and claims on devices."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(delete(account).where(account.c.id == number))

        await self._database.write(work)


def _login(login: str) -> str:
    name = login.casefold()
    if not 1 <= len(name) <= LOGIN_SIZE_MAX or not name.isprintable() or name != name.strip():
        raise UsageError(f"a login has 1 to {LOGIN_SIZE_MAX} printable characters")
    return name


def _account(row: AnyRow) -> Account:
    return parse_row(row, Account)
