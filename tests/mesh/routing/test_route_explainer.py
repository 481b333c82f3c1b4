"""R13: why packets take their route, from here and from elsewhere, in virtual time."""

from rookery.mesh.routing.route_explanation import RouteExplanation, RouteVerdict
from rookery.sim.mesh.member import SimulatedMember
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.node_world import NodeWorld
from tests.mesh.realms import certify, identity


def explained(
    asked: SimulatedMember, source: SimulatedMember, target: SimulatedMember, now: float
) -> RouteExplanation:
    return asked.core.explain(target.hashname, now, source.hashname)


def used(explanation: RouteExplanation) -> tuple[NodeId, ...]:
    assert explanation.chosen is not None
    return explanation.chosen.route.nodes


def remarks(explanation: RouteExplanation) -> str:
    return "; ".join(remark.text for remark in explanation.remarks)


def test_anybody_can_tell_the_route_that_another_takes() -> None:
    world = NodeWorld()
    ada, bob, cy, dot = line = world.line("ada", "bob", "cy", "dot")
    for asked in line:
        for source, target, route in (
            (bob, dot, (bob, cy, dot)),
            (dot, ada, (dot, cy, bob, ada)),
            (cy, bob, (cy, bob)),
        ):
            told = explained(asked, source, target, world.now)
            assert used(told) == tuple(node.id for node in route)
            assert told.source == source.id
            itself = explained(source, source, target, world.now)
            assert used(told) == used(itself)
            assert ("was not asked" in remarks(told)) is (asked is not source)
            assert ("told of its links" in remarks(told)) is (asked is not source)


def test_our_own_trouble_with_a_link_is_none_of_anothers() -> None:
    """What failed us may not have failed it; and it may hold on to what we do not know of."""
    world = NodeWorld()
    ada, bob, cy, dot = world.line("ada", "bob", "cy", "dot")
    ada.core.table.avoid(cy.id, dot.id, world.now + 60)
    assert explained(ada, bob, dot, world.now).candidates[0].verdict is RouteVerdict.CHEAPEST
    assert not any(
        candidate.verdict is RouteVerdict.AVOIDED
        for candidate in explained(ada, bob, dot, world.now).candidates
    )


def test_a_source_that_tells_nothing_has_no_route_and_that_is_said() -> None:
    world = NodeWorld()
    ada, bob = world.line("ada", "bob")
    ada.core.tell(certify(identity("mute"), "mute"), world.now)
    mute = identity("mute").hashname
    told = ada.core.explain(bob.hashname, world.now, mute)
    assert told.chosen is None
    assert "has told of no links" in remarks(told)
