"""Route selector: which routes a packet of our own takes now (R8).

Usually one, the best. While its first link is in doubt, the packet is sent over the next best
route as well, at once instead of later: the link at the far end drops the second copy.
"""

from collections.abc import Sequence
from typing import Protocol

from rookery.mesh.routing.forwarding import RouteNodes
from rookery.wire.mesh.node_id import NodeId


class SelectableRoute(Protocol):
    """A route of a choice; its first node is the source."""

    @property
    def nodes(self) -> RouteNodes: ...


class SelectableRoutes(Protocol):
    """The best route, and others that share no node with it, the better ones first."""

    @property
    def route(self) -> SelectableRoute: ...

    @property
    def alternates(self) -> Sequence[SelectableRoute]: ...


class RouteSelectorContext(Protocol):
    """What a node knows of its links and routes at this moment."""

    def usable(self, neighbour: NodeId) -> bool:
        """Whether there is a link to this node that works, in doubt or not."""
        ...

    def suspect(self, neighbour: NodeId) -> bool:
        """Whether two pings of that link are missing."""
        ...

    def avoids(self, nodes: RouteNodes) -> int:
        """The number of doubts about this route: path errors and relays that are passed over."""
        ...

    def around(self, nodes: RouteNodes) -> RouteNodes | None:
        """The best route to the end of this route over none of the relays that are passed over."""
        ...


class RouteSelector:
    """Decides for each packet anew: what is known changes faster than routes do."""

    __slots__ = ("_site",)

    def __init__(self, site: RouteSelectorContext) -> None:
        self._site = site

    def routes(self, choice: SelectableRoutes) -> tuple[RouteNodes, ...]:
        """One route, or two with different first hops; never none."""
        site, best = self._site, choice.route.nodes
        if site.usable(best[1]) and not self._is_doubtful(best):
            return (best,)
        around = site.around(best)
        candidates = [] if around is None else [around]
        candidates += [best, *(alternate.nodes for alternate in choice.alternates)]
        # Where no first hop is usable the forwarder looks for a detour around the best one's.
        usable = [nodes for nodes in candidates if site.usable(nodes[1])] or [best]
        first = min(usable, key=site.avoids)  # the first of the best
        if not self._is_doubtful(first):
            return (first,)
        others = [nodes for nodes in usable if nodes[1] != first[1]]
        second = min(others, key=self._is_doubtful, default=None)
        return (first,) if second is None else (first, second)

    def _is_doubtful(self, nodes: RouteNodes) -> bool:
        return self._site.suspect(nodes[1]) or self._site.avoids(nodes) > 0
