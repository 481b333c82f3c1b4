"""Second factors in the database, SQLite and MariaDB alike, and databases of before them."""

import asyncio
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import UsageError
from rookery.store.accounts.accounts import Account, Accounts
from rookery.store.accounts.passkeys import Passkey, Passkeys
from rookery.store.accounts.second_factors import FactorCount, SecondFactors, Totp
from rookery.store.accounts.sessions import BrowserSession, BrowserSessions
from rookery.store.accounts.tokens import ApiTokens
from rookery.store.database import migration
from rookery.store.database.database import Database

BEFORE = "0004"
STEPS = Path(migration.__file__).parents[1] / "migrations"
NONE = FactorCount(has_totp=False, passkeys=0, recovery_codes=0)


async def somebody(database: Database, login: str = "ann") -> Account:
    return await Accounts(database).add(login, "hash", now=1.0)


def passkey(account: Account, credential: bytes, counter: int = 0) -> Passkey:
    return Passkey(
        account=account.id,
        credential=credential,
        public_key=b"key",
        counter=counter,
        name="laptop",
        created_at=1.0,
    )


async def confirmed(factors: SecondFactors, account: Account, sealed: bytes = b"sealed") -> Totp:
    app = Totp(account=account.id, sealed=sealed, created_at=1.0)
    assert await factors.propose(app)
    assert await factors.confirm(app, 7, 2.0)
    return app


def to_before(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, BEFORE)


async def test_a_database_of_before_keeps_its_accounts_sessions_and_tokens(
    database_url: str,
) -> None:
    database = await Database.open(database_url)

    async def old(connection: AsyncConnection) -> None:
        await connection.run_sync(to_before)

    await database.write(old)
    ann = await somebody(database)
    await BrowserSessions(database).add(BrowserSession(bytes(32), ann.id, 1.0, 1.0, 99.0))
    await ApiTokens(database).add(bytes(32), ann.id, "ci", ("read",), now=1.0)
    await database.migrate()
    assert await Accounts(database).find("ann") == ann
    assert len(await BrowserSessions(database).of(ann.id, 2.0)) == 1
    assert len(await ApiTokens(database).of(ann.id)) == 1
    factors = SecondFactors(database)
    assert await factors.count(ann.id) == NONE
    await confirmed(factors, ann)
    assert (await factors.count(ann.id)).is_any
    await database.close()


async def test_an_app_counts_once_it_is_confirmed(database: Database) -> None:
    ann, factors = await somebody(database), SecondFactors(database)
    first = Totp(account=ann.id, sealed=b"first", created_at=1.0)
    second = Totp(account=ann.id, sealed=b"second", created_at=2.0)
    assert await factors.propose(first)
    assert await factors.propose(second)
    assert not await factors.confirm(first, 7, 3.0)  # it was replaced
    assert await factors.count(ann.id) == NONE
    assert not await factors.remove_totp(ann.id)
    assert await factors.confirm(second, 7, 3.0)
    assert not await factors.confirm(second, 8, 3.0)
    assert not await factors.propose(first)
    kept = await factors.totp(ann.id)
    assert kept is not None
    assert (kept.sealed, kept.last_step, kept.confirmed_at) == (b"second", 7, 3.0)


async def test_of_concurrent_uses_of_a_step_one_succeeds(database: Database) -> None:
    ann, factors = await somebody(database), SecondFactors(database)
    await confirmed(factors, ann)
    got = await asyncio.gather(*(factors.spend_step(ann.id, 8) for _ in range(8)))
    assert sorted(got) == [False] * 7 + [True]
    assert not await factors.spend_step(ann.id, 7)
    assert await factors.spend_step(ann.id, 9)


async def test_a_recovery_code_is_spent_once_and_by_its_account(database: Database) -> None:
    ann, bob = await somebody(database), await somebody(database, "bob")
    factors, hashes = SecondFactors(database), [bytes([number]) * 32 for number in range(10)]
    await confirmed(factors, ann)
    await factors.replace_recovery_codes(ann.id, hashes, 1.0)
    assert not await factors.has_recovery_code(bob.id, hashes[0])
    assert not await factors.spend_recovery_code(bob.id, hashes[0])
    got = await asyncio.gather(*(factors.spend_recovery_code(ann.id, hashes[0]) for _ in range(4)))
    assert sorted(got) == [False] * 3 + [True]
    assert (await factors.count(ann.id)).recovery_codes == 9
    await factors.replace_recovery_codes(ann.id, [bytes(32)[:31] + b"\xff"], 1.0)
    assert (await factors.count(ann.id)).recovery_codes == 1


async def test_recovery_codes_go_with_the_last_factor(database: Database) -> None:
    ann, factors = await somebody(database), SecondFactors(database)
    await confirmed(factors, ann)
    kept = await Passkeys(database).add(passkey(ann, b"a"))
    await factors.replace_recovery_codes(ann.id, [bytes(32)], 1.0)
    assert await factors.remove_totp(ann.id)
    assert (await factors.count(ann.id)).recovery_codes == 1
    assert not await factors.remove_passkey(ann.id, kept.id + 1)
    assert await factors.remove_passkey(ann.id, kept.id)
    assert await factors.count(ann.id) == NONE


async def test_all_factors_go_at_once_and_with_the_account(database: Database) -> None:
    ann, bob = await somebody(database), await somebody(database, "bob")
    factors, passkeys = SecondFactors(database), Passkeys(database)
    for account, credential in ((ann, b"a"), (bob, b"b")):
        await confirmed(factors, account)
        await passkeys.add(passkey(account, credential))
        await factors.replace_recovery_codes(account.id, [credential * 32], 1.0)
    was = await factors.remove_all(ann.id)
    assert was == FactorCount(has_totp=True, passkeys=1, recovery_codes=1)
    assert await factors.count(ann.id) == NONE
    assert (await factors.count(bob.id)).is_any
    await Accounts(database).remove(bob.id)

    async def left(connection: AsyncConnection) -> int:
        names = ("totp", "passkey", "recovery_code")
        counts = [await connection.scalar(text(f"SELECT COUNT(*) FROM {name}")) for name in names]
        return sum(int(count or 0) for count in counts)

    assert await database.read(left) == 0


async def test_passkeys_are_found_by_their_credential(database: Database) -> None:
    ann, bob = await somebody(database), await somebody(database, "bob")
    passkeys, long = Passkeys(database), bytes(range(256)) * 4
    first = await passkeys.add(passkey(ann, long[:1023]))
    second = await passkeys.add(passkey(ann, long[:1022]))
    assert await passkeys.find(long[:1023]) == first
    assert await passkeys.of(ann.id) == [first, second]
    assert await passkeys.find(b"unknown") is None
    with pytest.raises(UsageError, match="registered already"):
        await passkeys.add(passkey(bob, long[:1023]))


async def test_of_two_uses_at_once_one_advances_the_counter(database: Database) -> None:
    ann, passkeys = await somebody(database), Passkeys(database)
    used = await passkeys.add(passkey(ann, b"a", counter=3))
    got = await asyncio.gather(*(passkeys.advance(used, 4, 9.0) for _ in range(4)))
    assert sorted(got) == [False] * 3 + [True]
    found = await passkeys.find(b"a")
    assert found is not None
    assert (found.counter, found.used_at) == (4, 9.0)
    assert await passkeys.advance(found, (1 << 32) - 1, 9.0)


async def test_a_challenge_is_spent_once(database: Database) -> None:
    passkeys = Passkeys(database)
    got = await asyncio.gather(*(passkeys.spend_challenge(bytes(32), 300.0, 1.0) for _ in range(4)))
    assert sorted(got) == [False] * 3 + [True]
    assert await passkeys.spend_challenge(bytes(32), 600.0, 301.0)  # the old row had expired
