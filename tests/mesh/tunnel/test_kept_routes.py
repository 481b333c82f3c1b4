"""M6: a tunnel does not run after every route that looks a little better."""

from rookery.mesh.routing.route import Route
from rookery.mesh.tunnel.node_tunnels import kept_routes
from rookery.wire.mesh.node_id import NodeId


def node(name: str) -> NodeId:
    return name.encode().ljust(8)


def over(relays: str, cost_us: int) -> Route:
    """A route over relays of one letter each."""
    nodes = (node("source"), *map(node, relays), node("target"))
    each = cost_us // (len(nodes) - 1)
    return Route(nodes, (cost_us - each * (len(nodes) - 2), *[each] * (len(nodes) - 2)))


A, B, C, D = (over(name, 1000) for name in "abcd")
BUSY_A = over("a", 5000)  # the same with a queue


def test_what_is_offered_is_taken_while_there_is_room() -> None:
    assert kept_routes([], [A, B, C, D], 3, is_busy=False) == [A, B, C]
    assert kept_routes([A], [B, A], 3, is_busy=True) == [A, B]
    assert kept_routes([], [], 3, is_busy=True) == []


def test_a_busy_route_is_kept_though_its_queue_makes_it_look_worse() -> None:
    assert kept_routes([BUSY_A, B, C], [D, B, C], 3, is_busy=True) == [B, C, BUSY_A]


def test_in_quiet_times_the_better_one_takes_its_place() -> None:
    assert kept_routes([BUSY_A, B, C], [D, B, C], 3, is_busy=False) == [B, C, D]


def test_in_quiet_times_a_little_better_is_not_enough() -> None:
    used = [over("a", 1100), B, C]
    assert kept_routes(used, [D, B, C], 3, is_busy=False) == [B, C, used[0]]


def test_what_is_hardly_a_path_any_more_goes_even_in_busy_times() -> None:
    """A path error spoke against it, say."""
    used = [over("a", 1_000_000_000), B, C]
    assert kept_routes(used, [D, B, C], 3, is_busy=True) == [B, C, D]


def test_routes_in_use_that_share_a_relay_are_thinned_out() -> None:
    used = [over("ax", 1000), over("bx", 2000)]
    assert kept_routes(used, [used[0], C], 3, is_busy=True) == [used[0], C]


def test_where_all_routes_share_a_relay_two_of_them_are_better_than_one() -> None:
    one, other = over("ax", 1000), over("bx", 2000)
    assert kept_routes([], [one, other], 3, is_busy=False) == [one, other]
    assert kept_routes([one, other], [one, other], 3, is_busy=True) == [one, other]


def test_a_route_over_the_same_relays_must_be_better_to_take_the_place() -> None:
    used, shorter = [over("ax", 5000), B], over("a", 1000)
    assert kept_routes(used, [shorter, B], 3, is_busy=True) == [B, used[0]]
    assert kept_routes(used, [shorter, B], 3, is_busy=False) == [B, shorter]


def test_fewer_places_than_are_in_use_go_to_the_best() -> None:
    """A direct link has come up."""
    assert kept_routes([BUSY_A, B, C], [B, C], 2, is_busy=True) == [B, C]
