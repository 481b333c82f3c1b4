"""Passkeys: public keys of authenticators, and the challenges that were answered with them."""

from hashlib import sha256

import msgspec
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import CongestionError, UsageError
from rookery.store.database.database import Database
from rookery.store.database.rows import columns, parse_row
from rookery.store.database.tables import passkey, used_challenge

PER_ACCOUNT_MAX = 16
USED_CHALLENGES_MAX = 65_536  # of the last five minutes, in all
COUNTER_MAX = (1 << 32) - 1


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """One of an account's."""

    id: int = 0
    account: int
    credential: bytes
    public_key: bytes  # COSE
    counter: int
    name: str
    created_at: float  # wall seconds
    used_at: float | None = None

    def __repr__(self) -> str:
        return f"Passkey(id={self.id}, account={self.account})"


_ALL = select(*columns(passkey, Passkey))


class Passkeys:
    """Looked up by credential to answer a challenge, and by account for their owners."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: Passkey) -> Passkey:
        """UsageError where the account has enough, or the credential is registered already."""
        row = msgspec.structs.asdict(new)
        row["credential_hash"] = sha256(new.credential).digest()
        del row["id"]

        async def work(connection: AsyncConnection) -> int:
            count = select(func.count()).select_from(passkey)
            known = await connection.scalar(count.where(passkey.c.account == new.account))
            if int(known or 0) >= PER_ACCOUNT_MAX:
                raise UsageError(f"an account has at most {PER_ACCOUNT_MAX} passkeys")
            result = await connection.execute(insert(passkey).values(row))
            (number,) = result.inserted_primary_key or (0,)
            return int(number)

        try:
            number = await self._database.write(work)
        except IntegrityError:
            raise UsageError("this passkey is registered already") from None
        return msgspec.structs.replace(new, id=number)

    async def find(self, credential: bytes) -> Passkey | None:
        """By the id that its authenticator chose."""
        query = _ALL.where(passkey.c.credential_hash == sha256(credential).digest())

        async def work(connection: AsyncConnection) -> Passkey | None:
            row = (await connection.execute(query)).one_or_none()
            return parse_row(row, Passkey) if row else None

        return await self._database.read(work)

    async def of(self, account: int) -> list[Passkey]:
        query = _ALL.where(passkey.c.account == account).order_by(passkey.c.id)

        async def work(connection: AsyncConnection) -> list[Passkey]:
            return [parse_row(row, Passkey) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def advance(self, used: Passkey, counter: int, now: float) -> bool:
        """It was used; False where another use came in between."""
        statement = (
            update(passkey)
            .where(passkey.c.id == used.id, passkey.c.counter == used.counter)
            .values(counter=counter, used_at=now)
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)

    async def spend_challenge(self, challenge_hash: bytes, expires_at: float, now: float) -> bool:
        """False where it was answered before; those that have expired are forgotten here."""

        async def work(connection: AsyncConnection) -> None:
            old = delete(used_challenge).where(used_challenge.c.expires_at <= now)
            await connection.execute(old)
            count = await connection.scalar(select(func.count()).select_from(used_challenge))
            if int(count or 0) >= USED_CHALLENGES_MAX:
                raise CongestionError("too many are signing in at this moment; try again soon")
            row = {"challenge_hash": challenge_hash, "expires_at": expires_at}
            await connection.execute(insert(used_challenge).values(row))

        try:
            await self._database.write(work)
        except IntegrityError:
            return False
        return True
