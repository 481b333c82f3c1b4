"""Whom a node makes links with, and whose links it takes."""

import pytest

from rookery.link.discovery.announcement import announcements
from rookery.link.link import LinkState
from rookery.mesh.membership.peering import UNPROVEN_S
from rookery.mesh.node_settings import NodeSettings
from rookery.sim.world import PORT
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, RoutePath
from tests.mesh.node_world import NodeWorld
from tests.mesh.realms import certify, identity

NOWHERE = NetPath("udp4", "10.0.0.99", PORT)


def test_who_only_announces_itself_gets_no_link() -> None:
    world = NodeWorld()
    (ada,) = world.line("ada")
    for data in announcements(identity("somebody")):
        ada.endpoint.received(NOWHERE, Packet.parse(data), world.now)
    ada.due()
    world.run(1.0)
    assert dict(ada.endpoint.links) == {}
    assert len(ada.core.peering.unproven_peers) == 0


def test_an_unproven_peer_whose_certificate_comes_over_others_may_stay() -> None:
    """It was a stranger when it came, and is none when its time is over."""
    world = NodeWorld()
    ada, bob = world.member("ada"), world.member("bob")
    link = world.link(ada, bob)
    world.run(1.0)
    bob.core.tell(ada.core.own.certificate, world.now)
    world.run(UNPROVEN_S + 1)
    assert ada.hashname in bob.endpoint.links
    assert link.state is LinkState.UP


def test_a_member_that_moved_is_found_at_its_new_address() -> None:
    """M1: over the link that it still has with others, its record tells."""
    world = NodeWorld()
    hub = world.member("hub")
    ada = world.member("ada", peers=["hub"], is_dialable=True)
    bob = world.member("bob", peers=["hub"])
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: world.is_up(bob, ada), 20)
    world.separate("10.0.0.2", "10.0.0.3")
    world.run_until(lambda: not world.is_up(bob, ada), 20)
    world.reunite()
    world.run_until(lambda: world.is_up(bob, ada), 60)


def test_the_address_is_added_to_a_link_that_is_there_already() -> None:
    """M3: a link over a route becomes direct once there is something to dial."""
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", peers=["hub"])
    ada = world.member("ada", peers=["hub"])
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: world.reaches(bob, ada) and world.reaches(ada, bob), 20)
    link = bob.core.reach(ada.hashname, world.now)
    bob.due()
    world.run_until(lambda: link.state is LinkState.UP, 10)
    assert link.paths.best == RoutePath(ada.hashname)
    again = world.member("ada", peers=["hub"], is_dialable=True, epoch=2)
    world.link(again, hub)
    world.run_until(lambda: world.is_up(bob, again), 60)
    assert bob.endpoint.links[again.hashname] is link


def test_who_cannot_be_dialled_any_more_is_wanted_no_more() -> None:
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", peers=["hub"])
    ada = world.member("ada", peers=["hub"], is_dialable=True)
    world.separate("10.0.0.2", "10.0.0.3")
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: ada.id in bob.core.peering.dialling, 20)
    again = world.member("ada", peers=["hub"], epoch=2)
    world.link(again, hub)
    world.run(60.0)
    assert ada.id not in bob.core.peering.dialling


def test_who_is_expelled_is_not_dialled_again() -> None:
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", peers=["hub"])
    ada = world.member("ada", peers=["hub"], is_dialable=True, until_s=15.0)
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: world.is_up(bob, ada), 14)
    world.run(20.0 - world.now)
    assert ada.id not in bob.core.peering.dialling
    assert set(bob.core.neighbours) == {hub.id}


def test_members_are_taken_though_they_are_not_dialled() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    cy = world.member("cy")
    bob.core.tell(certify(identity("cy"), "cy", ["relay"]), world.now)
    world.link(cy, bob)
    world.run_until(lambda: world.is_up(bob, cy), 10)
    assert len(bob.core.peering.unproven_peers) == 0
    assert world.is_up(ada, bob)


@pytest.mark.parametrize("ip", ["127.0.0.1", "169.254.169.254", "224.0.0.1"])
def test_an_address_that_means_another_place_here_is_not_dialled(ip: str) -> None:
    """H1: a member that lies in its record has nobody knock at services of their own machines."""
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", peers=["hub"])
    lies = NodeSettings(
        paths=(NetPath("tcp4", ip, PORT),), peers=frozenset({identity("hub").hashname})
    )
    liar = world.member("liar", settings=lies)
    world.link(liar, hub)
    world.link(bob, hub)
    world.run_until(lambda: liar.id in bob.core.database.records, 20)
    assert bob.core.database.records[liar.id].paths == lies.paths
    assert liar.id not in bob.core.peering.dialling
    link = bob.core.reach(liar.hashname, world.now)
    assert [state.path for state in link.paths] == [RoutePath(liar.hashname)]


def test_nodes_that_live_on_loopback_dial_each_other_there() -> None:
    """A mesh on one machine: who says so itself may be told so by others."""
    world = NodeWorld()
    hub = world.member("hub")
    bob = world.member("bob", peers=["hub"])
    here = NetPath("tcp4", "127.0.0.1", PORT)
    bob.endpoint.own_paths = (here,)
    settings = NodeSettings(paths=(here,), peers=frozenset({identity("hub").hashname}))
    ada = world.member("ada", settings=settings)
    world.link(ada, hub)
    world.link(bob, hub)
    world.run_until(lambda: ada.id in bob.core.peering.dialling, 20)
