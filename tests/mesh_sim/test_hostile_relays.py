"""A relay that swallows packets, makes up their origin, or drowns others in them.

What is contained, and what is not: docs/protocol/mesh-rules.md.
"""

import pytest

from rookery.link.link import LinkState
from rookery.mesh.routing.blackhole_relays import PASSED_OVER_S
from rookery.mesh.routing.echo import Echoed, EchoLost
from rookery.mesh.routing.forwarding import STEPS_MAX
from rookery.mesh.routing.route_explanation import SILENT
from rookery.sim.mesh.world import MeshWorld
from rookery.wire.mesh.echo import EchoRequest
from rookery.wire.mesh.forward import Forward, ForwardKind, PathError, PathErrorReason
from tests.link.worlds import Collector, Writer
from tests.mesh_sim.hive import M, explained, hive, reasons, routes
from tests.mesh_sim.probes import route
from tests.mesh_sim.puppet import Puppet


@pytest.fixture
def world() -> MeshWorld:
    return hive()


@pytest.fixture
def mallory(world: MeshWorld) -> Puppet:
    return Puppet(world, M)


def ping(world: MeshWorld, source: int, target: int) -> object:
    """What becomes of one echo."""
    node = world.members[source]
    token = node.core.ping(world.members[target].hashname, world.now)
    node.due()
    world.run(6.0)
    (outcome,) = [outcome for outcome in node.outcomes if outcome.token == token]
    return outcome


# --- she drops what she should pass on ---


def test_a_link_comes_up_around_a_relay_that_swallows_everything(
    world: MeshWorld, mallory: Puppet
) -> None:
    mallory.swallow()
    assert route(world, 0, 2) == [0, M, 2]
    assert isinstance(ping(world, 0, 2), EchoLost)
    node, peer = world.members[0], world.members[2].hashname
    link = node.core.reach(peer, world.now)
    node.due()
    began_s = world.now
    world.run_until(lambda: link.state is LinkState.UP, 30)
    assert world.now - began_s < 4.0
    assert f"note: 0 – {M} – 2 {SILENT}" in explained(world, 0, 2)
    assert isinstance(ping(world, 0, 2), Echoed)


def test_a_transfer_goes_on_when_its_relay_begins_to_swallow(
    world: MeshWorld, mallory: Puppet
) -> None:
    """Also when the relay is tried again, and has not changed."""
    node, peer = world.members[0], world.members[2]
    link = node.core.reach(peer.hashname, world.now)
    node.due()
    world.run_until(lambda: link.state is LinkState.UP, 30)
    collector = Collector(peer)
    mallory.swallow()
    lulls = []
    for _ in range(4):
        began_s, before = world.now, len(collector.data)
        writer = Writer(node, link, bytes(100_000))
        world.run_until(lambda: writer.channel.is_closed, 60)  # noqa: B023 - run at once
        assert writer.channel.failure is None
        assert len(collector.data) - before == 100_000
        lulls.append(world.now - began_s)
        world.run(PASSED_OVER_S / 2)
    assert link.state is LinkState.UP
    assert max(lulls) < 8.0
    assert min(lulls) < 1.0


def test_whoever_never_used_her_route_notices_nothing(world: MeshWorld, mallory: Puppet) -> None:
    mallory.swallow()
    world.run(30.0)
    for (source, target), nodes in routes(world).items():
        if M not in nodes:
            assert isinstance(ping(world, source, target), Echoed)


# --- she makes up who sent what ---


def test_packets_in_the_name_of_others_reach_no_link(world: MeshWorld, mallory: Puppet) -> None:
    """She may write any route; what is inside is sealed, and not by those she names."""
    victim, target = world.members[3], world.members[0]
    before = {
        hashname: [s.path for s in link.paths] for hashname, link in target.endpoint.links.items()
    }
    dropped = target.endpoint.dropped.total()
    link = mallory.node.endpoint.links[target.hashname]
    own = link.sealed_frame(b"\x0a", b"a datagram of mine")
    assert own is not None
    payloads = [
        own,
        b"\x00\x00" + bytes(100),
        b"\x00\x01\x40" + bytes(200),
        b"\x00\x10" + bytes(64),
    ]
    for payload in payloads:
        mallory.forward(
            0, Forward((victim.id, mallory.id, target.id), payload, cursor=2, hop_limit=8)
        )
    world.run(1.0)
    after = {
        hashname: [s.path for s in link.paths] for hashname, link in target.endpoint.links.items()
    }
    assert after == before
    assert target.datagrams == []
    assert target.endpoint.dropped.total() > dropped
    nobody = bytes(8)
    mallory.forward(0, Forward((nobody, mallory.id, target.id), own, cursor=2, hop_limit=8))
    world.run(1.0)
    assert reasons(world, mallory.name) == {"a packet of no member"}


def test_routes_that_do_not_lead_here_are_refused(world: MeshWorld, mallory: Puppet) -> None:
    me, one, two = mallory.id, world.identifier(0), world.identifier(2)
    for frame in (
        Forward((me, two, one), b"", cursor=1),  # for somebody else
        Forward((two, one), b"", cursor=1),  # not from her
        Forward((me, one, two), b"", hop_limit=1),  # spent: told by an error, which is no crime
    ):
        mallory.forward(0, frame)
    mallory.send(0, Forward((me, one, two), b"").head(), me + one + one)
    world.run(1.0)
    assert reasons(world, mallory.name) == {
        "not for this node",
        "not from the previous node",
        "node twice in a route",
    }
    assert world.members[0].core.data_plane.forwarder.fates["gave up: hop limit"] == 1


def test_a_made_up_error_moves_only_what_she_carries_anyway(
    world: MeshWorld, mallory: Puppet
) -> None:
    """Of the routes that pass her she could as well drop the packets; the others stay."""
    before = routes(world)
    nodes = [world.identifier(number) for number in range(7)]
    for failed in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)):
        reporter, other = (nodes[number] for number in failed)
        for back in ((reporter, mallory.id, nodes[0]), (mallory.id, nodes[0])):
            error = PathError(PathErrorReason.NO_WAY, other, b"")
            frame = Forward(
                back, error.serialize(), ForwardKind.PATH_ERROR, cursor=len(back) - 1, hop_limit=4
            )
            mallory.forward(0, frame)
    world.run(1.0)
    after = routes(world)
    for pair, members in before.items():
        if M not in members:
            assert after[pair] == members
    world.run(10.0)
    assert routes(world) == before


# --- she drowns others in packets ---


def test_a_flood_of_routes_takes_no_memory_and_causes_few_answers(
    world: MeshWorld, mallory: Puppet
) -> None:
    before = routes(world)
    here = world.members[0]
    for number in range(5000):
        nowhere = (b"\xee" + number.to_bytes(7),)
        mallory.forward(0, Forward((mallory.id, here.id, *nowhere), bytes(200)))
        if number % 500 == 0:
            world.run(0.1)
    world.run(0.5)
    forwarder = here.core.data_plane.forwarder
    assert forwarder.remembered <= STEPS_MAX
    assert forwarder.fates["gave up: no way"] == 5000
    assert forwarder.fates["error sent"] <= 32 + 16 * 2
    assert forwarder.fates["error held back"] > 4000
    assert routes(world) == before


def test_a_flood_of_echoes_is_answered_at_the_pace_of_one_neighbour(
    world: MeshWorld, mallory: Puppet
) -> None:
    """Those that come by way of others are laid to the last relay: origins prove nothing."""
    target, far = world.members[0], world.members[1]
    for number in range(2000):
        request = EchoRequest(number.to_bytes(8)).serialize()
        mallory.forward(0, Forward((mallory.id, target.id), request, ForwardKind.ECHO_REQUEST))
        mallory.forward(
            0, Forward((mallory.id, target.id, far.id), request, ForwardKind.ECHO_REQUEST)
        )
        if number % 200 == 0:
            world.run(0.1)
    world.run(0.5)
    for node in (target, far):
        assert 0 < node.core.data_plane.echoes.replied <= 64 + 32 * 2
    assert target.core.rejected_frames[mallory.name, "too many echo requests"] > 1000
    assert far.core.rejected_frames[target.hashname[:8], "too many echo requests"] > 1000
    assert isinstance(ping(world, 3, 0), Echoed)  # over others, as ever
