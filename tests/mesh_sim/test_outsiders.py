"""Those who are no members, or no longer: what they can do, and how long."""

import pytest

from rookery.errors import ProtocolError, UnreachableError
from rookery.identity.identity import Identity
from rookery.link.link import Link, LinkState
from rookery.mesh.membership.issued_invitations import (
    USED,
    InvitationRedemption,
    IssuedInvitation,
    IssuedInvitations,
    secret_digest,
)
from rookery.mesh.membership.peering import UNPROVEN_MAX, UNPROVEN_S
from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.rejected_frames import STRANGERS
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.mesh.world import MeshWorld, ip
from rookery.sim.world import PORT, SimulatedEndpoint
from rookery.wire.link.frame_types import MEMBER
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.flood import RootDigest, Statements
from tests.mesh_sim.hive import HONEST, M, counted_signatures, hive, named, reasons, routes
from tests.mesh_sim.puppet import Puppet

LAST = 49
SECONDS = 2.0  # for every member to have dropped a revoked one


@pytest.fixture
def world() -> MeshWorld:
    return hive()


def outsider(world: MeshWorld, number: int, identity: Identity | None = None) -> SimulatedEndpoint:
    return world.node(f"10.9.{number >> 8}.{number & 255}", kinds=("tcp4",), identity=identity)


def dialled(world: MeshWorld, node: SimulatedEndpoint, target: int = 0) -> Link:
    return node.link(world.members[target], [NetPath("tcp4", ip(target), PORT)])


# --- outsiders ---


def test_an_outsider_learns_nothing_and_is_gone_after_a_while(world: MeshWorld) -> None:
    """Not even with the certificate of a member, which everybody knows."""
    node, host = outsider(world, 1), world.members[0]
    frames: list[int] = []
    node.endpoint.frame_reader = lambda link, path, head, body, now, _: frames.append(head[0])
    link = dialled(world, node)
    world.run_until(lambda: link.state is LinkState.UP, 5)
    stolen = world.members[3].core.own.certificate
    for head, body in (
        (bytes([MEMBER]), stolen),
        Statements((stolen,)).serialize(),
        RootDigest(1).serialize(),
        (b"\x0a", b"a datagram"),
    ):
        link.send_frame(head, body)
    node.settle()
    world.run(1.0)
    assert reasons(world, node.hashname[:8]) == {
        "not the certificate of the other end",
        "a frame of no member",
        "a datagram of no member",
    }
    assert frames == []  # host showed nothing, asked nothing, told nothing
    assert host.datagrams == []
    world.run(UNPROVEN_S)
    assert node.hashname not in host.endpoint.links
    assert len(host.core.peering.unproven_peers) == 0


def test_outsiders_cannot_crowd_out_members_nor_their_names(world: MeshWorld) -> None:
    host = world.members[0]
    for number in range(3 * UNPROVEN_MAX):
        link = dialled(world, outsider(world, number))
        world.run(0.02)
        link.send_frame(bytes([MEMBER]), bytes(number + 1))
        world.run(0.02)
    world.run(0.1)
    assert len(host.core.peering.unproven_peers) <= UNPROVEN_MAX
    assert len(host.endpoint.links) <= len(host.core.neighbours) + UNPROVEN_MAX
    world.revive(1)  # whom 0 knows for a member
    world.run(5.0)
    assert world.identifier(1) in host.core.neighbours
    Puppet(world, M).send(0, bytes([200]), b"")
    world.run(1.0)
    assert "a frame of no known type" in reasons(world, world.members[M].hashname[:8])
    world.run(UNPROVEN_S)
    assert len(host.endpoint.links) <= 3 + UNPROVEN_MAX  # they come again


def test_certificates_without_worth_cost_an_outsider_his_turn(
    world: MeshWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = outsider(world, 1)
    link = dialled(world, node)
    world.run_until(lambda: link.state is LinkState.UP, 5)
    own = world.members[3].core.own.certificate
    with counted_signatures(monkeypatch) as seen:
        for number in range(1000):
            link.send_frame(bytes([MEMBER]), own[:-1] + bytes([number & 255]))
        node.settle()
        world.run(5.0)
    assert len(seen) <= 12
    assert named(world) == {node.hashname[:8]}


# --- invitations ---


def test_a_stolen_invitation_serves_one_and_tells_of_the_other() -> None:
    """Whoever comes second is refused and noted, be it the thief or the invited."""
    secret, now_s = b"s" * 16, EPOCH_UNIX_S
    invited = IssuedInvitation(
        secret_digest(secret), frozenset(), "", int(now_s), int(now_s) + 3600, 86_400
    )
    invitations = IssuedInvitations([invited])
    thief, joiner = "t" * 52, "g" * 52
    found = invitations.find(secret, thief, now_s)
    invitations.spend(found, InvitationRedemption(thief, int(now_s), b"certificate"))
    with pytest.raises(ProtocolError, match=USED):
        invitations.find(secret, joiner, now_s + 60)
    (noted,) = invitations
    assert noted.spent is not None
    assert noted.spent.hashname == thief  # whom to revoke
    assert [refusal.hashname for refusal in noted.refused] == [joiner]


def test_whoever_joined_by_a_stolen_invitation_is_revoked_like_anybody(world: MeshWorld) -> None:
    thief = world.members[M]
    world.revoke(M, via=3)
    world.run(SECONDS)
    for number in HONEST:
        assert thief.id not in world.members[number].core.membership.members
        assert thief.id not in world.members[number].core.neighbours


# --- revoked members ---


@pytest.mark.slow
def test_a_revoked_member_is_out_everywhere_within_seconds() -> None:
    """At fifty members, from the far end of the realm, by virtual time."""
    world = MeshWorld(4, 50)
    world.converge()
    gone, others = world.members[LAST], [world.members[number] for number in range(LAST)]
    began_s = world.now
    world.revoke(LAST, via=0)

    def is_out() -> bool:
        return all(
            gone.id not in node.core.membership.members
            and gone.id not in node.core.neighbours
            and gone.id not in node.core.graph.weights
            and gone.id not in node.core.database.records
            and gone.hashname not in node.endpoint.links
            for node in others
        )

    world.run_until(is_out, 30)
    took_s = world.now - began_s
    print(f"revoked: out of {len(others)} members' minds after {took_s:.2f} s")
    assert took_s <= SECONDS
    for node in others:
        assert node.core.rejected_frames[gone.hashname[:8], "no member any more"] == 1
        with pytest.raises(UnreachableError, match="was revoked from sim"):
            node.core.explain(gone.hashname, world.now)
    world.run(30.0)
    assert is_out()


def test_what_a_revoked_member_says_later_is_refused(world: MeshWorld) -> None:
    mallory = Puppet(world, M)
    last_words = mallory.sign(mallory.record(sequence_more=9))
    certificate = mallory.node.core.own.certificate
    world.revoke(M, via=0)
    world.run(SECONDS)
    assert not any(world.identifier(M) in world.members[n].core.neighbours for n in HONEST)
    identity = mallory.node.endpoint.identity
    world.kill(M)
    world.members[0].core.peering.takes_joins = True  # so that she gets a link at all
    node = outsider(world, 1, identity)  # the same keys, and a will of her own
    link = dialled(world, node)
    world.run_until(lambda: link.state is LinkState.UP, 5)
    link.send_frame(bytes([MEMBER]), certificate)
    link.send_frame(*Statements((last_words,)).serialize())
    node.settle()
    world.run(1.0)
    assert reasons(world, mallory.name) == {
        "no member any more",
        "a revoked certificate",
        "a frame of no member",
    }
    before = routes(world)
    helper = Puppet(world, 1)  # a member that believes her, and passes it on
    helper.say(0, certificate)
    helper.say(0, last_words)
    world.run(1.0)
    assert mallory.id not in world.members[0].core.membership.members
    assert mallory.id not in world.members[0].core.database.records
    assert world.members[0].core.rejected_frames[helper.name, "a revoked certificate"] == 1
    assert routes(world) == before


@pytest.mark.parametrize("takes_joins", [False, True])
def test_a_revoked_member_may_connect_only_where_it_can_be_invited_again(
    world: MeshWorld, takes_joins: bool
) -> None:
    """Or it would have a link for ten seconds, again and again."""
    mallory, honest = world.members[M], world.members[0]
    honest.core.peering.takes_joins = takes_joins
    world.revoke(M, via=0)
    world.run(SECONDS)
    world.kill(M)
    dialled(world, outsider(world, 1, mallory.endpoint.identity))
    was_linked = False
    for _ in range(30):
        world.run(0.5)
        was_linked |= mallory.hashname in honest.endpoint.links
    assert was_linked is takes_joins


def test_a_member_that_was_away_hears_of_the_revocation_when_it_is_back(world: MeshWorld) -> None:
    """Also if the revoked one is the first to greet it."""
    world.kill(0)
    world.run(1.0)
    world.revoke(M, via=3)
    world.run(SECONDS)
    world.revive(0)
    world.run(10.0)
    back = world.members[0].core
    assert world.identifier(M) not in back.membership.members
    assert world.identifier(M) not in back.graph.weights
    assert STRANGERS not in named(world)


def test_who_is_revoked_itself_goes_on_without_harm(world: MeshWorld) -> None:
    mallory = world.members[M]
    world.revoke(M, via=0)
    world.run(60.0)
    assert all(near.state is PathCondition.JOINING for near in mallory.core.neighbours.values())
    assert mallory.is_running
