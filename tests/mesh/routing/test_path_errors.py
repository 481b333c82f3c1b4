"""Edges that a path error speaks against are avoided for a while; lies do little."""

import pytest

from rookery.mesh.routing.forwarding import RouteNodes
from rookery.mesh.routing.path_errors import AVOID_S, EDGES_MAX, PathErrors
from rookery.wire.mesh.forward import PathError, PathErrorReason
from tests.mesh.forwarding_world import node_id


def route(*numbers: int) -> RouteNodes:
    return tuple(node_id(number) for number in numbers)


USED = [route(1, 2, 3, 4), route(1, 5, 6, 4)]


def error(failed: int, reason: PathErrorReason = PathErrorReason.NO_WAY) -> PathError:
    return PathError(reason, node_id(failed))


@pytest.mark.parametrize("reason", [PathErrorReason.NO_WAY, PathErrorReason.REFUSED])
def test_an_edge_of_a_used_route_is_avoided_both_ways_for_five_seconds(
    reason: PathErrorReason,
) -> None:
    errors = PathErrors()
    assert not errors.avoids(USED[0])
    assert errors.received(route(3, 2, 1), error(4, reason), USED, 10.0)
    assert errors.avoided == {(node_id(3), node_id(4))}
    assert errors.avoids(USED[0])
    assert errors.avoids(route(1, 4, 3, 9))
    assert not errors.avoids(USED[1])
    assert not errors.avoids(route(1, 3, 2, 4))
    assert errors.deadline == 10.0 + AVOID_S
    errors.tick(14.9)
    assert errors.avoids(USED[0])
    errors.tick(10.0 + AVOID_S)
    assert not errors.avoids(USED[0])
    assert errors.deadline is None


def test_a_repeated_error_keeps_the_edge_avoided_and_is_no_news() -> None:
    errors = PathErrors()
    assert errors.received(route(3, 2, 1), error(4), USED, 0.0)
    assert errors.received(route(6, 5, 1), error(4), USED, 1.0)
    assert not errors.received(route(3, 2, 1), error(4), USED, 2.0)
    assert errors.deadline == 1.0 + AVOID_S
    errors.tick(6.5)
    assert errors.avoids(USED[0])
    assert not errors.avoids(USED[1])


def test_a_hop_limit_speaks_against_no_edge() -> None:
    errors = PathErrors()
    assert not errors.received(route(3, 2, 1), error(4, PathErrorReason.HOP_LIMIT), USED, 0.0)
    assert errors.deadline is None
    assert errors.unrelated == 0


@pytest.mark.parametrize(
    ("back", "failed"),
    [
        (route(9, 2, 1), 4),  # the reporter is on no route of ours
        (route(3, 2, 1), 2),  # the edge is, but the packets pass it the other way
        (route(2, 1), 4),  # the reporter names an edge that is not its own
        (route(3, 5, 1), 4),  # the error comes through another neighbour than the route's
        (route(6, 2, 1), 4),
    ],
)
def test_an_error_that_our_packets_cannot_have_met_is_ignored(
    back: RouteNodes, failed: int
) -> None:
    errors = PathErrors()
    assert not errors.received(back, error(failed), USED, 0.0)
    assert errors.deadline is None
    assert errors.unrelated == 1


def test_a_repaired_packet_may_report_a_later_edge_of_its_old_route() -> None:
    errors = PathErrors()
    assert errors.received(route(3, 7, 2, 1), error(4), USED, 0.0)


def test_of_too_many_edges_the_oldest_is_forgotten() -> None:
    errors = PathErrors()
    many = [route(1, 2, number) for number in range(10, 11 + EDGES_MAX)]
    for at, nodes in enumerate(many):
        assert errors.received(
            route(2, 1), PathError(PathErrorReason.NO_WAY, nodes[-1]), many, float(at)
        )
    assert len(errors.avoided) == EDGES_MAX
    assert not errors.avoids(many[0])
    assert errors.avoids(many[-1])
