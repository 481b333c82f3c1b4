"""Servers that ask a real hub who may still sit at them, and what ends that."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from rookery.fleet.rendezvous import seat_authority as authorities
from rookery.fleet.rendezvous.seat_authority import SeatAuthority, encode
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.identity.identity import Identity
from rookery.runtime.fleet.sealed_connection import SealedConnection
from rookery.store.accounts.accounts import Account, Accounts
from rookery.store.accounts.sessions import BrowserSession, BrowserSessions
from rookery.store.accounts.tokens import ApiTokens
from rookery.store.fleet.devices import Devices
from rookery.wire.fleet import messages
from rookery.wire.fleet.messages import (
    FaultCode,
    FaultMessage,
    HoldMessage,
    LetGoMessage,
    ReleaseMessage,
    RenewedMessage,
    RenewMessage,
)
from tests.hub.conftest import Start, new_code
from tests.hub.device import FakeDevice, path
from tests.hub.identities import identity, mac
from tests.hub.server import Server
from tests.patience import PATIENCE_S

MAC = mac(1)


class LeaseClient:
    """A server's connection to the hub."""

    def __init__(self, line: SealedConnection) -> None:
        self.line = line
        self._number = 0

    def say(self, *said: messages.Message) -> None:
        self.line.send(*map(messages.encode, said))

    async def heard(self) -> messages.Message | None:
        async with asyncio.timeout(PATIENCE_S):
            tlv = await self.line.receive()
        return None if tlv is None else messages.decode(tlv)

    async def released(self) -> dict[str, str]:
        """Seats that the hub does not allow as of now, and why."""
        self._number += 1
        self.say(RenewMessage(self._number))
        released = {}
        while (message := await self.heard()) != RenewedMessage(self._number):
            assert isinstance(message, ReleaseMessage), message
            released[message.seat] = message.reason
        return released


class World:
    """A hub with a device of alice's, and a server."""

    def __init__(self, hub: Hub, server: Server, stack: AsyncExitStack) -> None:
        self.hub = hub
        self.server = server
        self._stack = stack
        self.accounts, self.devices = Accounts(hub.database), Devices(hub.database)
        self.sessions, self.tokens = BrowserSessions(hub.database), ApiTokens(hub.database)

    async def account(self, login: str = "alice", role: str = "user") -> Account:
        account = await self.accounts.add(login, "no password", now=0.0)
        await self.accounts.set_role(account.id, role)  # type: ignore[arg-type]
        return account

    async def session(self, account: Account) -> bytes:
        key = os.urandom(32)
        await self.sessions.add(BrowserSession(key, account.id, 0.0, 0.0, time.time() + 60))
        return key

    async def lease_client(self, who: Identity | None = None) -> LeaseClient:
        where, link = path(self.hub.link, "tcp"), self.hub.link
        assert link.hashname is not None
        line = await SealedConnection.dial(
            who or self.server.identity,
            link.hashname,
            link.keys,
            where.ip,
            where.port,
            timeout_s=PATIENCE_S,
        )
        self._stack.callback(line.abort)
        return LeaseClient(line)


def hold(seat: str, authority: SeatAuthority, device: str = "") -> HoldMessage:
    return HoldMessage(seat, MAC, device or identity("alice").hashname, encode(authority))


@pytest.fixture
async def world(settings: HubSettings, start: Start) -> AsyncIterator[World]:
    hub = await start(settings)
    async with AsyncExitStack() as stack:
        device = await stack.enter_async_context(FakeDevice(hub.link, identity("alice"), MAC))
        await device.report()
        code = await new_code(hub, "server")
        server = Server(hub.link, identity("server"), code)
        await stack.enter_async_context(server)
        await server.report()
        yield World(hub, server, stack)


async def owners(world: World, credential: bytes, account: Account) -> SeatAuthority:
    device = await world.devices.claim(MAC, account.id, "attic", now=12.5)
    return SeatAuthority(credential, device.claimed_at)


async def test_an_owners_seat_is_renewed_until_the_device_is_released(world: World) -> None:
    alice = await world.account()
    authority = await owners(world, await world.session(alice), alice)
    server = await world.lease_client()
    server.say(hold("one", authority))
    assert await server.released() == {}
    await world.devices.release(MAC, alice.id)
    assert await server.released() == {"one": authorities.NOT_OWNED}
    assert await server.released() == {}  # said once
    assert world.hub.metrics_text().count(b'rookery_leases_total{what="released"} 1.0') == 1


async def test_sessions_and_tokens_that_ended_end_their_seats(world: World) -> None:
    alice = await world.account()
    signed_out, signed_in, revoked = [await world.session(alice) for _ in range(3)]
    token = await world.tokens.add(revoked, alice.id, "laptop", ("connect",), now=0.0)
    await world.sessions.remove(revoked)
    authority = await owners(world, signed_in, alice)
    server = await world.lease_client()
    for seat, credential in (("out", signed_out), ("in", signed_in), ("token", revoked)):
        server.say(hold(seat, SeatAuthority(credential, authority.claimed_at)))
    assert await server.released() == {}
    await world.sessions.remove(signed_out)
    assert await server.released() == {"out": authorities.SIGNED_OUT}
    await world.tokens.remove(token.id, alice.id)
    again = await world.tokens.add(os.urandom(32), alice.id, "again", ("connect",), now=0.0)
    assert again.id == token.id  # the number of a row is given again, and means nothing here
    assert await server.released() == {"token": authorities.SIGNED_OUT}
    await world.accounts.set_password(alice.id, "another")
    await world.sessions.remove_all(alice.id)
    assert await server.released() == {"in": authorities.SIGNED_OUT}


async def test_removed_and_demoted_accounts_leave_their_seats(world: World) -> None:
    oscar, otto = await world.account("oscar", "operator"), await world.account("otto", "operator")
    server = await world.lease_client()
    server.say(hold("oscar", SeatAuthority(await world.session(oscar), None)))
    server.say(hold("otto", SeatAuthority(await world.session(otto), None)))
    assert await server.released() == {}
    await world.accounts.set_role(oscar.id, "user")
    await world.accounts.remove(otto.id)
    assert await server.released() == {
        "oscar": authorities.NOT_OPERATOR,
        "otto": authorities.SIGNED_OUT,
    }


async def test_an_operator_leaves_when_the_device_gets_an_owner(world: World) -> None:
    oscar, alice = await world.account("oscar", "admin"), await world.account()
    server = await world.lease_client()
    server.say(hold("one", SeatAuthority(await world.session(oscar), None)))
    assert await server.released() == {}
    await world.devices.claim(MAC, alice.id, "attic", now=1.0)
    assert await server.released() == {"one": authorities.CLAIMED}


async def test_another_key_under_the_same_mac_is_not_what_was_asked_for(world: World) -> None:
    alice = await world.account()
    authority = await owners(world, await world.session(alice), alice)
    server = await world.lease_client()
    server.say(hold("one", authority, identity("server").hashname))
    assert await server.released() == {"one": authorities.FORGOTTEN}


async def test_what_this_hub_did_not_reserve_is_released(world: World) -> None:
    server = await world.lease_client()
    server.say(HoldMessage("one", MAC, identity("alice").hashname, b"made up"))
    assert list(await server.released()) == ["one"]


async def test_what_was_let_go_is_not_looked_at_any_more(world: World) -> None:
    server = await world.lease_client()
    server.say(hold("one", SeatAuthority(bytes(32), None)), LetGoMessage("one"))
    assert await server.released() == {}


async def test_a_server_that_says_it_takes_cipher_set_40_is_answered_in_no_other(
    world: World,
) -> None:
    """Else who has its RSA key alone could renew seats in its name."""
    where, link = path(world.hub.link, "tcp"), world.hub.link
    assert link.hashname is not None
    for stream, answer in ((0, RenewedMessage), (0x40, FaultMessage)):
        world.server.stream = stream
        await world.server.report()
        rsa = {0x2A: link.keys[0x2A]}
        line = await SealedConnection.dial(
            world.server.identity, link.hashname, rsa, where.ip, where.port, timeout_s=PATIENCE_S
        )
        server = LeaseClient(line)
        server.say(RenewMessage(1))
        assert isinstance(await server.heard(), answer)
        line.abort()
    better = await world.lease_client()
    assert better.line.csid == 0x40
    assert await better.released() == {}


async def test_only_servers_that_enrolled_are_answered(world: World) -> None:
    """Else anybody could ask whether a session is there."""
    stranger = await world.lease_client(identity("stranger"))
    stranger.say(hold("one", SeatAuthority(bytes(32), None)), RenewMessage(1))
    fault = await stranger.heard()
    assert isinstance(fault, FaultMessage)
    assert fault.code == FaultCode.DENIED
    assert await stranger.heard() is None


async def test_a_database_that_is_away_ends_nothing_and_renews_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rookery.errors import UnreachableError
    from rookery.store.database.database import Database

    alice = await world.account()
    authority = await owners(world, await world.session(alice), alice)
    server = await world.lease_client()
    server.say(hold("one", authority))
    assert await server.released() == {}
    is_requested = asyncio.Event()

    async def away(*_: object) -> None:
        is_requested.set()
        raise UnreachableError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "read", away)
        server.say(RenewMessage(100))
        async with asyncio.timeout(PATIENCE_S):
            await is_requested.wait()
    assert await server.heard() == RenewedMessage(100)  # now that it is back
