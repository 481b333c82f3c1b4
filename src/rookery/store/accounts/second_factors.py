"""Second factors of accounts, as the database has them: sealed, hashed, and used once."""

from collections.abc import Collection

import msgspec
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.database.database import Database
from rookery.store.database.rows import columns, parse_row, upsert
from rookery.store.database.tables import passkey, recovery_code, totp


class Totp(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticator app."""

    account: int
    sealed: bytes
    created_at: float  # wall seconds
    confirmed_at: float | None = None  # None: it has shown no code yet, and counts for nothing
    last_step: int = 0

    def __repr__(self) -> str:
        return f"Totp(account={self.account})"


class FactorCount(msgspec.Struct, frozen=True, kw_only=True):
    """Which second factors an account has."""

    has_totp: bool
    passkeys: int
    recovery_codes: int

    @property
    def is_any(self) -> bool:
        """Whether a password alone is not enough; recovery codes alone are no factor."""
        return self.has_totp or self.passkeys > 0


_TOTP = columns(totp, Totp)


class SecondFactors:
    """By account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, account: int) -> FactorCount:
        """What there is; also for an account that is not there."""

        async def work(connection: AsyncConnection) -> FactorCount:
            return await _counted(connection, account)

        return await self._database.read(work)

    async def totp(self, account: int) -> Totp | None:
        """Confirmed or not."""
        query = select(*_TOTP).where(totp.c.account == account)

        async def work(connection: AsyncConnection) -> Totp | None:
            row = (await connection.execute(query)).one_or_none()
            return parse_row(row, Totp) if row else None

        return await self._database.read(work)

    async def propose(self, new: Totp) -> bool:
        """Keep an app until its first code comes; False where a confirmed one is there."""

        async def work(connection: AsyncConnection) -> bool:
            query = select(totp.c.confirmed_at).where(totp.c.account == new.account)
            if await connection.scalar(query) is not None:
                return False
            row = msgspec.structs.asdict(new)
            await connection.execute(upsert(connection.dialect, totp), row)
            return True

        return await self._database.write(work)

    async def confirm(self, proposed: Totp, step: int, now: float) -> bool:
        """Its first code came; False if another app was proposed since."""
        statement = (
            update(totp)
            .where(
                totp.c.account == proposed.account,
                totp.c.sealed == proposed.sealed,
                totp.c.confirmed_at.is_(None),
            )
            .values(confirmed_at=now, last_step=step)
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def spend_step(self, account: int, step: int) -> bool:
        """Take the code of a half minute; False where it, or a later one, was taken before."""
        statement = (
            update(totp)
            .where(totp.c.account == account, totp.c.last_step < step)
            .values(last_step=step)
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def has_recovery_code(self, account: int, code_hash: bytes) -> bool:
        query = (
            select(func.count())
            .select_from(recovery_code)
            .where(recovery_code.c.account == account, recovery_code.c.code_hash == code_hash)
        )

        async def work(connection: AsyncConnection) -> bool:
            return bool(await connection.scalar(query))

        return await self._database.read(work)

    async def spend_recovery_code(self, account: int, code_hash: bytes) -> bool:
        """Use a code up; False where there is no such one any more."""
        statement = delete(recovery_code).where(
            recovery_code.c.account == account, recovery_code.c.code_hash == code_hash
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def replace_recovery_codes(
        self, account: int, code_hashes: Collection[bytes], now: float
    ) -> None:
        """Those of before are worth nothing from now on."""
        rows = [
            {"code_hash": code_hash, "account": account, "created_at": now}
            for code_hash in code_hashes
        ]

        async def work(connection: AsyncConnection) -> None:
            old = delete(recovery_code).where(recovery_code.c.account == account)
            await connection.execute(old)
            await connection.execute(insert(recovery_code), rows)

        await self._database.write(work)

    async def remove_totp(self, account: int) -> bool:
        """False when there is no confirmed one; recovery codes go with the last factor."""

        async def work(connection: AsyncConnection) -> bool:
            gone = await connection.execute(
                delete(totp).where(totp.c.account == account, totp.c.confirmed_at.is_not(None))
            )
            await _drop_codes_of_none(connection, account)
            return gone.rowcount > 0

        return await self._database.write(work)

    async def remove_passkey(self, account: int, number: int) -> bool:
        """False when the account has no such one; recovery codes go with the last factor."""

        async def work(connection: AsyncConnection) -> bool:
            gone = await connection.execute(
                delete(passkey).where(passkey.c.account == account, passkey.c.id == number)
            )
            await _drop_codes_of_none(connection, account)
            return gone.rowcount > 0

        return await self._database.write(work)

    async def remove_all(self, account: int) -> FactorCount:
        """Remove all factors of an account that has lost them; returns what was removed."""

        async def work(connection: AsyncConnection) -> FactorCount:
            there = await _counted(connection, account)
            for table in (totp, passkey, recovery_code):
                await connection.execute(delete(table).where(table.c.account == account))
            return there

        return await self._database.write(work)


async def _counted(connection: AsyncConnection, account: int) -> FactorCount:
    confirmed = select(totp.c.account).where(
        totp.c.account == account, totp.c.confirmed_at.is_not(None)
    )
    keys = select(func.count()).select_from(passkey).where(passkey.c.account == account)
    codes = (
        select(func.count()).select_from(recovery_code).where(recovery_code.c.account == account)
    )
    return FactorCount(
        has_totp=await connection.scalar(confirmed) is not None,
        passkeys=int(await connection.scalar(keys) or 0),
        recovery_codes=int(await connection.scalar(codes) or 0),
    )


async def _drop_codes_of_none(connection: AsyncConnection, account: int) -> None:
    if not (await _counted(connection, account)).is_any:
        statement = delete(recovery_code).where(recovery_code.c.account == account)
        await connection.execute(statement)
