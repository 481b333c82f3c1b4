"""What a node starts, passes on and takes in."""

import pytest

from rookery.errors import UnreachableError
from rookery.mesh.routing.blackhole_relays import PASSED_OVER_S
from rookery.mesh.routing.path_errors import AVOID_S
from rookery.sim.mesh.member import SimulatedMember
from rookery.wire.mesh.echo import REQUEST_SIZE_MIN
from rookery.wire.mesh.forward import Forward, ForwardKind, PathError, PathErrorReason
from tests.mesh.node_world import NodeWorld

HANDSHAKE = b"\x00\x01\x40a handshake"


def diamond(
    world: NodeWorld,
) -> tuple[SimulatedMember, SimulatedMember, SimulatedMember, SimulatedMember]:
    """Ada and Dot, and two routes between them: over Bob, and a longer one over Cy."""
    names = ("ada", "bob", "cy", "dot")
    ada, bob, cy, dot = (
        world.member(name, peers=[n for n in names if n != name]) for name in names
    )
    for one, other in ((ada, bob), (bob, dot), (ada, cy), (cy, dot)):
        world.link(one, other)
    world.run_until(lambda: world.reaches(ada, dot) and world.reaches(dot, ada), 20)
    world.run(5.0)
    return ada, bob, cy, dot


def route(node: SimulatedMember, to: SimulatedMember, now: float) -> tuple[bytes, ...]:
    choice = node.core.table.to(to.id, now)
    assert choice is not None
    return choice.route.nodes


def test_without_a_route_nothing_is_started() -> None:
    world = NodeWorld()
    (ada,) = world.line("ada")
    data_plane = ada.core.data_plane
    nobody = b"nobody!!"
    assert not data_plane.start(nobody, b"", world.now)
    with pytest.raises(UnreachableError, match="no route leads there"):
        data_plane.ask(nobody, world.now, size=REQUEST_SIZE_MIN)
    data_plane.doubt(nobody, world.now)
    assert data_plane.blackhole_relays.deadline is None


def test_a_packet_comes_to_the_link_of_whoever_sent_it() -> None:
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    dropped = cy.endpoint.dropped.total()
    ada.core.data_plane.start(cy.id, b"\x00\x00no token of anybody", world.now)
    ada.due()
    world.run(1.0)
    assert bob.core.data_plane.forwarder.relayed >= 1
    assert cy.endpoint.dropped.total() == dropped + 1


def test_an_edge_that_failed_a_packet_is_avoided_for_a_while() -> None:
    world = NodeWorld()
    ada, bob, cy, dot = diamond(world)
    first = route(ada, dot, world.now)[1]
    relay = bob if first == bob.id else cy
    error = PathError(PathErrorReason.NO_WAY, dot.id)
    frame = Forward((relay.id, ada.id), error.serialize(), ForwardKind.PATH_ERROR)
    link = relay.endpoint.links[ada.hashname]
    link.send_frame(frame.head(), frame.body())
    relay.due()
    world.run(0.1)
    data_plane = ada.core.data_plane
    assert data_plane.avoids((ada.id, relay.id, dot.id))
    assert route(ada, dot, world.now)[1] != first
    assert data_plane.deadline is not None
    world.run(AVOID_S + 0.1)
    assert not data_plane.avoids((ada.id, relay.id, dot.id))


def test_an_error_about_no_route_of_ours_changes_nothing() -> None:
    world = NodeWorld()
    ada, bob, cy, dot = diamond(world)
    before = route(ada, dot, world.now)
    frame = Forward(
        (bob.id, ada.id),
        PathError(PathErrorReason.NO_WAY, cy.id).serialize(),
        ForwardKind.PATH_ERROR,
    )
    bob.endpoint.links[ada.hashname].send_frame(frame.head(), frame.body())
    bob.due()
    world.run(0.1)
    assert ada.core.data_plane.errors.unrelated == 1
    assert route(ada, dot, world.now) == before


def test_a_route_in_doubt_gives_way_to_the_next_and_is_tried_again_later() -> None:
    world = NodeWorld()
    ada, bob, cy, dot = diamond(world)
    before = route(ada, dot, world.now)
    data_plane = ada.core.data_plane
    data_plane.start(dot.id, HANDSHAKE, world.now)
    ada.due()
    world.run(0.1)
    data_plane.doubt(dot.id, world.now)
    assert data_plane.avoids(before)
    relayed = {node.id: node.core.data_plane.forwarder.relayed for node in (bob, cy)}
    data_plane.start(dot.id, b"\x00\x00a packet", world.now)
    ada.due()
    world.run(0.1)
    for node in (bob, cy):
        grown = node.core.data_plane.forwarder.relayed - relayed[node.id]
        assert grown == (node.id != before[1])
    world.run(PASSED_OVER_S)
    assert not data_plane.avoids(before)


def test_the_route_that_a_handshake_took_is_doubted_not_the_one_that_is_best_by_now() -> None:
    """Else packets would return to a fading route for as long as another is avoided."""
    world = NodeWorld()
    ada, _, _, dot = diamond(world)
    before = route(ada, dot, world.now)
    data_plane = ada.core.data_plane
    data_plane.start(dot.id, HANDSHAKE, world.now)
    ada.core.table.avoid(before[1], dot.id, world.now + 60)
    after = route(ada, dot, world.now)
    assert after != before
    data_plane.start(dot.id, b"\x00\x00a packet", world.now)  # which is no question
    data_plane.doubt(dot.id, world.now)
    assert data_plane.avoids(before)
    assert not data_plane.avoids(after)


def test_a_link_is_sound_then_suspect_then_gone() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    data_plane, seen = ada.core.data_plane, list[tuple[bool, bool, bool]]()
    world.separate("10.0.0.1", "10.0.0.2")
    for _ in range(80):
        data_plane.start(bob.id, b"\x00\x00traffic", world.now)
        ada.due()
        world.run(0.1)
        state = data_plane.usable(bob.id), data_plane.sound(bob.id), data_plane.suspect(bob.id)
        if not seen or seen[-1] != state:
            seen.append(state)
    assert seen == [(True, True, False), (True, False, True), (False, False, False)]


def test_who_is_no_relay_passes_nothing_on() -> None:
    world = NodeWorld()
    ada = world.member("ada", peers=["bob"])
    bob = world.member("bob", peers=["ada", "cy"], roles=())
    cy = world.member("cy", peers=["bob"])
    world.link(ada, bob)
    world.link(cy, bob)
    world.run_until(lambda: world.reaches(ada, bob) and world.reaches(cy, bob), 20)
    world.run(3.0)
    assert not world.reaches(ada, cy)
    frame = Forward((ada.id, bob.id, cy.id), b"\x00\x00take this")
    ada.endpoint.links[bob.hashname].send_frame(frame.head(), frame.body())
    ada.due()
    world.run(0.5)
    assert bob.core.data_plane.forwarder.fates["gave up: refused"] == 1
    assert bob.core.data_plane.forwarder.relayed == 0
    assert not bob.core.data_plane.may_relay(ada.id)
