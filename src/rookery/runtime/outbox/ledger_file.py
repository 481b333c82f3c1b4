"""An outbox in SQLite, so that it survives the process and a power failure.

WAL, and `synchronous = FULL`: a transaction is on disk when it is committed, also when the power
fails a moment later. Commits are the only waiting, so many changes share one. A handler whose
effect shall be in the same transaction writes it into this file, too.

Everything here blocks; it belongs to the ledger's own thread.
"""

import fcntl
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rookery.errors import RookeryError, UsageError
from rookery.outbox.intake import IncomingRequest, RequestOutcome, answer_of
from rookery.runtime.outbox.handling import failed, replied
from rookery.wire.outbox.frames import ID_MAX, ErrorFrame, ReplyFrame

VERSION = 1
ANSWERS_MAX = 4096  # per peer, even if the peer claims to need more

_SCHEMA = """
CREATE TABLE outbox_peers (
    host TEXT PRIMARY KEY,
    epoch TEXT NOT NULL,
    memory TEXT NOT NULL,
    began INTEGER NOT NULL DEFAULT 0,
    their_memory TEXT,
    heard TEXT NOT NULL DEFAULT '0',
    handled INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE outbox_requests (
    host TEXT NOT NULL,
    id INTEGER NOT NULL,
    qos INTEGER NOT NULL,
    wants_reply INTEGER NOT NULL,
    expires_at REAL,
    payload BLOB NOT NULL,
    PRIMARY KEY (host, id)
);
CREATE TABLE outbox_answers (
    host TEXT NOT NULL,
    id INTEGER NOT NULL,
    code INTEGER,
    payload BLOB NOT NULL,
    PRIMARY KEY (host, id)
);
PRAGMA user_version = 1;
"""

Change = tuple[str, tuple[object, ...]]  # a statement and what belongs into it
Transact = Callable[[IncomingRequest, sqlite3.Connection], bytes | None]

REGISTER = "INSERT INTO outbox_peers (host, epoch, memory) VALUES (?, ?, ?)"
ADD = "INSERT INTO outbox_requests VALUES (?, ?, ?, ?, ?, ?)"
END = "DELETE FROM outbox_requests WHERE host = ? AND id = ?"
CLEAR = "UPDATE outbox_peers SET began = max(began, ?), their_memory = ? WHERE host = ?"
REMOVE = tuple(
    f"DELETE FROM {table} WHERE host = ?"  # noqa: S608 - the names stand in the next line
    for table in ("outbox_peers", "outbox_requests", "outbox_answers")
)
_HANDLED = "UPDATE outbox_peers SET heard = ?, handled = ? WHERE host = ?"
_KEEP = "INSERT OR REPLACE INTO outbox_answers VALUES (?, ?, ?, ?)"
_FORGET = "DELETE FROM outbox_answers WHERE host = ? AND id < ?"
_CROP = (
    "DELETE FROM outbox_answers WHERE host = ?1 AND id <= (SELECT id FROM outbox_answers "
    "WHERE host = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)"
)


class KeptRequest(msgspec.Struct, frozen=True):
    """A request that has not ended."""

    id: int
    qos: int
    wants_reply: bool
    expires_at: float | None  # Unix time: the other clock begins anew with the machine
    payload: bytes


class KeptPeer(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a peer, as an earlier process left it."""

    epoch: int
    memory: int
    began: int  # requests up to this id may have been written
    their_memory: int | None
    requests: list[KeptRequest]
    heard: int  # the epoch of theirs
    handled: int
    answers: list[ReplyFrame | ErrorFrame]


class LedgerFile:
    """One open file, which no other process may have open as its outbox."""

    def __init__(self, path: Path) -> None:
        self._lock = path.with_name(f"{path.name}.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            self._lock.close()
            raise UsageError(f"cannot open the outbox {path}: {error}") from error
        try:
            self._prepare(path)
        except BaseException:
            self.close()
            raise

    def _prepare(self, path: Path) -> None:
        try:
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
            (version,) = self.connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self.connection.executescript(f"BEGIN;{_SCHEMA}COMMIT;")
            elif version != VERSION:
                raise UsageError(f"{path} is an outbox of version {version}, not {VERSION}")
        except sqlite3.Error as error:
            raise UsageError(f"{path} is no outbox: {error}") from error

    def close(self) -> None:
        self.connection.close()
        self._lock.close()

    def load(self) -> dict[str, KeptPeer]:
        """All peers and unfinished requests."""
        rows = self.connection.execute("SELECT * FROM outbox_peers").fetchall()
        return {
            host: KeptPeer(
                epoch=int(epoch),
                memory=int(memory),
                began=began,
                their_memory=None if their_memory is None else int(their_memory),
                requests=list(self._requests(host)),
                heard=int(heard),
                handled=handled,
                answers=list(self._answers(host)),
            )
            for host, epoch, memory, began, their_memory, heard, handled in rows
        }

    def _requests(self, host: str) -> Iterator[KeptRequest]:
        columns = "id, qos, wants_reply, expires_at, payload"
        query = f"SELECT {columns} FROM outbox_requests WHERE host = ? ORDER BY id"  # noqa: S608
        for id_, qos, wants_reply, expires_at, payload in self.connection.execute(query, (host,)):
            yield KeptRequest(id_, qos, bool(wants_reply), expires_at, payload)

    def _answers(self, host: str) -> Iterator[ReplyFrame | ErrorFrame]:
        query = "SELECT id, code, payload FROM outbox_answers WHERE host = ? ORDER BY id"
        for id_, code, payload in self.connection.execute(query, (host,)):
            yield (
                ReplyFrame(id_, payload)
                if code is None
                else ErrorFrame(id_, code, payload.decode())
            )

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply all changes in one transaction."""
        with self._transaction():
            for statement, values in changes:
                self.connection.execute(statement, values)

    def remember(
        self, arrivals: Sequence[IncomingRequest], outcomes: Sequence[RequestOutcome]
    ) -> None:
        """Record requests that a handler outside of the ledger has handled."""
        with self._transaction():
            self._note(arrivals, outcomes)

    def handle(
        self, arrivals: Sequence[IncomingRequest], transact: Transact
    ) -> list[RequestOutcome]:
        """Handle requests and record that in one transaction."""
        with self._transaction():
            outcomes = [self._handle(arrival, transact) for arrival in arrivals]
            self._note(arrivals, outcomes)
        return outcomes

    def _handle(self, arrival: IncomingRequest, transact: Transact) -> RequestOutcome:
        """Run the handler in a savepoint: one that fails leaves nothing but its error."""
        self.connection.execute("SAVEPOINT handler")
        try:
            outcome = replied(transact(arrival, self.connection))
        except RookeryError as error:
            outcome = failed(str(error))
        except Exception as error:  # the edge between us and the handler's author
            outcome = failed(f"the handler failed: {type(error).__name__}")
        if outcome.code is not None:
            self.connection.execute("ROLLBACK TO handler")
        self.connection.execute("RELEASE handler")
        return outcome

    def _note(
        self, arrivals: Sequence[IncomingRequest], outcomes: Sequence[RequestOutcome]
    ) -> None:
        """All are of one peer and one epoch."""
        execute, last = self.connection.execute, arrivals[-1]
        row = execute("SELECT heard FROM outbox_peers WHERE host = ?", (last.origin,)).fetchone()
        is_new_epoch = row is not None and row[0] != str(last.epoch)
        execute(_FORGET, (last.origin, ID_MAX if is_new_epoch else last.floor))
        for arrival, outcome in zip(arrivals, outcomes, strict=True):
            match answer_of(arrival, outcome) if arrival.qos else None:
                case ReplyFrame(id=id_, payload=payload):
                    execute(_KEEP, (arrival.origin, id_, None, payload))
                case ErrorFrame(id=id_, code=code, text=text):
                    execute(_KEEP, (arrival.origin, id_, code, text.encode()))
        execute(_CROP, (last.origin, ANSWERS_MAX))
        execute(_HANDLED, (str(last.epoch), last.id, last.origin))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
