"""A durable outbox: what the next process finds, and what it may promise."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rookery.errors import ChannelError, DeniedError, UnreachableError, UsageError
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.state import RequestFailure, RequestState
from rookery.runtime.outbox.ledger import SqliteLedger
from rookery.runtime.outbox.ledger_file import LedgerFile, Transact
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.wire.outbox.frames import Qos
from tests.runtime.outbox.town import ALICE, BOB, Street, until


@asynccontextmanager
async def alice_at(path: Path, street: Street) -> AsyncIterator[AsyncOutbox]:
    outbox = AsyncOutbox(ALICE, dial=street.dial, ledger=SqliteLedger(path))
    outbox.add_peer(BOB)
    try:
        yield outbox
    finally:
        await outbox.close()


@asynccontextmanager
async def bob_at(
    street: Street, seen: list[bytes], path: Path | None = None, transact: Transact | None = None
) -> AsyncIterator[AsyncOutbox]:
    async def handle(arrival: IncomingRequest) -> bytes:
        seen.append(arrival.payload)
        if arrival.payload == b"refuse":
            raise DeniedError("no")
        return b"re:" + arrival.payload

    ledger = None if path is None else SqliteLedger(path)
    outbox = AsyncOutbox(BOB, handler=handle, ledger=ledger, transact=transact)
    outbox.add_peer(ALICE)
    async with street.listening(outbox):
        try:
            yield outbox
        finally:
            await outbox.close()


async def test_requests_wait_for_the_next_process_in_their_order(tmp_path: Path) -> None:
    street, seen, path = Street(), list[bytes](), tmp_path / "outbox"
    street.is_open = False
    async with alice_at(path, street) as alice:
        for number in range(300):
            request = alice.request(b"%d" % number, qos=1 + number % 2)
            alice.peer(BOB).add_packet(request)
            request.release()
        cancelled = alice.request(b"never")
        alice.peer(BOB).add_packet(cancelled)
        await alice.flush()
        assert cancelled.set_invalid()
        cancelled.release()
        await alice.flush()
    street.is_open = True
    async with bob_at(street, seen), alice_at(path, street) as alice:
        late = alice.request(b"300")
        alice.peer(BOB).add_packet(late)
        late.release()
        await until(lambda: len(seen) == 301)
        assert [int(payload) for payload in seen] == list(range(301))
        await until(lambda: not alice.peer(BOB).count)
        await alice.flush()
        assert not alice.core.pool.requests
    file = LedgerFile(path)
    assert file.load()[BOB].requests == []
    file.close()


async def test_no_number_is_used_twice(tmp_path: Path) -> None:
    """Else a new request would be taken for the repeat of an old one."""
    street, seen = Street(), list[bytes]()
    async with bob_at(street, seen):
        for number in range(3):
            async with alice_at(tmp_path / "outbox", street) as alice:
                await alice.send(BOB, b"%d" % number, qos=Qos.ONCE)
                await alice.send(BOB, b"%d again" % number, qos=Qos.ONCE_AT_MOST)
    assert seen == [b"0", b"0 again", b"1", b"1 again", b"2", b"2 again"]


async def test_what_may_have_been_written_cannot_be_cancelled_by_the_next_process(
    tmp_path: Path,
) -> None:
    """Q7: what was never written can."""
    street, seen, path = Street(), list[bytes](), tmp_path / "outbox"
    stuck = asyncio.Event()

    async def wait_for_ever(arrival: IncomingRequest) -> bytes | None:
        seen.append(arrival.payload)
        await stuck.wait()
        return None

    bob = AsyncOutbox(BOB, handler=wait_for_ever)
    bob.add_peer(ALICE)
    async with street.listening(bob):
        async with alice_at(path, street) as alice:
            request = alice.request(b"written", qos=Qos.ONCE)
            alice.peer(BOB).add_packet(request)
            request.release()
            await until(lambda: seen)
            street.is_open = False
            street.cut()
            await until(lambda: alice.peer(BOB).session is None)
            request = alice.request(b"waiting", qos=Qos.ONCE)
            alice.peer(BOB).add_packet(request)
            request.release()
            await alice.flush()
        async with alice_at(path, street) as alice:
            written, waiting = alice.peer(BOB).requests()
            assert not written.set_invalid()
            assert waiting.set_invalid()
            await alice.flush()
        async with alice_at(path, street) as alice:
            assert [request.payload for request in alice.peer(BOB).requests()] == [b"written"]
        await bob.close()


async def test_a_receiver_that_forgot_is_not_asked_again_for_exactly_once(tmp_path: Path) -> None:
    """Whether it was handled nobody knows: QoS 2 fails, QoS 1 may come twice."""
    street, path = Street(), tmp_path / "outbox"
    seen: list[bytes] = []
    stuck = asyncio.Event()

    async def wait_for_ever(arrival: IncomingRequest) -> bytes | None:
        seen.append(arrival.payload)
        await stuck.wait()
        return None

    first = AsyncOutbox(BOB, handler=wait_for_ever)
    first.add_peer(ALICE)
    async with alice_at(path, street) as alice:
        async with street.listening(first):
            once = alice.request(b"once", qos=Qos.ONCE)
            again = alice.request(b"again", qos=Qos.ONCE_AT_LEAST)
            for request in (once, again):
                alice.peer(BOB).add_packet(request)
            await until(lambda: again.state is RequestState.WRITTEN)
            await until(lambda: seen)
            await first.close()
        later: list[bytes] = []
        async with bob_at(street, later):
            await until(lambda: again.state is RequestState.ACKNOWLEDGED)
            assert once.failure is RequestFailure.FATE_UNKNOWN
            assert later == [b"again"]
        for request in (once, again):
            request.release()


@pytest.mark.interpreted
async def test_answers_are_kept_for_repeated_requests(tmp_path: Path) -> None:
    """The reply was on its way when bob died: the next bob has it, and handles nothing twice."""
    street, seen = Street(), list[bytes]()
    async with alice_at(tmp_path / "alice", street) as alice:
        async with bob_at(street, seen, tmp_path / "bob"):
            await alice.send(BOB, b"warm up")
            peer = alice.peer(BOB)
            assert peer.session is not None
            asked = alice.request(b"ask", qos=Qos.ONCE, wants_reply=True)
            refused = alice.request(b"refuse", qos=Qos.ONCE)
            ended = [alice.ended(request) for request in (asked, refused)]
            # Alice hears nothing of what bob answers.
            peer.session.receive = lambda data, now: []  # type: ignore[method-assign]
            for request in (asked, refused):
                peer.add_packet(request)
            await until(lambda: len(seen) == 3)
        async with bob_at(street, seen, tmp_path / "bob"):
            await asyncio.gather(*ended)
            assert asked.answer == b"re:ask"
            assert isinstance(refused.error, ChannelError)
            assert seen == [b"warm up", b"ask", b"refuse"]
        for request in (asked, refused):
            request.release()


async def test_a_handler_that_fails_leaves_no_trace_in_the_transaction(tmp_path: Path) -> None:
    street, path = Street(), tmp_path / "bob"

    def transact(arrival: IncomingRequest, connection: sqlite3.Connection) -> bytes | None:
        connection.execute("CREATE TABLE IF NOT EXISTS effects (payload BLOB)")
        connection.execute("INSERT INTO effects VALUES (?)", (arrival.payload,))
        if arrival.payload == b"denied":
            raise DeniedError("no")
        if arrival.payload == b"broken":
            raise ValueError("a bug")
        return b"done"

    async with bob_at(street, [], path, transact), alice_at(tmp_path / "alice", street) as alice:
        assert await alice.send(BOB, b"fine", qos=2, wants_reply=True) == b"done"
        with pytest.raises(ChannelError, match="no"):
            await alice.send(BOB, b"denied", qos=2)
        with pytest.raises(ChannelError, match="ValueError"):
            await alice.send(BOB, b"broken", qos=2)
        assert await alice.send(BOB, b"fine again", qos=2, wants_reply=True) == b"done"
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT payload FROM effects").fetchall()
    connection.close()
    assert rows == [(b"fine",), (b"fine again",)]


async def test_what_the_next_process_will_send_cannot_be_cancelled_any_more(tmp_path: Path) -> None:
    """Q7: also not by a thread that has not noticed that the outbox is closed."""
    street, path = Street(), tmp_path / "outbox"
    street.is_open = False
    async with alice_at(path, street) as alice:
        kept, cancelled = alice.request(b"kept"), alice.request(b"cancelled")
        for request in (kept, cancelled):
            alice.peer(BOB).add_packet(request)
        assert cancelled.set_invalid()
    assert not kept.set_invalid()
    assert cancelled.set_invalid()
    file = LedgerFile(path)
    assert [one.payload for one in file.load()[BOB].requests] == [b"kept"]
    file.close()


async def test_a_removed_peer_leaves_nothing_on_disk(tmp_path: Path) -> None:
    street, path = Street(), tmp_path / "outbox"
    street.is_open = False
    async with alice_at(path, street) as alice:
        request = alice.request(b"x")
        alice.peer(BOB).add_packet(request)
        request.release()
        await alice.flush()
        alice.remove_peer(BOB)
        await alice.flush()
    file = LedgerFile(path)
    assert file.load() == {}
    file.close()


async def test_expiry_goes_on_while_nobody_runs(tmp_path: Path) -> None:
    street, path = Street(), tmp_path / "outbox"
    street.is_open = False
    async with alice_at(path, street) as alice:
        for expires_s in (0.2, 3600.0):
            request = alice.request(b"x", expires_s=expires_s)
            alice.peer(BOB).add_packet(request)
            request.release()
        await alice.flush()
    async with alice_at(path, street) as alice:
        await until(lambda: alice.core.totals[RequestState.EXPIRED] == 1)
        assert alice.peer(BOB).count == 1


async def test_an_outbox_belongs_to_one_process(tmp_path: Path) -> None:
    file = LedgerFile(tmp_path / "outbox")
    with pytest.raises(UsageError, match="cannot open"):
        SqliteLedger(tmp_path / "outbox")
    file.close()
    SqliteLedger(tmp_path / "outbox")._file.close()


async def test_what_is_no_outbox_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(UsageError, match="no outbox"):
        SqliteLedger(path)
    with sqlite3.connect(tmp_path / "newer") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(UsageError, match="version 2"):
        SqliteLedger(tmp_path / "newer")
    with pytest.raises(UsageError, match="needs a ledger"):
        AsyncOutbox(ALICE, transact=lambda arrival, connection: None)


async def test_a_disk_that_fails_ends_the_promises(tmp_path: Path) -> None:
    """Nothing is taken, written or acknowledged that could not be kept."""
    street = Street()
    street.is_open = False
    troubles: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
    ledger = SqliteLedger(tmp_path / "outbox")
    alice = AsyncOutbox(ALICE, dial=street.dial, ledger=ledger)
    peer = alice.add_peer(BOB)
    await alice.flush()
    ledger._file.connection.execute("PRAGMA query_only = ON")
    request = alice.request(b"x")
    peer.add_packet(request)
    with pytest.raises(UnreachableError, match="not kept"):
        await alice.flush()
    assert troubles
    other = alice.request(b"y")
    with pytest.raises(UnreachableError):
        peer.add_packet(other)
    await alice.close()
