"""A route, and the rules by which one is chosen."""

import msgspec

from rookery.wire.mesh.node_id import NodeId


class RoutePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of every choice; see `routes` for the rules."""

    detour_factor: float = 0.8  # a direct link counts this much of its cost
    hold_factor: float = 1.05  # the route in use stays while it counts no more than this × the best
    disjoint_max: int = 3  # routes at once: the one in use and its spares
    hop_max: int = 16

    def counted(self, route: "Route") -> float:
        """The cost by which routes are compared, in microseconds."""
        return route.cost_us * self.detour_factor if route.is_direct else float(route.cost_us)


class Route(msgspec.Struct, frozen=True):
    """Distinct nodes from the source to the destination, and what each hop costs."""

    nodes: tuple[NodeId, ...]
    costs_us: tuple[int, ...]

    @property
    def cost_us(self) -> int:
        return sum(self.costs_us)

    @property
    def is_direct(self) -> bool:
        return len(self.costs_us) == 1

    @property
    def inner(self) -> tuple[NodeId, ...]:
        """The nodes that relay."""
        return self.nodes[1:-1]
