"""Which routes a packet takes: one, or two while the first link is in doubt (R8)."""

from collections.abc import Collection
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.routing.forwarding import RouteNodes
from rookery.mesh.routing.route_selector import RouteSelector
from rookery.wire.mesh.node_id import NodeId
from tests.mesh.forwarding_world import node_id


class Route(NamedTuple):
    nodes: RouteNodes


class Choice(NamedTuple):
    route: Route
    alternates: tuple[Route, ...] = ()


class Site:
    """What is known: by first hop, and by route."""

    def __init__(
        self,
        *,
        down: Collection[int] = (),
        suspect: Collection[int] = (),
        avoided: Collection[RouteNodes] = (),
        around: RouteNodes | None = None,
    ) -> None:
        self._around = around
        self._down = {node_id(number) for number in down}
        self._suspect = {node_id(number) for number in suspect}
        self._avoided = avoided

    def usable(self, neighbour: NodeId) -> bool:
        return neighbour not in self._down

    def suspect(self, neighbour: NodeId) -> bool:
        return neighbour in self._suspect

    def avoids(self, nodes: RouteNodes) -> int:
        return nodes in self._avoided

    def around(self, nodes: RouteNodes) -> RouteNodes | None:
        return self._around


def over(first_hop: int) -> RouteNodes:
    return node_id(1), node_id(first_hop), node_id(9)


CHOICE = Choice(Route(over(2)), (Route(over(3)), Route(over(4))))


def test_a_packet_takes_the_best_route_while_all_is_well() -> None:
    assert RouteSelector(Site(suspect={3}, down={4})).routes(CHOICE) == (over(2),)


def test_a_suspect_first_hop_sends_the_packet_over_two_routes_at_once() -> None:
    """R8"""
    assert RouteSelector(Site(suspect={2})).routes(CHOICE) == (over(2), over(3))


def test_the_second_copy_takes_a_route_that_is_not_in_doubt_itself() -> None:
    """R8"""
    assert RouteSelector(Site(suspect={2, 3})).routes(CHOICE) == (over(2), over(4))
    assert RouteSelector(Site(suspect={2}, avoided={over(3)})).routes(CHOICE) == (over(2), over(4))
    assert RouteSelector(Site(suspect={2}, down={3})).routes(CHOICE) == (over(2), over(4))


def test_when_all_are_in_doubt_the_two_best_carry_it() -> None:
    """R8"""
    assert RouteSelector(Site(suspect={2, 3, 4})).routes(CHOICE) == (over(2), over(3))
    assert RouteSelector(Site(avoided={over(2), over(3), over(4)})).routes(CHOICE) == (
        over(2),
        over(3),
    )


def test_a_suspect_first_hop_without_another_carries_it_alone() -> None:
    assert RouteSelector(Site(suspect={2})).routes(Choice(Route(over(2)))) == (over(2),)
    same = Choice(Route(over(2)), (Route((node_id(1), node_id(2), node_id(5), node_id(9))),))
    assert RouteSelector(Site(suspect={2})).routes(same) == (over(2),)


def test_a_first_hop_that_is_down_gives_way_to_the_next_best() -> None:
    assert RouteSelector(Site(down={2})).routes(CHOICE) == (over(3),)
    assert RouteSelector(Site(down={2}, suspect={3})).routes(CHOICE) == (over(3), over(4))


def test_a_route_that_a_path_error_speaks_against_is_left() -> None:
    assert RouteSelector(Site(avoided={over(2)})).routes(CHOICE) == (over(3),)


def test_with_every_first_hop_down_the_forwarder_gets_the_best_to_repair() -> None:
    assert RouteSelector(Site(down={2, 3, 4})).routes(CHOICE) == (over(2),)


def test_around_relays_that_are_passed_over_leads_the_best_route_without_them() -> None:
    """The spares share no relay with the best route at all, and may be far longer for it."""
    site = Site(avoided={over(2)}, around=over(5))
    assert RouteSelector(site).routes(CHOICE) == (over(5),)
    assert RouteSelector(Site(around=over(5))).routes(CHOICE) == (over(2),)


hops = st.sets(st.integers(2, 6))


@given(down=hops, suspect=hops, avoided=hops, order=st.permutations(range(2, 7)))
def test_a_packet_takes_one_or_two_routes_and_the_best_of_those_that_work(
    down: set[int], suspect: set[int], avoided: set[int], order: list[int]
) -> None:
    site = Site(down=down, suspect=suspect, avoided={over(hop) for hop in avoided})
    best, *others = (Route(over(hop)) for hop in order)
    routes = RouteSelector(site).routes(Choice(best, tuple(others)))
    assert 1 <= len(routes) <= 2
    assert len({nodes[1] for nodes in routes}) == len(routes)
    good = [hop for hop in order if hop not in down | suspect | avoided]
    if good:
        assert over(good[0]) in routes
