"""Links with members: who has proved to be one, and what becomes of it."""

from rookery.link.link import LinkState
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.quality.datagram_policy import DatagramFate
from rookery.mesh.quality.liveness import PathCondition
from rookery.sim.mesh.member import SimulatedMember
from rookery.wire.link.frame_types import MEMBER
from rookery.wire.mesh.forward import DatagramClass
from rookery.wire.mesh.node_id import NodeId
from tests.link.worlds import Collector, Writer
from tests.mesh.node_world import NodeWorld
from tests.mesh.realms import certify, identity


def costs(node: SimulatedMember, world: NodeWorld) -> dict[NodeId, int]:
    links = node.core.neighbourhood.record_links(world.now)
    return {link.peer: link.cost_us for link in links}


def test_nobody_is_a_neighbour_before_the_certificate_of_its_link_is_shown() -> None:
    world = NodeWorld()
    ada, bob = world.member("ada"), world.member("bob")
    link = world.link(ada, bob)
    world.run_until(lambda: link.state is LinkState.UP, 5)
    link.send_frame(bytes([MEMBER]), certify(identity("cy"), "cy"))
    ada.due()
    world.run(1.0)
    assert len(bob.core.neighbourhood) == 0
    assert dict(bob.core.rejected_frames) == {
        (ada.hashname[:8], "not the certificate of the other end"): 1
    }
    link.send_frame(bytes([MEMBER]), ada.core.own.certificate)
    ada.due()
    world.run(1.0)
    assert bob.core.neighbourhood.get(ada.hashname) is not None
    assert bob.core.neighbourhood.get(identity("cy").hashname) is None
    assert world.is_up(ada, bob)  # who was shown one shows its own


def test_a_new_session_begins_with_the_certificate_again() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    before = bob.core.neighbours[ada.id]
    world.crash(ada)
    again = world.member("ada", peers=["bob"], epoch=2)
    world.link(again, bob)
    world.run_until(lambda: world.is_up(again, bob) and world.is_up(bob, again), 10)
    assert bob.core.neighbours[ada.id] is not before
    assert len(bob.core.neighbourhood) == 1


def test_the_fall_of_a_link_ends_that_neighbour_and_no_other() -> None:
    """R3."""
    world = NodeWorld()
    ada, bob, cy = world.line("ada", "bob", "cy")
    kept = bob.core.neighbours[cy.id]
    bob.endpoint.forget(bob.endpoint.links[ada.hashname], world.now)
    bob.due()
    world.run(0.01)
    assert dict(bob.core.neighbours) == {cy.id: kept}
    assert set(costs(bob, world)) == {cy.id}


def test_only_links_that_carry_have_a_cost() -> None:
    """R5."""
    world = NodeWorld()
    ada, bob = world.member("ada", peers=["bob"]), world.member("bob", peers=["ada"])
    world.link(ada, bob)
    world.run_until(lambda: bool(ada.core.neighbours), 5)
    assert ada.core.neighbours[bob.id].state is PathCondition.JOINING
    assert costs(ada, world) == {}
    world.run_until(lambda: world.is_up(ada, bob), 5)
    assert set(costs(ada, world)) == {bob.id}
    world.separate("10.0.0.1", "10.0.0.2")
    world.run(20.0)
    assert costs(ada, world) == {}


def test_the_operator_makes_a_link_dearer() -> None:
    """R7."""
    world = NodeWorld()
    bob = world.member("bob", peers=["ada"])
    ada = world.member(
        "ada",
        settings=NodeSettings(
            peers=frozenset([bob.hashname]), offsets_us={bob.hashname: 1_000_000}
        ),
    )
    world.link(ada, bob)
    world.run_until(lambda: world.is_up(ada, bob) and world.is_up(bob, ada), 10)
    assert costs(ada, world)[bob.id] > 1_000_000
    assert costs(bob, world)[ada.id] < 1_000_000


def test_a_link_that_programs_use_is_watched_every_second() -> None:
    """Channels pass the mesh by, but their link must not die unnoticed."""
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    world.run(60.0)
    neighbour = ada.core.neighbours[bob.id]
    assert neighbour.deadline is not None
    idle_s = neighbour.deadline - world.now
    Collector(bob)
    Writer(ada, ada.endpoint.links[bob.hashname], bytes(1000))
    world.run(2.5)
    assert neighbour.deadline is not None
    assert neighbour.deadline - world.now <= 1.0
    assert idle_s > 1.0


def test_what_became_of_datagrams_is_known_after_the_neighbour_is_gone() -> None:
    """M11."""
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    ada.core.send_datagram(bob.hashname, b"x", world.now)
    counts = ada.core.neighbourhood.datagrams()
    assert counts.total() == 1
    ((datagram_class, fate),) = counts
    assert datagram_class is DatagramClass.FALLBACK
    assert fate in (DatagramFate.SENT_UDP, DatagramFate.SENT_TCP)
    world.crash(bob)
    world.run(1.0)
    assert ada.core.neighbours == {}
    assert ada.core.neighbourhood.datagrams() == counts


def test_a_certificate_that_was_lost_is_shown_again() -> None:
    """It may overtake the handshake that the peer needs to read it."""
    world = NodeWorld()
    ada, bob = world.member("ada", peers=["bob"]), world.member("bob")
    link = world.link(ada, bob)
    reader, lost = bob.endpoint.frame_reader, list[bytes]()
    bob.endpoint.frame_reader = lambda link, path, head, body, now, _: lost.append(head)
    world.run_until(lambda: bool(lost), 5)
    assert link.state is LinkState.UP
    bob.endpoint.frame_reader = reader
    world.run_until(lambda: world.is_up(ada, bob), 10)
    assert lost[0] == bytes([MEMBER])
