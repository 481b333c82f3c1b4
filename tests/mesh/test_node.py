"""Whole nodes: what programs ask of them, what happens to links, and what arrives."""

import pytest

from rookery.errors import UnreachableError, UsageError
from rookery.link.events import LinkUp
from rookery.link.link import LinkState
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.routing.echo import Echoed, EchoFailed, EchoLost
from rookery.sim.endpoint import EPOCH_UNIX_S
from rookery.sim.mesh.member import SimulatedMember
from rookery.wire.link.frame_types import PING
from rookery.wire.link.path import RoutePath
from rookery.wire.mesh.flood import RootDigest
from rookery.wire.mesh.forward import DatagramClass, PathErrorReason
from tests.mesh.node_world import NodeWorld, peers_in
from tests.mesh.realms import ROOT, certify, identity


def payloads(node: SimulatedMember) -> list[bytes]:
    return [datagram.payload for datagram in node.datagrams]


# --- linking up ---


def test_members_that_link_become_neighbours_and_tell_of_it() -> None:
    """M1."""
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    assert world.is_up(ada, bob)
    assert world.is_up(bob, ada)
    world.run(2.0)
    for node in (ada, bob):
        assert peers_in(node, ada.id) == {bob.id}
        assert peers_in(node, bob.id) == {ada.id}


def test_a_member_nobody_has_heard_of_is_made_known_by_whom_it_links_with() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    cy = world.member("cy", peers=["bob"])
    world.link(cy, bob)
    world.run_until(lambda: world.reaches(ada, cy), 10)
    assert ada.core.membership.by_hashname(cy.hashname) is not None


def test_our_certificate_is_shown_to_members_and_peers_only() -> None:
    world = NodeWorld()
    ada, bob = world.member("ada"), world.member("bob")
    link = world.link(ada, bob)
    world.run(5.0)
    assert link.state is LinkState.UP
    assert ada.core.neighbours == bob.core.neighbours == {}
    world.run(10.0)  # and a stranger that says nothing does not stay
    assert ada.hashname not in bob.endpoint.links


def test_a_stranger_learns_our_addresses_once_it_has_shown_a_certificate() -> None:
    """Its answer says how it sees us; a stranger that shows none is never asked."""
    world = NodeWorld()
    ada, bob, carol = (
        world.member("ada"),
        world.member("bob", peers=("ada",)),
        world.member("carol"),
    )
    for stranger in (bob, carol):
        world.link(stranger, ada)
    world.run_until(lambda: world.is_up(ada, bob))
    world.run(1.0)
    links = ada.endpoint.links
    assert links[bob.hashname].observed == ada.paths[0]
    assert links[carol.hashname].observed is None


def test_a_record_that_tells_an_address_brings_a_link() -> None:
    """M1: although another route leads there."""
    world = NodeWorld()
    hub = world.member("hub")
    ada = world.member("ada", peers=["hub"], is_dialable=True)
    bob = world.member("bob", peers=["hub"])
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: world.is_up(bob, ada) and world.is_up(ada, bob), 20)
    assert ada.hashname in bob.endpoint.links


def test_no_more_links_are_dialled_than_allowed() -> None:
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", settings=NodeSettings(peers=frozenset([hub.hashname]), links_max=1))
    world.link(bob, hub)
    for name in ("ada", "cy", "dot"):
        world.link(world.member(name, peers=["hub"], is_dialable=True), hub)
    world.run(30.0)
    assert set(bob.core.neighbours) == {hub.id}
    assert len(bob.core.membership.members) == 5


def test_a_member_that_restarts_under_an_old_epoch_outdoes_its_former_life() -> None:
    """R1: whoever lost its memory still gets its word in."""
    world = NodeWorld()
    bob = world.member("bob", peers=["ada"])
    ada = world.member("ada", peers=["bob"], epoch=5)
    world.link(ada, bob)
    world.run_until(lambda: peers_in(bob, ada.id) == {bob.id}, 20)
    former = bob.core.database.records[ada.id].version
    assert former > (5, 0)
    world.crash(ada)
    world.run(5.0)
    again = world.member("ada", peers=["bob"], epoch=1)
    world.link(again, bob)
    world.run_until(lambda: bob.core.database.records[ada.id].version > former, 30)
    world.run(1.0)
    own = again.core.database.records[ada.id]
    assert bob.core.database.records[ada.id] == own
    assert peers_in(bob, ada.id) == {bob.id}


def test_losing_one_neighbour_takes_nobody_elses_links() -> None:
    """R3."""
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    world.crash(ada)
    world.run_until(lambda: peers_in(cy, bob.id) == {cy.id}, 10)
    assert world.is_up(bob, cy)
    assert bob.core.graph.cost(bob.id, cy.id) is not None
    assert ada.id not in bob.core.neighbours


# --- datagrams ---


def test_a_datagram_takes_the_direct_link() -> None:
    """M11."""
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    assert ada.core.send_datagram(bob.hashname, b"hi", world.now)
    ada.due()
    world.run(1.0)
    assert payloads(bob) == [b"hi"]
    assert bob.datagrams[0].hashname == ada.hashname
    assert not ada.core.datagram_service.routed


def test_a_datagram_that_is_too_large_for_its_class_is_the_callers_mistake() -> None:
    """M11."""
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    world.run(5.0)
    with pytest.raises(UsageError, match="a datagram of 3000 bytes is too large for class drop"):
        ada.core.send_datagram(bob.hashname, bytes(3000), world.now, DatagramClass.DROP)


def test_a_datagram_goes_through_the_mesh_where_no_link_is_direct() -> None:
    """M11: sealed for the far end, along the route."""
    world = NodeWorld()
    ada, _, cy = world.line("ada", "bob", "cy")
    with pytest.raises(UnreachableError, match="there is no link"):
        ada.core.send_datagram(cy.hashname, b"hi", world.now)
    link = ada.core.reach(cy.hashname, world.now)
    with pytest.raises(UnreachableError, match="there is no link"):
        ada.core.send_datagram(cy.hashname, b"hi", world.now)  # it is not up yet
    ada.due()
    world.run_until(lambda: link.state is LinkState.UP, 10)
    assert ada.core.send_datagram(cy.hashname, b"hi", world.now)
    ada.due()
    world.run(1.0)
    assert payloads(cy) == [b"hi"]
    assert ada.core.datagram_service.routed == {(DatagramClass.FALLBACK, True): 1}


def test_a_datagram_without_a_route_is_counted_as_not_sent() -> None:
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    link = ada.core.reach(cy.hashname, world.now)
    ada.due()
    world.run_until(lambda: link.state is LinkState.UP, 10)
    world.crash(bob)
    world.run(2.0)
    assert not ada.core.send_datagram(cy.hashname, b"hi", world.now)
    assert ada.core.datagram_service.routed == {(DatagramClass.FALLBACK, False): 1}


# --- links through the mesh ---


def test_a_link_comes_up_over_a_route_and_moves_to_the_direct_path() -> None:
    """M3."""
    world = NodeWorld()
    ada, _, cy = world.line("ada", "bob", "cy")
    link = ada.core.reach(cy.hashname, world.now)
    ada.due()
    world.run_until(lambda: link.state is LinkState.UP, 10)
    assert link.paths.best == RoutePath(cy.hashname)
    assert cy.id not in ada.core.neighbours
    world.link(ada, cy)  # its address becomes known
    world.run_until(lambda: link.paths.best in cy.paths and world.is_up(ada, cy), 60)


def test_a_frame_for_neighbours_is_not_taken_from_afar() -> None:
    world = NodeWorld()
    ada, _, cy = world.line("ada", "bob", "cy")
    link = ada.core.reach(cy.hashname, world.now)
    ada.due()
    world.run_until(lambda: link.state is LinkState.UP, 10)
    for head, body in (RootDigest(1).serialize(), (bytes([PING]), b"")):
        packet = link.sealed_frame(head, body)
        assert packet is not None
        ada.core.send_over_route(cy.hashname, packet, world.now)
    ada.due()
    world.run(1.0)
    assert dict(cy.core.rejected_frames) == {
        (ada.hashname[:8], "a neighbour's frame by way of others"): 2
    }


# --- echoes and explanations ---


def outcome(world: NodeWorld, node: SimulatedMember, token: bytes) -> object:
    node.due()
    world.run_until(lambda: bool(node.outcomes), 10)
    (found,) = node.outcomes
    node.outcomes.clear()
    assert found.token == token
    return found


def test_a_ping_and_a_trace_tell_the_route() -> None:
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    answered = outcome(world, ada, ada.core.ping(cy.hashname, world.now))
    assert isinstance(answered, Echoed)
    assert answered.route == (ada.id, bob.id, cy.id)
    step = outcome(world, ada, ada.core.ping(cy.hashname, world.now, hop_limit=1))
    assert isinstance(step, EchoFailed)
    assert (step.reason, step.back[0], step.failed) == (PathErrorReason.HOP_LIMIT, bob.id, cy.id)


def test_a_ping_into_silence_is_lost() -> None:
    world = NodeWorld()
    ada, _, cy = world.line("ada", "bob", "cy")
    world.separate("10.0.0.2", "10.0.0.3")
    token = ada.core.ping(cy.hashname, world.now)
    assert isinstance(outcome(world, ada, token), EchoLost)


def test_only_members_are_reached_pinged_and_explained() -> None:
    world = NodeWorld()
    (ada,) = world.line("ada")
    stranger = identity("stranger").hashname
    for ask in (ada.core.reach, ada.core.ping, ada.core.explain):
        with pytest.raises(UnreachableError, match="is no member of test"):
            ask(stranger, world.now)
    ada.core.tell(certify(identity("stranger"), "stranger"), world.now)
    with pytest.raises(UnreachableError, match="no route leads there"):
        ada.core.ping(stranger, world.now)
    assert not ada.core.send_over_route(stranger, b"", world.now)
    explanation = ada.core.explain(stranger, world.now)
    assert explanation.chosen is None


def test_events_that_do_not_concern_the_mesh_are_left_alone() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    ada.core.handle(LinkUp(ada.endpoint.links[bob.hashname]), world.now)
    assert world.is_up(ada, bob)


# --- members come and go ---


def test_a_certificate_that_runs_out_ends_the_membership() -> None:
    world = NodeWorld()
    ada = world.member("ada", peers=["bob"])
    bob = world.member("bob", peers=["ada"], until_s=20.0)
    link = world.link(ada, bob)
    world.run_until(lambda: world.is_up(ada, bob), 10)
    world.run(25.0 - world.now)
    assert ada.core.membership.members.keys() == {ada.id}
    assert ada.core.neighbours == {}
    assert link.state is not LinkState.UP
    assert ada.core.rejected_frames[bob.hashname[:8], "no member any more"] == 1


def test_a_role_that_is_given_or_taken_counts_within_a_second() -> None:
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    plain = certify(identity("bob"), "bob", (), serial=2, from_s=int(EPOCH_UNIX_S + world.now))
    ada.core.tell(plain, world.now)
    ada.due()
    world.run(2.0)
    assert not world.reaches(ada, cy)
    assert world.reaches(ada, bob)


def test_a_revocation_is_told_and_remembered() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    ada.core.tell(ROOT.revoke(bob.hashname, int(EPOCH_UNIX_S + world.now)), world.now)
    ada.due()
    world.run(2.0)
    with pytest.raises(UnreachableError, match="was revoked from test"):
        ada.core.explain(bob.hashname, world.now)
    assert bob.hashname not in ada.endpoint.links


# --- time ---


def test_an_idle_node_is_woken_for_what_is_due_and_for_nothing_else() -> None:
    """As a pump drives it: who finds nothing to do asks for the next deadline, and sleeps."""
    world = NodeWorld()
    ada, _ = world.line("ada", "bob")
    world.run(30.0)
    core, now = ada.core, world.now
    core.flush(now)
    wakes, in_vain = 0, 0
    while (deadline := core.deadline) is not None and deadline < world.now + 1.0:
        now, wakes = max(now, deadline), wakes + 1
        if core.tick(now):
            core.flush(now)
        else:
            in_vain += 1
    assert 0 < wakes < 20
    assert in_vain <= wakes / 2
