"""A member that forges, repeats, contradicts herself, lies about her links, and floods.

Whatever she does, honest members keep their routes, their memory and their time, and know her name.
"""

import msgspec
import pytest

from rookery.mesh.routing.route_explanation import CONTRADICTED, PRETENDED, RouteVerdict
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.link.frame_types import DIGEST, FORWARD, MEMBER, PING, STATEMENTS, SUMMARY, WANT
from rookery.wire.link.path import Path
from rookery.wire.mesh.certificate import role_bits, roles_of
from rookery.wire.mesh.flood import RootDigest, StatementKey, Want
from rookery.wire.mesh.node_id import NodeId
from rookery.wire.mesh.record import COST_MAX, LINKS_MAX, RecordLink
from rookery.wire.mesh.statement import CERTIFICATE, RECORD, STATEMENT_SIZE_MAX
from tests.mesh_sim.hive import (
    HONEST,
    NEAR,
    M,
    counted_signatures,
    explained,
    hive,
    named,
    reasons,
    routes,
)
from tests.mesh_sim.puppet import Puppet

HOUR_S = 3600


@pytest.fixture
def world() -> MeshWorld:
    return hive()


@pytest.fixture
def mallory(world: MeshWorld) -> Puppet:
    return Puppet(world, M)


# --- records ---


def test_forged_records_change_nothing_and_soon_cost_nothing(
    world: MeshWorld, mallory: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, victim = routes(world), world.identifier(3)
    truth = world.members[3].core.database.records[victim]
    with counted_signatures(monkeypatch) as seen:
        for number in range(1, 2001):
            forged = msgspec.structs.replace(truth, sequence=truth.sequence + number, links=())
            mallory.say(0, mallory.sign(forged))
            if number % 100 == 0:
                world.run(0.1)
    assert 0 < len(seen) < 100  # of two thousand, in two seconds
    assert reasons(world, mallory.name) == {"record with a forged signature", "too many statements"}
    assert named(world) == {mallory.name}
    assert world.members[0].core.database.records[victim] == truth
    assert routes(world) == before


def test_old_records_cannot_come_back(world: MeshWorld, mallory: Puppet) -> None:
    """R1: not those of a member that restarted, nor to one that did."""
    old = mallory.node.core.database.statement(StatementKey(RECORD, world.identifier(3)))
    assert old is not None
    world.revive(3)
    world.revive(0)
    for _ in range(20):
        for near in NEAR:
            if world.identifier(near) in mallory.node.core.neighbours:
                mallory.say(near, old)
        world.run(0.5)
    world.converge(60)
    for number in HONEST:
        assert world.members[number].core.database.records[world.identifier(3)].epoch == 2


def test_her_own_old_record_cannot_come_back_either(world: MeshWorld, mallory: Puppet) -> None:
    """R1: a link that she lost stays lost, though she once had it and signed so."""
    old = mallory.node.core.database.statement(StatementKey(RECORD, mallory.id))
    assert old is not None
    world.sever(0, M)
    world.converge(60)
    for _ in range(20):
        mallory.say(2, old)
        world.run(0.25)
    for number in HONEST:
        links = world.members[number].core.database.records[mallory.id].links
        assert world.identifier(0) not in {link.peer for link in links}


def test_frames_that_are_none_are_counted_under_her_name(world: MeshWorld, mallory: Puppet) -> None:
    before = routes(world)
    frames = [
        (bytes([STATEMENTS]), bytes(STATEMENT_SIZE_MAX + 3), "statements frame too large"),
        (bytes([STATEMENTS]), b"\x00\x50cut short", "statements cut short"),
        (bytes([STATEMENTS]), b"\x00\x05short", "statement of a wrong size"),
        (bytes([STATEMENTS, 1]), b"", "flood frame with a wrong head"),
        (bytes([SUMMARY]), bytes(1 << 15), "summary too large"),
        (bytes([WANT]), bytes(1 << 15), "want of a wrong size"),
        (bytes([DIGEST]), bytes(1 << 15), "digest of a wrong size"),
        (bytes([FORWARD]), bytes(64), "not a forward head"),
        (bytes([200]), b"what", "a frame of no known type"),
    ]
    for head, body, _ in frames:
        for near in NEAR:
            mallory.send(near, head, body)
    world.run(1.0)
    assert reasons(world, mallory.name) == {reason for _, _, reason in frames}
    assert named(world) == {mallory.name}
    mallory.send(0, bytes([PING]), b"")
    world.run(1.0)
    assert len(reasons(world, mallory.name)) == len(frames) + 1
    assert routes(world) == before


def test_a_record_with_too_many_links_is_refused(world: MeshWorld, mallory: Puppet) -> None:
    before, record = routes(world), mallory.record(*claims(LINKS_MAX))
    content = msgspec.structs.replace(record, services=()).serialize()
    link_size = 16
    at = len(content) - LINKS_MAX * link_size - 3  # three counts stand before the links
    assert content[at] == LINKS_MAX
    one_more = b"\xff" * 8 + content[-link_size + 8 :]
    mallory.say(
        0, mallory.signed(content[:at] + bytes([LINKS_MAX + 1]) + content[at + 1 :] + one_more)
    )
    world.run(1.0)
    assert reasons(world, mallory.name) == {"record lists too much"}
    assert routes(world) == before


@pytest.mark.parametrize(
    ("made_s", "reason"),
    [(+HOUR_S, "record from the future"), (-3 * HOUR_S, "record whose time is over")],
)
def test_records_of_another_time_are_refused(
    world: MeshWorld, mallory: Puppet, made_s: int, reason: str
) -> None:
    before, record = routes(world), mallory.record()
    moved = msgspec.structs.replace(record, made_s=record.made_s + made_s)
    mallory.say(0, mallory.sign(moved))
    world.run(1.0)
    assert reasons(world, mallory.name) == {reason}
    assert routes(world) == before


def test_two_records_under_one_version_convict_their_signer(
    world: MeshWorld, mallory: Puppet
) -> None:
    """R13: those who passed them on are not blamed, and `explain` tells whom not to trust."""
    one = mallory.record(sequence_more=5)
    other = msgspec.structs.replace(one, links=one.links[:1])
    mallory.say(0, mallory.sign(one))
    mallory.say(2, mallory.sign(other))
    world.run(1.0)
    assert reasons(world, mallory.name) == {"records contradict each other"}
    assert named(world) == {mallory.name}
    witnesses = [number for number in HONEST if world.members[number].core.database.contradictions]
    assert len(witnesses) >= 2
    for number in witnesses:
        assert set(world.members[number].core.database.contradictions) == {mallory.id}
    told = [line for number in {0, 2} & set(witnesses) for line in explained(world, number, 4)]
    assert [line for line in told if line.startswith(f"note: {M} {CONTRADICTED}")]


def test_roles_that_her_certificate_has_not_do_not_count_and_are_told(
    world: MeshWorld, mallory: Puppet
) -> None:
    """R13: she is a relay, and would be an exit and an issuer as well."""
    before = routes(world)
    claimed = role_bits(["relay", "exit", "issuer"])
    mallory.say(0, mallory.sign(msgspec.structs.replace(mallory.record(), roles=claimed)))
    world.run(1.0)
    for number in HONEST:
        database = world.members[number].core.database
        assert roles_of(database.records[mallory.id].roles) == {"relay"}
        assert dict(database.pretences) == {mallory.id: 1}
    assert reasons(world, mallory.name) == {PRETENDED}
    assert named(world) == {mallory.name}
    assert f"note: {M} {PRETENDED}, 1 ×" in explained(world, 0, 4)
    assert routes(world) == before


def test_a_storm_of_true_records_is_slowed_down_to_what_anybody_may_say(
    world: MeshWorld, mallory: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: a thousand in ten seconds, each of them signed and newer than the last."""
    before = routes(world)
    sent = {number: world.members[number].core.flooding.bytes_sent for number in HONEST}
    with counted_signatures(monkeypatch) as seen:
        for number in range(1, 1001):
            mallory.say(NEAR[number % 3], mallory.sign(mallory.record(sequence_more=number)))
            if number % 10 == 0:
                world.run(0.1)
    assert len(seen) < 150  # the first burst at each of three neighbours, then two a second
    assert "too many records of one origin" in reasons(world, mallory.name)
    for number in HONEST:
        assert world.members[number].core.flooding.bytes_sent - sent[number] < 400_000
    world.run(20.0)
    assert routes(world) == before


# --- certificates ---


def test_tampered_certificates_are_refused(
    world: MeshWorld, mallory: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, own = routes(world), mallory.node.core.own.certificate
    with counted_signatures(monkeypatch) as seen:
        for at in range(10, len(own)):
            for frame in (bytes([MEMBER]), None):
                tampered = own[:at] + bytes([own[at] ^ 1]) + own[at + 1 :]
                if frame is not None:
                    mallory.send(0, frame, tampered)
                else:
                    mallory.say(0, tampered)
            world.run(0.01)
    assert len(seen) < 60
    assert "the signature does not hold" in reasons(world, mallory.name)
    assert "too many certificates" in reasons(world, mallory.name)
    assert named(world) == {mallory.name}
    assert world.members[0].core.membership.members.keys() == {
        world.identifier(number) for number in range(7)
    }
    assert routes(world) == before


def test_a_flood_of_wrong_certificates_does_not_hide_what_else_she_did(
    world: MeshWorld, mallory: Puppet
) -> None:
    mallory.send(0, bytes([200]), b"")
    for size in range(1, 2000):
        mallory.send(0, bytes([MEMBER]), bytes(size))
        if size % 100 == 0:
            world.run(0.5)
    refused = world.members[0].core.rejected_frames
    assert refused[mallory.name, "a frame of no known type"] == 1
    assert len(refused) <= 16


# --- lies about links ---


def claims(count: int) -> list[RecordLink]:
    return [RecordLink(number.to_bytes(8), 0, 1) for number in range(1, count + 1)]


def test_links_that_only_she_claims_do_not_count_and_are_told(
    world: MeshWorld, mallory: Puppet
) -> None:
    """R13."""
    before = routes(world)
    strangers = [world.identifier(number) for number in (1, 3, 5)]
    mallory.claim(lambda links: [*links, *(RecordLink(node, 0, 1) for node in strangers)])
    world.run(10.0)
    for number in HONEST:
        core = world.members[number].core
        assert {link.peer for link in core.database.records[mallory.id].links} > set(strangers)
        assert all(core.graph.cost(mallory.id, node) is None for node in strangers)
    assert routes(world) == before
    explanation = world.members[0].core.explain(world.members[3].hashname, world.now)
    (lie,) = [one for one in explanation.candidates if one.verdict is RouteVerdict.ONE_SIDED]
    assert lie.culprits == ((mallory.id, world.identifier(3)),)
    assert f"      does not count: {M} – 3 is claimed by one side only" in explained(world, 0, 3)


def test_her_links_are_no_cheaper_than_their_honest_ends_say(
    world: MeshWorld, mallory: Puppet
) -> None:
    before = routes(world)
    mallory.claim(lambda links: [RecordLink(link.peer, 0, 1) for link in links])
    world.run(10.0)
    for number in HONEST:
        core = world.members[number].core
        for near in NEAR:
            honest = world.identifier(near)
            said = {link.peer: link.cost_us for link in core.database.records[honest].links}
            assert core.graph.cost(honest, mallory.id) == said[mallory.id]
    assert routes(world) == before


def test_who_claims_to_be_far_away_is_left_alone(world: MeshWorld, mallory: Puppet) -> None:
    """She may repel packets, as every member may; those that go elsewhere arrive."""
    mallory.claim(lambda links: [RecordLink(link.peer, 0, COST_MAX) for link in links])
    world.run(10.0)
    assert all(M not in route for route in routes(world).values())


# --- floods ---


def news_travels_s(world: MeshWorld) -> float:
    """How long it takes until everybody knows that 3 and 4 lost their link."""
    began_s, nodes = world.now, (world.identifier(3), world.identifier(4))
    world.sever(3, 4)
    world.members[3].hang_up(_stream(world, 3, 4))
    world.members[4].hang_up(_stream(world, 4, 3))

    def everybody_knows() -> bool:
        return all(world.members[number].core.graph.cost(*nodes) is None for number in HONEST)

    world.run_until(everybody_knows, 30)
    return world.now - began_s


def _stream(world: MeshWorld, one: int, other: int) -> Path:
    link = world.members[one].endpoint.links[world.members[other].hashname]
    return next(state.path for state in link.paths if state.is_stream)


def test_questions_without_end_do_not_delay_the_news_of_others(
    world: MeshWorld, mallory: Puppet
) -> None:
    """R4: digests and wants that never match, a thousand a second to each neighbour."""
    keys = tuple(StatementKey(kind, node) for node in _ids(world) for kind in (RECORD, CERTIFICATE))
    for number in range(2000):
        for near in NEAR:
            mallory.send(near, *RootDigest(number).serialize())
            mallory.send(near, *Want(keys).serialize())
        if number % 100 == 0:
            world.run(0.1)
    assert "too many questions" in reasons(world, mallory.name)
    assert named(world) == {mallory.name}
    assert news_travels_s(world) < 0.5
    for number in HONEST:
        assert len(world.members[number].core.rejected_frames) <= 4


def _ids(world: MeshWorld) -> list[NodeId]:
    return [world.identifier(number) for number in range(7)]
