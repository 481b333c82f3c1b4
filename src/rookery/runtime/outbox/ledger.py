"""Keeps an outbox on disk without blocking the event loop.

    loop    added, ended, clear ─▶ changes ─┐             ┌─▶ cleared: may be written
    thread                                  └─▶ one commit ┘     … and meanwhile the next gather

One thread commits; changes that arrive meanwhile form the next transaction. A batch of arrivals
belongs to one peer and one epoch.
"""

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TypeVar

from rookery.errors import UnreachableError
from rookery.outbox.intake import IncomingRequest, RequestOutcome
from rookery.outbox.ledger import RequestNumbering
from rookery.outbox.request import OutboxRequest
from rookery.runtime.outbox.handling import BATCH_MAX, HandlerOf, RequestExecutor, outcome
from rookery.runtime.outbox.ledger_file import (
    ADD,
    CLEAR,
    END,
    REGISTER,
    REMOVE,
    Change,
    KeptPeer,
    LedgerFile,
    Transact,
)

Cleared = Callable[[str, int], None]  # host, id
Failed = Callable[[Exception], None]

_Result = TypeVar("_Result")


class SqliteLedger:
    """The file at `path`; opened at once, UsageError when that fails."""

    def __init__(self, path: Path) -> None:
        self._file = LedgerFile(path)
        self.kept: dict[str, KeptPeer] = self._file.load()
        self._thread = ThreadPoolExecutor(1, "outbox-ledger")
        self._loop = asyncio.get_running_loop()
        self._changes: list[Change] = []
        self._marks: list[tuple[str, int]] = []  # to report as cleared when the changes are on disk
        self._ending: dict[str, int] = {}  # by host: the lowest ended id among the changes
        self._ended: dict[str, int] = {}  # the same among those that are being committed
        self._waiters: list[asyncio.Future[None]] = []
        self._commits: asyncio.Task[None] | None = None
        self._cleared: Cleared | None = None
        self._failed: Failed | None = None
        self._failure: Exception | None = None

    def executor(self, handler: HandlerOf, transact: Transact | None) -> RequestExecutor:
        """An executor that records in the ledger what it handled."""
        return _LedgerExecutor(self, handler, transact)

    def bind(self, cleared: Cleared, failed: Failed) -> None:
        """Set the callbacks for cleared requests and for a failure of the disk."""
        self._cleared = cleared
        self._failed = failed

    # --- changes of the core ---

    def added(self, host: str, request: OutboxRequest) -> None:
        if request.qos:  # QoS 0 is sent at most once, so not again after a restart
            expires_at = request.expires_at
            if expires_at is not None:
                expires_at += time.time() - time.monotonic()
            self._change(
                ADD,
                host,
                request.id,
                int(request.qos),
                request.wants_reply,
                expires_at,
                request.payload,
            )

    def ended(self, host: str, request: OutboxRequest) -> None:
        if request.qos:
            self._ending[host] = min(self._ending.get(host, request.id), request.id)
            self._change(END, host, request.id)

    def clear(self, host: str, id_: int, memory: int) -> None:
        self._marks.append((host, id_))
        self._change(CLEAR, id_, str(memory), host)

    def floor(self, host: str, floor: int) -> int:
        return min(floor, self._ending.get(host, floor), self._ended.get(host, floor))

    # --- requests of the outbox ---

    def register(self, host: str, numbering: RequestNumbering) -> None:
        """Add a peer; `flush` before its numbering is sent to anyone."""
        self._change(REGISTER, host, str(numbering.epoch), str(numbering.memory))

    def remove(self, host: str) -> None:
        self.kept.pop(host, None)
        for statement in REMOVE:
            self._change(statement, host)

    async def flush(self) -> None:
        """Wait until everything so far is on disk; UnreachableError when that fails."""
        if self._failure is not None:
            raise UnreachableError(f"the outbox is not kept any more: {self._failure}")
        if self._commits is not None:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    async def close(self) -> None:
        if self._commits is not None:
            await asyncio.gather(self._commits, return_exceptions=True)
        self._thread.shutdown()
        self._file.close()

    async def remember(self, arrival: IncomingRequest, made: RequestOutcome) -> None:
        await self._run(partial(self._file.remember, [arrival], [made]))

    async def handle(
        self, arrivals: Sequence[IncomingRequest], transact: Transact
    ) -> list[RequestOutcome]:
        return await self._run(partial(self._file.handle, arrivals, transact))

    # --- commits ---

    def _change(self, statement: str, *values: object) -> None:
        if self._failure is not None:
            return
        self._changes.append((statement, values))
        if self._commits is None:
            self._commits = self._loop.create_task(self._commit())

    async def _commit(self) -> None:
        waiters: list[asyncio.Future[None]] = []
        try:
            while self._changes:
                changes, self._changes = self._changes, []
                marks, self._marks = self._marks, []
                waiters, self._waiters = self._waiters, []
                self._ended, self._ending = self._ending, {}
                await self._run(partial(self._file.apply, changes))
                self._ended = {}
                _tell(waiters, None)
                for host, id_ in marks:
                    assert self._cleared is not None
                    self._cleared(host, id_)
        except UnreachableError as error:  # `_run` has reported it
            _tell(waiters, error)
        finally:
            self._commits = None
            _tell(self._waiters, self._failure)  # waiters that came since the last commit
            self._waiters = []

    async def _run(self, work: Callable[[], _Result]) -> _Result:
        try:
            # The waiting task may be cancelled; work that was submitted is still done.
            return await asyncio.shield(self._loop.run_in_executor(self._thread, work))
        except sqlite3.Error as error:
            self._failure = error
            if self._failed is not None:
                self._failed(error)
            raise UnreachableError(f"the outbox is not kept any more: {error}") from error


def _tell(waiters: list[asyncio.Future[None]], error: Exception | None) -> None:
    for waiter in waiters:
        if waiter.done():
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(UnreachableError(f"the outbox is not kept any more: {error}"))


class _LedgerExecutor:
    """Handles requests and records that in the ledger, so that it is known after a crash.

    `transact` takes effect in the ledger's own transaction: exactly once. `handler` may have
    effects anywhere, and a separate commit follows: a crash between the two repeats it.
    """

    def __init__(self, ledger: SqliteLedger, handler: HandlerOf, transact: Transact | None) -> None:
        self._ledger = ledger
        self._handler = handler
        self._transact = transact

    async def handle(self, arrivals: deque[IncomingRequest]) -> Sequence[RequestOutcome]:
        if self._transact is not None:
            epoch, first = arrivals[0].epoch, islice(arrivals, BATCH_MAX)
            batch = list(takewhile(lambda arrival: arrival.epoch == epoch, first))
            return await self._ledger.handle(batch, self._transact)
        made = await outcome(self._handler(), arrivals[0])
        await self._ledger.remember(arrivals[0], made)
        return [made]
