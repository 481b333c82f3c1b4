"""Database: one pool of connections, and transactions that survive a lost one.

A transaction is a coroutine function of a connection. It is begun anew, a bounded number of times,
when the server went away, chose it as the victim of a deadlock or was busy; so it must do nothing
but read and write rows. A database that stays away is an UnreachableError. No parameter and no
password is ever part of an error's text.
"""

import asyncio
import os
import random
import sqlite3
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import URL, Connection, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from rookery.errors import UnreachableError, UsageError
from rookery.store.database import migration
from rookery.store.database.url import database_url

ATTEMPTS_MAX = 7
FIRST_PAUSE_S = 0.05  # then 2.5 times as long each time: eight seconds in all
CONNECT_S = 5
ANSWER_S = 30

_READING = "rookery_reading"
# Deadlock, lock wait, too many connections, shutting down, killed, and the client's own codes.
_MYSQL_TRANSIENT = {1040, 1053, 1205, 1213, 1317, 1927, 2002, 2003, 2006, 2013, 2055, 4031}
_MYSQL_USAGE = {1044, 1045, 1049, 1698}  # access denied, no such database
_SQLITE_TRANSIENT = ("database is locked", "database table is locked", "database is busy")
_SQLITE_USAGE = ("unable to open database file", "readonly database")

T = TypeVar("T")
Work = Callable[[AsyncConnection], Awaitable[T]]


class Database:
    """`await Database.open(url)`, then `migrate()`; `close()` at the end."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reader = engine.execution_options(**{_READING: True})
        self.is_sqlite = engine.dialect.name == "sqlite"
        # SQLite allows one writer at a time; waiting here avoids polling its lock.
        self._turn = asyncio.Semaphore(1 if self.is_sqlite else 64)

    @classmethod
    async def open(cls, url: str, *, environment: Mapping[str, str] = os.environ) -> Self:
        """Connect once, so that a wrong URL is noticed now; UsageError, UnreachableError."""
        place = database_url(url, environment)
        if place.get_backend_name() == "sqlite":
            await asyncio.to_thread(_probe_sqlite_file, place.database or "")
        database = cls(_engine(place))
        try:
            await database.read(_ping)
        except BaseException:
            await database.close()
            raise
        return database

    def __repr__(self) -> str:
        return f"Database({self._engine.url.render_as_string(hide_password=True)})"

    async def migrate(self) -> None:
        """Bring the tables up to date; concurrent callers wait."""
        await self.write(migration.upgrade)

    async def read(self, work: Work[T]) -> T:
        """What the work finds, in one consistent view."""
        return await self._attempt(self._reader, work)

    async def write(self, work: Work[T]) -> T:
        """Run the work and commit; returns its result. IntegrityError is left to the work."""
        async with self._turn:
            return await self._attempt(self._engine, work)

    async def ready(self) -> bool:
        """Whether it answers now; never raises."""
        try:
            async with asyncio.timeout(CONNECT_S), self._reader.begin() as connection:
                await _ping(connection)
        except (SQLAlchemyError, OSError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        await self._engine.dispose()

    async def _attempt(self, engine: AsyncEngine, work: Work[T]) -> T:
        pause_s = FIRST_PAUSE_S
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                async with engine.begin() as connection:
                    return await work(connection)
            except IntegrityError:
                raise
            except (SQLAlchemyError, OSError, TimeoutError) as error:
                _raise_permanent(error)
                if attempt == ATTEMPTS_MAX:
                    raise UnreachableError(
                        f"the database does not answer: {_error_text(error)}"
                    ) from None
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - to spread hubs
            pause_s *= 2.5
        raise AssertionError("the last attempt returns or raises")


async def _ping(connection: AsyncConnection) -> None:
    await connection.execute(text("SELECT 1"))


def _probe_sqlite_file(file: str) -> None:
    """Before there is a pool, whose threads would not survive a refusal quietly."""
    try:
        # The secret of all secrets is in there; SQLite's other files follow this one's mode.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(file, timeout=CONNECT_S)) as connection:
            connection.execute("PRAGMA schema_version")
    except (sqlite3.Error, OSError) as error:
        raise UsageError(f"the database {file} refuses us: {error}") from None


def _raise_permanent(error: BaseException) -> None:
    """Raise what no further attempt can help."""
    if isinstance(error, OSError | TimeoutError | PoolTimeoutError):
        return
    if not isinstance(error, DBAPIError):
        raise error
    code, said = _mysql_error_number(error), str(error.orig).lower()
    if code in _MYSQL_USAGE or any(part in said for part in _SQLITE_USAGE):
        raise UsageError(f"the database refuses us: {_error_text(error)}") from None
    if error.connection_invalidated or code in _MYSQL_TRANSIENT:
        return
    if any(part in said for part in _SQLITE_TRANSIENT):
        return
    if "disk is full" in said or "disk i/o error" in said or code in {1021, 1114}:
        raise UnreachableError(f"the database cannot write: {_error_text(error)}") from None
    raise error


def _mysql_error_number(error: DBAPIError) -> int | None:
    """MySQL's number of an error."""
    values = error.orig.args if error.orig is not None else ()
    return values[0] if values and isinstance(values[0], int) else None


def _error_text(error: BaseException) -> str:
    """The server's own words: with neither statement nor parameters."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    return f"{type(origin).__name__}: {origin}"[:200]


def _engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    return _mysql_engine(url)


def _sqlite_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, hide_parameters=True, pool_size=4, max_overflow=4)

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # we say ourselves when a transaction begins
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA busy_timeout = 5000")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        # One that reads first and then writes would lose what it had read.
        is_reading = connection.get_execution_options().get(_READING, False)
        connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")

    return engine


def _mysql_engine(url: URL) -> AsyncEngine:
    arguments: dict[str, object] = {"connect_timeout": CONNECT_S, "read_timeout": ANSWER_S}
    if isinstance(authority := url.query.get("ssl_ca"), str):
        arguments["ssl"] = _tls_context(Path(authority))
        url = url.difference_update_query(["ssl_ca"])
    engine = create_async_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,
        pool_size=8,
        max_overflow=8,
        pool_timeout=CONNECT_S,
        pool_recycle=1800,
        isolation_level="READ COMMITTED",
        connect_args=arguments,
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        # A value that does not fit is an error, not shortened.
        cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'")
        cursor.close()

    return engine


def _tls_context(file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError as error:
        raise UsageError(f"no certificates in {file}: {error}") from error
