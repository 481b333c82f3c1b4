"""Kept routes: which routes a tunnel goes on with, when the mesh would offer others.

A tunnel that is busy makes the routes it uses look worse than those it does not: its own packets
wait there. To follow the offer would be to change a working route for another every second, each
time with everything that is under way to be repeated.
"""

from collections.abc import Sequence

from rookery.mesh.route import Route

BETTER_IDLE = 0.8  # of the cost of a route in use: what takes its place
BETTER_BUSY = 0.1


def kept_routes(
    used: Sequence[Route], offered: Sequence[Route], count_max: int, *, is_busy: bool
) -> list[Route]:
    """At most so many: those in use at today's costs, then what is new, or so much better."""
    better = BETTER_BUSY if is_busy else BETTER_IDLE
    named = {route.nodes for route in offered}
    kept: list[Route] = []
    for route in sorted(used, key=_cost_us):
        if len(kept) < count_max and (route.nodes in named or not _sharing(kept, route)):
            kept.append(route)
    for route in offered:
        if any(route.nodes == other.nodes for other in kept):
            continue
        sharing = _sharing(kept, route)
        if len(kept) < count_max and (not sharing or len(kept) == 1):
            kept.append(route)
            continue
        worst = max(sharing or kept, key=_cost_us)
        if route.cost_us < better * worst.cost_us:
            kept[kept.index(worst)] = route
    return kept


def _sharing(routes: Sequence[Route], route: Route) -> list[Route]:
    """Those that would die with the same relay."""
    return [other for other in routes if not set(route.inner).isdisjoint(other.inner)]


def _cost_us(route: Route) -> int:
    return route.cost_us
