"""Joining over real sockets: once, in time, by whoever comes first, and never in silence."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from rookery.errors import ChannelError, DeniedError, UnreachableError
from rookery.identity.identity import Identity
from rookery.link.session.handshake import Stranger
from rookery.mesh.membership.invitation import Invitation
from rookery.mesh.membership.join import TYPE
from rookery.runtime.endpoint.create import create
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.join import (
    TROUBLE,
    JoinAccepted,
    JoinLog,
    JoinRefused,
    JoinServer,
    join,
    serve_joins,
)
from rookery.runtime.realm.store import RealmStore
from rookery.wire.mesh.certificate import Certificate
from rookery.wire.mesh.statement import Statement
from tests.mesh.realms import identity

OWNER = identity("owner", (0x3A, 0x40))


class Realm:
    """A founder's endpoint that serves joins, and what it was told of them."""

    def __init__(self, endpoint: AsyncEndpoint, store: RealmStore) -> None:
        self.endpoint = endpoint
        self.store = store
        self.reported: list[JoinAccepted | JoinRefused] = []
        server = serve_joins(endpoint, store, self.reported.append)
        assert isinstance(server, JoinServer)
        self.server = server
        self.authority = RealmAuthority(store)
        endpoint.on_discover = self._accept

    def _accept(self, stranger: Stranger) -> None:
        self.endpoint.link(stranger)

    def invite(self, name: str = "") -> Invitation:
        return self.authority.invite(self.endpoint.address, roles=["relay"], name=name)[1]


@pytest.fixture
async def realm(tmp_path: Path) -> AsyncIterator[Realm]:
    store = found(tmp_path / "realm", "home", OWNER, member_name="owner")
    async with create(OWNER) as endpoint:
        yield Realm(endpoint, store)


async def joined(joiner: Identity, invitation: Invitation, name: str = "guest") -> Certificate:
    async with create(joiner) as endpoint:
        answer = await join(endpoint, Invitation.parse(invitation.url()), name, 10)
        assert answer.link.hashname == invitation.hashname
        return answer.check(invitation.realm, joiner.hashname, time.time())


async def test_an_invitation_makes_a_member(realm: Realm) -> None:
    joiner = identity("guest", (0x3A, 0x40))
    certificate = await joined(joiner, realm.invite())
    assert certificate.name == "guest"
    assert certificate.roles == {"relay"}
    member = realm.store.membership(time.time()).by_hashname(joiner.hashname)
    assert member is not None
    assert [one.state(time.time()) for one in realm.store.invitations()] == ["used"]
    assert isinstance(realm.reported[0], JoinAccepted)
    assert member.certificate in realm.store.take_new_statements()


async def test_the_owner_may_choose_the_name(realm: Realm) -> None:
    assert (await joined(identity("guest"), realm.invite(name="printer"))).name == "printer"


async def test_a_second_endpoint_is_refused_and_both_are_named(realm: Realm) -> None:
    """A stolen invitation: whoever came first is in, and can be seen and revoked."""
    invitation, thief, joiner = realm.invite(), identity("thief"), identity("guest")
    await joined(thief, invitation)
    with pytest.raises(DeniedError, match="has been used"):
        await joined(joiner, invitation)
    (used,) = realm.store.invitations()
    assert used.spent is not None
    assert used.spent.hashname == thief.hashname
    assert [refusal.hashname for refusal in used.refused] == [joiner.hashname]
    assert realm.server.refused == {"this invitation has been used": 1}
    realm.authority.revoke(thief.hashname)
    group = realm.store.membership(time.time())
    assert group.by_hashname(thief.hashname) is None
    assert thief.hashname in group.revoked


async def test_a_lost_answer_can_be_asked_for_again(realm: Realm) -> None:
    invitation, joiner = realm.invite(), identity("guest")
    assert await joined(joiner, invitation) == await joined(joiner, invitation)
    assert len(realm.store.statements()) == 2


async def test_an_expired_invitation_is_refused_by_both(realm: Realm) -> None:
    invitation = realm.invite()
    with realm.store.changing_invitations() as invitations:
        (invited,) = invitations
        past_s = int(time.time()) - 1
        invitations.add(msgspec.structs.replace(invited, expires_s=past_s), past_s)
    with pytest.raises(DeniedError, match="refused: this invitation has expired"):
        await joined(identity("guest"), invitation)
    with pytest.raises(DeniedError, match="set the clock right"):
        await joined(identity("guest"), msgspec.structs.replace(invitation, expires_s=past_s))
    assert not realm.server.is_open()


async def test_guessing_is_refused_counted_named_and_soon_not_even_listened_to(
    realm: Realm,
) -> None:
    mallory = identity("mallory")
    wrong = msgspec.structs.replace(realm.invite(), secret=bytes(16))
    for _ in range(5):
        with pytest.raises(DeniedError, match="not known here"):
            await joined(mallory, wrong)
    with pytest.raises(DeniedError, match="too many attempts"):
        await joined(mallory, wrong)
    assert {what.hashname for what in realm.reported} == {mallory.hashname}
    assert sum(realm.server.refused.values()) == 6
    assert realm.server.is_open()


async def test_what_is_no_request_is_refused(realm: Realm) -> None:
    async with create(identity("mallory")) as endpoint:
        link = await endpoint.link(realm.endpoint.address).up(10)
        channel = link.open(TYPE, {"v": 1, "secret": "a", "name": "x"}, b"no keys")
        with pytest.raises(ChannelError):
            await channel.receive()
    assert realm.reported == [JoinRefused(endpoint.hashname, "not a request to join")]


async def test_one_invitation_and_many_at_once_let_one_in(realm: Realm) -> None:
    invitation = realm.invite()
    crowd = [identity(f"guest {number}") for number in range(6)]
    outcomes = await asyncio.gather(
        *(joined(joiner, invitation) for joiner in crowd), return_exceptions=True
    )
    assert sum(isinstance(outcome, Certificate) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, DeniedError) for outcome in outcomes) == 5
    assert len(realm.store.membership(time.time()).members) == 2


async def test_our_own_trouble_is_not_for_strangers(realm: Realm) -> None:
    invitation = realm.invite()
    (realm.store.folder / "invitations.json").write_text("damaged")
    with pytest.raises(DeniedError, match=TROUBLE):
        await joined(identity("guest"), invitation)
    (refused,) = realm.reported
    assert isinstance(refused, JoinRefused)
    assert "damaged" in refused.trouble


async def test_an_issuer_invites_too(realm: Realm, tmp_path: Path) -> None:
    helper = identity("helper")
    invited = RealmAuthority(realm.store).invite(realm.endpoint.address, roles=["issuer"])[1]
    async with create(helper) as endpoint:
        answer = await join(endpoint, invited, "helper", 10)
    store = RealmStore.create(
        tmp_path / "helper", invited.realm, answer.certificate, peers=[answer.link]
    )
    async with create(helper) as endpoint:
        endpoint.on_discover = lambda stranger: endpoint.link(stranger)
        assert serve_joins(endpoint, store) is not None
        _, invitation = RealmAuthority(store, helper).invite(endpoint.address)
        certificate = await joined(identity("guest"), invitation)
    assert Certificate.parse(Statement.parse(certificate.issuer).content).name == "helper"
    assert store.peers()[0].hashname == realm.endpoint.hashname


async def test_a_plain_member_invites_nobody(realm: Realm, tmp_path: Path) -> None:
    joiner = identity("guest")
    async with create(joiner) as endpoint:
        invitation = realm.invite()
        answer = await join(endpoint, invitation, "guest", 10)
        store = RealmStore.create(tmp_path / "guest", invitation.realm, answer.certificate)
        assert serve_joins(endpoint, store) is None
        endpoint.on_discover = lambda stranger: endpoint.link(stranger)
        astray = Invitation.of(invitation.realm, bytes(16), 2**40, endpoint.address)
        with pytest.raises(DeniedError, match="takes nobody"):
            await joined(identity("other"), astray)


async def test_an_inviter_that_is_away_is_unreachable(realm: Realm) -> None:
    invitation = realm.invite()
    await realm.endpoint.close()
    async with create(identity("guest")) as endpoint:
        with pytest.raises(UnreachableError):
            await join(endpoint, invitation, "guest", 0.3)


def test_a_storm_of_refusals_writes_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    log = JoinLog(lambda: now)
    refused = JoinRefused(identity("mallory").hashname, TROUBLE, "the disk is full")
    log(JoinAccepted(identity("guest").hashname, "guest", "1", b""))
    for _ in range(1000):
        log(refused)
    now += 10.0
    log(refused)
    lines = [record.getMessage() for record in caplog.records]
    first = f"join of {refused.hashname[:8]} refused: {TROUBLE} (the disk is full)"
    assert lines == [first] * 5 + [f"{first}; 995 more since the last line"]


@pytest.mark.parametrize("is_used", [True, False])
async def test_no_invitation_from_before_a_revocation_lets_the_revoked_in(
    realm: Realm, is_used: bool
) -> None:
    """Neither the one it came by nor another that was still open; one made later does."""
    joiner, first, spare = identity("guest"), realm.invite(), realm.invite()
    await joined(joiner, first)
    realm.authority.revoke(joiner.hashname)
    with pytest.raises(DeniedError, match="revoked after the invitation was made"):
        await joined(joiner, first if is_used else spare)
    assert realm.store.membership(time.time()).by_hashname(joiner.hashname) is None
    assert (await joined(identity("other"), spare)).name == "guest"
    await joined(joiner, realm.invite())  # in the same second
    assert realm.store.membership(time.time()).by_hashname(joiner.hashname) is not None


async def test_a_withdrawn_invitation_is_refused_at_once(realm: Realm) -> None:
    """By a node that runs, whatever process withdrew it."""
    invitation = realm.invite()
    (given_out,) = realm.store.invitations()
    with RealmStore(realm.store.folder).changing_invitations() as invitations:
        invitations.withdraw(given_out.id, time.time())
    with pytest.raises(DeniedError, match="was withdrawn"):
        await joined(identity("guest"), invitation)
