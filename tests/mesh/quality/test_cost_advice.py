"""P5: advice about links is followed within bounds, while it lasts, from those who are trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError
from rookery.identity.artifact import seal
from rookery.mesh.membership.membership import Membership
from rookery.mesh.quality.cost_advice import CostAdvice
from rookery.mesh.routing.route import RoutePolicy
from rookery.mesh.routing.route_explanation import RouteRemark
from rookery.mesh.routing.routes import Routes
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice
from rookery.wire.mesh.node_id import node_id
from tests.mesh.graphs import graph_of, mesh_of, node
from tests.mesh.realms import NOW_S, REALM, certify, identity

ALICE, BOB, CAROL, LAKE = map(identity, ("alice", "bob", "carol", "lake"))
HOUR_S = 3600


def membership() -> Membership:
    """Alice's; she knows Bob, and nobody else."""
    group = Membership(REALM, certify(ALICE, "alice"))
    group.admit(certify(BOB, "bob"), NOW_S)
    return group


def window(from_s: int = 0, until_s: int = HOUR_S, factor: float = 1.8) -> AdviceWindow:
    return AdviceWindow((NOW_S + from_s) * 1000, (NOW_S + until_s) * 1000, factor, 1.0)


def link(one: str, other: str, *windows: AdviceWindow, realm: bytes = REALM.id) -> LinkAdvice:
    return LinkAdvice(realm, min(one, other), max(one, other), windows)


def artifact(*links: LinkAdvice, lasts_s: int = 2 * HOUR_S) -> bytes:
    issued_ms = NOW_S * 1000
    return seal(Advice(links), LAKE, issued_ms=issued_ms, expires_ms=issued_ms + lasts_s * 1000)


def cost_advice(*links: LinkAdvice, lasts_s: int = 2 * HOUR_S) -> CostAdvice:
    found = CostAdvice(membership(), {LAKE.hashname})
    found.heed(artifact(*links, lasts_s=lasts_s))
    return found


def test_a_link_is_dearer_while_its_window_is_open() -> None:
    advised = cost_advice(link(ALICE.hashname, BOB.hashname, window(60, 120)))
    times = (59, 60, 119, 120)
    found = [advised.factor(BOB.hashname, NOW_S + at) for at in times]
    assert found == pytest.approx([1, 1.8, 1.8, 1])
    assert advised.factor(CAROL.hashname, NOW_S + 60) == 1


def test_an_open_window_is_worth_nothing_once_the_advice_has_expired() -> None:
    advised = cost_advice(link(ALICE.hashname, BOB.hashname, window()), lasts_s=60)
    assert [advised.is_current(NOW_S + at) for at in (59, 60)] == [True, False]
    found = [advised.factor(BOB.hashname, NOW_S + at) for at in (59, 60)]
    assert found == pytest.approx([1.8, 1])


def test_nobody_is_believed_unless_named_and_then_nothing_is_followed() -> None:
    advised = CostAdvice(membership())
    with pytest.raises(AuthenticationError):
        advised.heed(artifact(link(ALICE.hashname, BOB.hashname, window())))
    assert advised.factor(BOB.hashname, NOW_S) == 1
    assert not advised.is_current(NOW_S)


def test_garbage_in_place_of_an_advice_ends_the_one_that_was_followed() -> None:
    advised = cost_advice(link(ALICE.hashname, BOB.hashname, window()))
    with pytest.raises(DecodeError):
        advised.heed(b"garbage")
    assert advised.factor(BOB.hashname, NOW_S) == 1
    assert advised.learned is None


def test_what_is_advised_for_another_realm_or_for_others_links_is_not_ours() -> None:
    advised = cost_advice(
        link(ALICE.hashname, BOB.hashname, window(), realm=b"another!"),
        link(BOB.hashname, CAROL.hashname, window()),
    )
    assert advised.factor(BOB.hashname, NOW_S) == 1
    assert advised.factor(CAROL.hashname, NOW_S) == 1


def test_nothing_is_followed_after_the_advice_was_taken_away() -> None:
    advised = cost_advice(link(ALICE.hashname, BOB.hashname, window()))
    advised.heed(None)
    assert advised.factor(BOB.hashname, NOW_S) == 1


def test_remarks_are_made_on_the_weighed_links_that_an_open_window_is_for() -> None:
    alice, bob, carol = (node_id(who.hashname) for who in (ALICE, BOB, CAROL))
    graph = graph_of([])
    graph.claim(alice, {bob: 5, carol: 9})
    graph.claim(bob, {alice: 5, carol: 5})
    graph.claim(carol, {alice: 9, bob: 5})
    choice = Routes(graph, alice, RoutePolicy()).to(carol)
    assert choice is not None
    advised = cost_advice(
        link(ALICE.hashname, BOB.hashname, window()),
        link(BOB.hashname, CAROL.hashname, window()),  # nobody here knows a Carol
    )
    text = f"advice: costs 1.80 × from 08:00 to 09:00 UTC, by {LAKE.hashname[:8]}"
    ends = (min(alice, bob), max(alice, bob))
    assert advised.remarks(choice.explanation, NOW_S) == [RouteRemark(ends, text)]
    assert advised.remarks(choice.explanation, NOW_S + HOUR_S) == []
    advised.heed(None)
    assert advised.remarks(choice.explanation, NOW_S) == []


@given(seed=st.integers(0, 2**32), size=st.integers(2, 20), data=st.data())
def test_no_advice_whatever_makes_a_route_worse_than_twice_the_best(
    seed: int, size: int, data: st.DataObject
) -> None:
    """P5: by any factors within the bounds, everybody stays reachable at twice the cost at most."""
    edges = mesh_of(seed, size, min(3 * size, size * (size - 1) // 2))
    factors = data.draw(st.lists(st.floats(1, 2), min_size=len(edges), max_size=len(edges)))
    advised = [(u, v, int(cost * by)) for (u, v, cost), by in zip(edges, factors, strict=True)]
    policy, source, target = RoutePolicy(), node(0), node(size - 1)
    plain = Routes(graph_of(edges), source, policy)
    best = plain.to(target)
    chosen = Routes(graph_of(advised), source, policy).to(target)
    assert best is not None
    assert chosen is not None
    really = plain.priced(chosen.route.nodes)
    assert really is not None
    assert policy.counted(really) <= 2 * policy.counted(best.route)
