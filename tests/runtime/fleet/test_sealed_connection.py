"""Sealed lines on real sockets."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache

import pytest

from rookery.errors import UnreachableError
from rookery.identity.cipher_sets import RSA_CSID
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.wire.fleet.tlv import Tlv
from tests.patience import PATIENCE_S


@cache
def identity(name: str) -> Identity:
    return Identity.generate((0x40, RSA_CSID), os.urandom)


@cache
def earlier(name: str) -> Identity:
    """The same keys in a program that seals streams with 2a alone."""
    made = Identity(identity(name).pairs)
    made.local = {RSA_CSID: made.local[RSA_CSID]}
    return made


class Listener:
    """Takes lines and keeps them."""

    def __init__(self, limits: SealedConnectionLimits) -> None:
        self.limits = limits
        self.lines: list[SealedConnection] = []
        self.is_refusing = False
        self.port = 0
        self.server: asyncio.Server | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(self._accepted, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    def _accepted(self) -> SealedConnection:
        return SealedConnection.accept(identity("bob"), self.limits, self)

    def connected(self, line: SealedConnection) -> None:
        if self.is_refusing:
            line.abort()
        self.lines.append(line)

    def lost(self, line: SealedConnection) -> None:
        self.lines.remove(line)

    async def dial(self, who: str = "bob", timeout_s: float = PATIENCE_S) -> SealedConnection:
        bob = identity(who)
        return await SealedConnection.dial(
            identity("alice"),
            bob.hashname,
            bob.keys,
            "127.0.0.1",
            self.port,
            timeout_s=timeout_s,
        )


Listen = Callable[[SealedConnectionLimits], Awaitable[Listener]]


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    opened: list[Listener] = []

    async def begin(limits: SealedConnectionLimits) -> Listener:
        listener = Listener(limits)
        await listener.open()
        opened.append(listener)
        return listener

    yield begin
    for listener in opened:
        assert listener.server is not None
        listener.server.close()
        for line in list(listener.lines):
            line.abort()
            await line.wait_closed()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nothing there to wait for
            await asyncio.sleep(0.002)


async def test_both_ends_know_each_other_and_hear_each_other(listen: Listen) -> None:
    """F8"""
    listener = await listen(SealedConnectionLimits())
    ours = await listener.dial()
    (theirs,) = listener.lines
    assert ours.peer == identity("bob").hashname
    ours.send(Tlv(7, b"hello"), Tlv(8, b"again"))
    assert await theirs.receive() == Tlv(7, b"hello")
    assert await theirs.receive() == Tlv(8, b"again")
    assert theirs.peer == identity("alice").hashname
    theirs.send(Tlv(9, bytes(60_000)))
    assert await ours.receive() == Tlv(9, bytes(60_000))
    ours.close()
    async with asyncio.timeout(PATIENCE_S):
        assert await theirs.receive() is None
    assert not listener.lines


async def test_what_was_sent_before_a_close_still_arrives(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits())
    ours = await listener.dial()
    (theirs,) = listener.lines
    ours.send(Tlv(7, b"last words"))
    ours.close()
    assert await theirs.receive() == Tlv(7, b"last words")
    assert await theirs.receive() is None


async def test_somebody_else_at_the_address_is_not_spoken_to(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits())
    with pytest.raises(UnreachableError):
        await listener.dial("carol")


async def test_a_peer_that_does_not_answer_is_given_up(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        listener.port = silent.getsockname()[1]
        with pytest.raises(UnreachableError, match="in time"):
            await listener.dial(timeout_s=0.1)


async def test_a_refused_line_is_unreachable(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits())
    listener.is_refusing = True
    with pytest.raises(UnreachableError):
        await listener.dial()


async def test_messages_that_nobody_takes_stop_the_reading(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits(waiting_max=4))
    ours = await listener.dial()
    (theirs,) = listener.lines
    count = 500
    for number in range(count):
        ours.send(Tlv(7, number.to_bytes(2, "big") + bytes(5000)))
    received = [await theirs.receive() for _ in range(count)]
    numbers = [int.from_bytes(each.value[:2], "big") for each in received if each is not None]
    assert numbers == list(range(count))


async def test_a_peer_that_does_not_read_costs_no_more_than_the_bound(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits(unsent_bytes_max=1 << 16, waiting_max=1))
    ours = await listener.dial()
    ours.send(Tlv(1, b"who am I"))
    await until(lambda: bool(listener.lines) and listener.lines[0].peer is not None)
    (theirs,) = listener.lines
    ours._transport.pause_reading()  # type: ignore[union-attr]
    for _ in range(1000):
        theirs.send(Tlv(7, bytes(60_000)))
    await until(lambda: theirs.is_closed)
    ours.abort()


async def test_more_bytes_than_allowed_end_the_line(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits(received_bytes_max=8192))
    ours = await listener.dial()
    ours.send(Tlv(7, bytes(9000)))
    await until(lambda: ours.is_closed)


async def test_sending_on_a_closed_line_does_nothing(listen: Listen) -> None:
    listener = await listen(SealedConnectionLimits())
    ours = await listener.dial()
    ours.abort()
    await ours.wait_closed()
    ours.send(Tlv(7, b"too late"))
    assert await ours.receive() is None


async def accepted(who: Identity, insisted: frozenset[str] = frozenset()) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: SealedConnection.accept(who, insisted=insisted), "127.0.0.1", 0
    )


async def sealed_with(
    dialler: Identity, acceptor: Identity, keys: Mapping[int, bytes], *insisted: str
) -> int | None:
    """The cipher set of a connection between the two; UnreachableError when there is none."""
    server = await accepted(acceptor, frozenset(insisted))
    place = server.sockets[0].getsockname()
    try:
        line = await SealedConnection.dial(
            dialler, acceptor.hashname, keys, *place, timeout_s=PATIENCE_S
        )
        csid = line.csid
        line.abort()
    finally:
        server.close()
    return csid


async def test_the_better_cipher_set_is_taken_where_both_have_it() -> None:
    alice, bob = identity("alice"), identity("bob")
    assert await sealed_with(alice, bob, bob.keys) == 0x40
    assert await sealed_with(alice, bob, bob.keys, alice.hashname) == 0x40
    assert await sealed_with(alice, bob, {0x40: bob.keys[0x40]}) == 0x40


async def test_earlier_ends_are_met_in_2a_both_ways() -> None:
    alice, bob = identity("alice"), identity("bob")
    assert await sealed_with(alice, earlier("bob"), bob.keys) == RSA_CSID
    assert await sealed_with(earlier("alice"), bob, {RSA_CSID: bob.keys[RSA_CSID]}) == RSA_CSID


async def test_who_knows_better_takes_no_less() -> None:
    """As for somebody who has the RSA key of one end alone, whichever."""
    alice, bob = identity("alice"), identity("bob")
    with pytest.raises(UnreachableError):
        await sealed_with(alice, earlier("bob"), {0x40: bob.keys[0x40]})
    rsa = {RSA_CSID: bob.keys[RSA_CSID]}
    with pytest.raises(UnreachableError):
        await sealed_with(earlier("alice"), bob, rsa, alice.hashname)
