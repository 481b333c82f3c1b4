"""Transactions, migrations and lost connections, in SQLite and MariaDB alike (F13)."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, insert, select, text, update
from sqlalchemy.exc import IntegrityError, ProgrammingError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import UnreachableError, UsageError
from rookery.store.accounts.audit import AuditRow, AuditTrail
from rookery.store.database import database as database_module
from rookery.store.database.database import Database
from rookery.store.database.tables import metadata, setting
from rookery.store.hubs.settings import Settings
from tests.patience import PATIENCE_S
from tests.store.servers import PASSWORD, MariaServer


def differences(connection: Connection) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    context = MigrationContext.configure(connection, opts=options)
    return list(compare_metadata(context, metadata))


async def test_the_migrations_lead_to_the_tables(database: Database) -> None:
    async def work(connection: AsyncConnection) -> list[object]:
        return await connection.run_sync(differences)

    assert await database.read(work) == []


async def test_a_difference_would_be_noticed(database_url: str) -> None:
    database = await Database.open(database_url)
    await database.migrate()

    async def work(connection: AsyncConnection) -> list[object]:
        await connection.execute(text("DROP TABLE audit"))
        await connection.execute(text("ALTER TABLE device DROP COLUMN name"))
        return await connection.run_sync(differences)

    assert len(await database.write(work)) >= 2
    await database.close()


async def test_migrating_again_changes_nothing(database: Database) -> None:
    await Settings(database).put("name", b"value")
    await database.migrate()
    assert await Settings(database).get("name") == b"value"


async def test_hubs_that_start_together_migrate_once(
    database_url: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    hubs = [await Database.open(database_url) for _ in range(3)]
    await asyncio.gather(*(hub.migrate() for hub in hubs))
    assert await Settings(hubs[0]).get("name") is None
    for hub in hubs:
        await hub.close()
    assert capfd.readouterr() == ("", "")
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_transaction_is_done_or_not_at_all(database: Database) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute(insert(setting).values(name="a", value=b"1"))
        await connection.execute(insert(setting).values(name="a", value=b"2"))

    with pytest.raises(IntegrityError):
        await database.write(work)
    assert await Settings(database).get("a") is None


async def test_concurrent_writers_all_get_their_turn(database: Database) -> None:
    """Each reads and writes what it read, plus one: none is lost."""
    await Settings(database).put("count", b"0")

    async def work(connection: AsyncConnection) -> None:
        query = select(setting.c.value).where(setting.c.name == "count").with_for_update()
        count = int(await connection.scalar(query) or b"")
        statement = update(setting).where(setting.c.name == "count")
        await connection.execute(statement.values(value=b"%d" % (count + 1)))

    await asyncio.gather(*(database.write(work) for _ in range(50)))
    assert await Settings(database).get("count") == b"50"


async def test_a_deadlock_is_tried_again(database: Database) -> None:
    """Two that take the same rows in opposite order: MariaDB ends one of them."""
    settings = Settings(database)
    await settings.put("a", b"")
    await settings.put("b", b"")
    first_taken = {"a": asyncio.Event(), "b": asyncio.Event()}

    async def take(connection: AsyncConnection, name: str, value: bytes) -> None:
        where = setting.c.name == name
        await connection.execute(update(setting).where(where).values(value=value))

    async def hub(mine: str, theirs: str) -> None:
        async def work(connection: AsyncConnection) -> None:
            await take(connection, mine, mine.encode())
            first_taken[mine].set()
            if not database.is_sqlite:
                await first_taken[theirs].wait()
            await take(connection, theirs, mine.encode())

        await database.write(work)

    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(hub("a", "b"), hub("b", "a"))
    assert await settings.get("a") == await settings.get("b")


async def test_it_is_ready(database: Database) -> None:
    assert await database.ready()


async def test_statements_and_values_are_in_no_log_and_no_error(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secret = "hidden value"
    await Settings(database).put(secret, secret.encode())

    async def work(connection: AsyncConnection) -> None:
        statement = text("INSERT INTO nowhere VALUES (:value)")
        await connection.execute(statement, {"value": secret})

    with pytest.raises(SQLAlchemyError) as caught:
        await database.write(work)
    assert secret not in str(caught.value)
    assert secret not in caplog.text
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(database)


async def test_sqlite_is_set_up_to_last(tmp_path: Path) -> None:
    database = await Database.open(f"sqlite:///{tmp_path / 'hub.db'}")

    async def work(connection: AsyncConnection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [await connection.scalar(text(f"PRAGMA {name}")) for name in names]

    assert await database.read(work) == ["wal", 2, 1, 5000]
    await database.close()


async def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    database = await Database.open(f"sqlite:///{tmp_path / 'hub.db'}")
    await database.migrate()
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in os.scandir(tmp_path)}
    assert modes == {"hub.db": 0o600, "hub.db-wal": 0o600, "hub.db-shm": 0o600}
    await database.close()


async def test_a_file_that_is_no_database_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "hub.db").write_text("no database at all, but long enough to be looked at" * 100)
    for file in ("hub.db", "no/such/folder.db"):
        with pytest.raises(UsageError, match="refuses us"):
            await Database.open(f"sqlite:///{tmp_path / file}")


@pytest.mark.xdist_group("databases")
class TestMaria:
    """What only a server can do to us."""

    @pytest.fixture
    async def remote(self, maria_server: MariaServer) -> AsyncIterator[Database]:
        opened = await Database.open(maria_server.emptied())
        await opened.migrate()
        yield opened
        await opened.close()

    async def test_a_wrong_password_is_a_wrong_setting(self, maria_server: MariaServer) -> None:
        wrong = "not it at all"
        for url in (
            maria_server.url_of("rookery", password=wrong),
            maria_server.url_of("rookery", user="nobody", password=wrong),
            maria_server.url_of("no_such_database"),
        ):
            with pytest.raises(UsageError, match="refuses us") as caught:
                await Database.open(url)
            assert wrong not in str(caught.value)

    async def test_the_password_may_be_elsewhere(
        self, maria_server: MariaServer, tmp_path: Path
    ) -> None:
        bare = f"mysql://hub@127.0.0.1:{maria_server.port}/rookery"
        (tmp_path / "password").write_text(PASSWORD + "\n")
        with_file = await Database.open(f"{bare}?password_file={tmp_path / 'password'}")
        await with_file.close()
        with_variable = await Database.open(
            bare, environment={"ROOKERY_DATABASE_PASSWORD": PASSWORD}
        )
        await with_variable.close()

    async def test_a_restart_loses_no_write(
        self, remote: Database, maria_server: MariaServer
    ) -> None:
        """Writers go on through it; each row is there, in doubt twice, and none waits for ever."""
        audit = AuditTrail(remote)
        restarted = asyncio.Event()

        async def write(name: str) -> int:
            count = 0
            while not restarted.is_set() or count < 10:
                await audit.add(AuditRow(at=float(count), who=name, what="write"))
                count += 1
            return count

        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
            writers = {name: tasks.create_task(write(name)) for name in ("a", "b")}
            for _ in range(2):
                await asyncio.to_thread(maria_server.restart)
            restarted.set()
        for name, writer in writers.items():
            rows = await audit.latest(who=name, limit=100_000)
            assert {int(row.at) for row in rows} == set(range(writer.result()))

    async def test_a_server_that_stays_away_is_unreachable(
        self,
        remote: Database,
        maria_server: MariaServer,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(database_module, "FIRST_PAUSE_S", 0.001)
        await asyncio.to_thread(maria_server.stop)
        try:
            assert not await remote.ready()
            with pytest.raises(UnreachableError):
                await Settings(remote).get("name")
            with pytest.raises(UnreachableError):
                await Settings(remote).put("name", b"value")
            with pytest.raises(UnreachableError):
                await Database.open(maria_server.url)
        finally:
            await asyncio.to_thread(maria_server.start)
        await Settings(remote).put("name", b"value")
        assert await remote.ready()

    async def test_our_own_mistakes_are_not_tried_again(self, remote: Database) -> None:
        attempts = 0

        async def work(connection: AsyncConnection) -> None:
            nonlocal attempts
            attempts += 1
            await connection.execute(text("SELECT nothing FROM nowhere"))

        with pytest.raises(ProgrammingError):
            await remote.read(work)
        assert attempts == 1

    async def test_a_value_that_does_not_fit_is_an_error(self, remote: Database) -> None:
        with pytest.raises(SQLAlchemyError):
            await Settings(remote).put("n" * 65, b"value")
