"""The tunnels of one node, and the paths and routes that their packets take.

    program ─▶ tunnel ─▶ packet ─▶ sealed by the link ─┬─▶ its best stream, to a neighbour
                                                       └─▶ up to three routes over other nodes

A tunnel outlives its paths and the sessions of the link below: what it numbers is repeated until
it is acknowledged. A tunnel that the other end does not know, because it restarted, is over.

`kept_routes` decides which routes stay in use. A busy tunnel makes its own routes look worse than
those it does not use, because its packets fill their queues. So a route in use is replaced only by
one that is much cheaper; otherwise the tunnel would change routes every second, and repeat each
time what is in flight.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from rookery.errors import CongestionError, ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.link import Link, LinkState
from rookery.mesh.membership.membership import Membership
from rookery.mesh.membership.neighbour import Neighbour
from rookery.mesh.routing.data_plane import DataPlane
from rookery.mesh.routing.forwarding import RouteNodes
from rookery.mesh.routing.graph import AVOIDED_US
from rookery.mesh.routing.route import Route
from rookery.mesh.routing.route_table import RouteTable
from rookery.mesh.tunnel.events import CloseCode
from rookery.mesh.tunnel.explanation import TunnelExplanation
from rookery.mesh.tunnel.paths.path import STREAM_MTU, TunnelPath, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode
from rookery.mesh.tunnel.tunnel import Tunnel
from rookery.mesh.tunnel.tunnels import PeerPacket, TunnelEvent, Tunnels
from rookery.wire.link.path import Arrival
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.octets import Octets

BETTER_IDLE: Final = 0.8  # of the cost of a route in use: what takes its place
BETTER_BUSY: Final = 0.1


def kept_routes(
    used: Sequence[Route], offered: Sequence[Route], count_max: int, *, is_busy: bool
) -> list[Route]:
    """At most `count_max` routes: those in use, then new ones that are disjoint or much cheaper."""
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
    """The routes that share a relay with this one."""
    return [other for other in routes if not set(route.inner).isdisjoint(other.inner)]


def _cost_us(route: Route) -> int:
    return route.cost_us


PATHS_MAX: Final = 3

_SILENCE_S: Final = 1.0  # after which the peer may have restarted, and its link's session be gone
_LOOK_S: Final = 0.05  # how often paths are looked at while nothing is known to have changed
_RTT_UNKNOWN_S: Final = 0.1
_BUSY_SIZE: Final = 64 << 10  # with more than this under way, queues are of our own making,
_BUSY_S: Final = 5.0  # and costs take a while to forget them

_DIRECT: RouteNodes = ()


class _PeerPaths:
    """The paths to one member, by number and by route."""

    __slots__ = ("acknowledged_at", "busy_until", "last", "numbers", "routes")

    def __init__(self) -> None:
        self.last = 0
        self.busy_until = float("-inf")
        self.acknowledged_at = 0.0  # when packets were last acknowledged, or there were none
        self.routes: dict[int, RouteNodes] = {}
        self.numbers: dict[RouteNodes, int] = {}

    def number(self, route: RouteNodes) -> int:
        """The number of the path along this route; of any path when we do not use the route."""
        number = self.numbers.get(route)
        return next(iter(self.routes), 0) if number is None else number


class NodeTunnels:
    """All tunnels of one node."""

    def __init__(
        self,
        links: Mapping[str, Link],
        membership: Membership,
        neighbours: Mapping[NodeId, Neighbour],
        table: RouteTable,
        data_plane: DataPlane,
        random: RandomBytes,
    ) -> None:
        self._links = links
        self._membership = membership
        self._neighbours = neighbours
        self._table = table
        self._data_plane = data_plane
        self._tunnels = Tunnels(random=random)
        self._paths: dict[str, _PeerPaths] = {}  # of every member that we have a tunnel with
        self._looked_at = float("-inf")

    def tunnel(self, hashname: str, now: float) -> Tunnel:
        """Our tunnel with a member, made if need be."""
        tunnel = self._tunnels.to(hashname, now)
        self._find_paths(hashname, now)
        return tunnel

    def set_mode(self, hashname: str, mode: Mode) -> None:
        """Set how our packets to a member use the paths; the other side sets its own mode."""
        self._tunnels.set_mode(hashname, mode)

    def explain(self, hashname: str) -> list[TunnelExplanation]:
        """Each tunnel with a member: its paths, and why they are used as they are."""
        return [tunnel.explain() for tunnel in self._tunnels.of(hashname)]

    def touched(self, hashname: str, tunnel: Tunnel) -> None:
        """A program read, wrote or opened."""
        self._tunnels.touched(hashname, tunnel)

    def received(
        self, link: Link, arrival: Arrival | None, head: bytes, body: Octets, now: float
    ) -> None:
        """A packet of a tunnel with the peer of this link; RemoteError when it is refused."""
        hashname = link.hashname
        if self._membership.by_hashname(hashname) is None:
            raise ProtocolError("a tunnel of no member")
        if hashname not in self._paths:
            self._find_paths(hashname, now)
        route, is_marked = _DIRECT, False
        if arrival is not None:
            route, is_marked = arrival.back, arrival.is_marked
        try:
            number = self._paths[hashname].number(route)
            self._tunnels.received(hashname, number, head, body, now, is_marked=is_marked)
        except CongestionError as error:
            raise ProtocolError(str(error)) from error

    def changed(self) -> None:
        """Links or routes have changed."""
        self._looked_at = float("-inf")

    def expel(self, hashname: str, now: float) -> None:
        """End the streams of a former member at once, without waiting for a path."""
        for tunnel in self._tunnels.of(hashname):
            tunnel.abort(CloseCode.REFUSED, "no member any more")
            self.touched(hashname, tunnel)
        if hashname in self._paths:
            self._forget_paths(hashname, now)

    def close(self, now: float) -> None:
        """End all tunnels with SHUTDOWN, so that peers need not wait for a timeout."""
        for hashname in self._paths:
            for tunnel in self._tunnels.of(hashname):
                tunnel.abort(CloseCode.SHUTDOWN, "the node ends")
                self.touched(hashname, tunnel)
        self.flush(now)

    # --- time and output ---

    @property
    def has_more(self) -> bool:
        """Whether a tunnel had more to send than one flush may."""
        return self._tunnels.has_more

    @property
    def deadline(self) -> float | None:
        if not self._paths:
            return None
        deadline, look_at = self._tunnels.deadline, self._looked_at + _LOOK_S
        return look_at if deadline is None else min(deadline, look_at)

    def tick(self, now: float) -> bool:
        """Whether anything is due by now."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return False
        self._tunnels.tick(now)
        return True

    def flush(self, now: float) -> None:
        """Send what is due, over the paths there are now."""
        looked = list(self._paths) if now >= self._looked_at + _LOOK_S else []
        for hashname in looked:
            self._looked_at = now
            self._find_paths(hashname, now)
            self._doubt_silence(hashname, now)
        for packet in self._tunnels.flush(now):
            self._send(packet, now)
        for hashname in looked:  # a peer whose last tunnel ended gets its CLOSE first
            if not self._tunnels.of(hashname):
                self._forget_paths(hashname, now)

    def take(self) -> list[TunnelEvent]:
        """Events since the last call, oldest first."""
        return self._tunnels.take()

    # --- inside ---

    def _find_paths(self, hashname: str, now: float) -> None:
        paths = self._paths.setdefault(hashname, _PeerPaths())
        wanted = dict(self._routes_to(hashname, now))
        for route, number in list(paths.numbers.items()):
            if route not in wanted:
                del paths.numbers[route], paths.routes[number]
                self._tunnels.path_down(hashname, number, now)
        for route, path in wanted.items():
            if route not in paths.numbers:
                paths.last += 1
                paths.numbers[route], paths.routes[paths.last] = paths.last, route
                self._tunnels.path_up(hashname, msgspec.structs.replace(path, id=paths.last), now)

    def _doubt_silence(self, hashname: str, now: float) -> None:
        """No path gets acknowledgements: a handshake shows whether the peer restarted."""
        link, known = self._links.get(hashname), self._paths[hashname]
        paths = [path for tunnel in self._tunnels.of(hashname) for path in tunnel.explain().paths]
        if link is None or not paths or not all(path.is_silent for path in paths):
            known.acknowledged_at = now
        elif now >= known.acknowledged_at + _SILENCE_S:
            link.doubt_paths(now)

    def _forget_paths(self, hashname: str, now: float) -> None:
        for number in self._paths.pop(hashname).routes:
            self._tunnels.path_down(hashname, number, now)

    def _routes_to(self, hashname: str, now: float) -> Iterator[tuple[RouteNodes, TunnelPath]]:
        """Where packets for a member can go now, as far as its link can seal them."""
        link, node = self._links.get(hashname), node_id(hashname)
        if link is None or link.state is not LinkState.UP:
            return
        neighbour, count = self._neighbours.get(node), 0
        if neighbour is not None and neighbour.stream is not None:
            count = 1
            rtt_s = link.rtt or _RTT_UNKNOWN_S
            yield (
                _DIRECT,
                TunnelPath(
                    id=0, kind=TunnelPathKind.STREAM, mtu=STREAM_MTU, rtt_s=rtt_s, label="direct"
                ),
            )
        choice = self._table.to(node, now)
        if choice is None:
            return
        offered = [route for route in (choice.route, *choice.alternates) if not route.is_direct]
        offered = [one for one in offered if not self._data_plane.avoids(one.nodes)] or offered
        is_busy, used = self._is_busy(hashname, now), self._used(hashname)
        for route in kept_routes(used, offered, PATHS_MAX - count, is_busy=is_busy):
            # An avoided edge counts for hours, which is no time to wait for an answer.
            rtt_s = 2 * sum(us % AVOIDED_US for us in route.costs_us) / 1e6
            label = self._label(route.nodes)
            yield (
                route.nodes,
                TunnelPath(
                    id=0, kind=TunnelPathKind.DATAGRAM, mtu=STREAM_MTU, rtt_s=rtt_s, label=label
                ),
            )

    def _is_busy(self, hashname: str, now: float) -> bool:
        """True if much is in flight, or was recently."""
        known = self._paths[hashname]
        if any(tunnel.in_flight > _BUSY_SIZE for tunnel in self._tunnels.of(hashname)):
            known.busy_until = now + _BUSY_S
        return now < known.busy_until

    def _used(self, hashname: str) -> list[Route]:
        """The routes of paths that are up, without those that are gone or avoided."""
        nodes = [route for route in self._paths[hashname].numbers if route]
        used = [self._table.priced(route) for route in nodes if not self._data_plane.avoids(route)]
        return [route for route in used if route is not None]

    def _label(self, nodes: RouteNodes) -> str:
        """The relays' names, for people."""
        members = map(self._membership.member, nodes[1:-1])
        return "over " + ", ".join("?" if member is None else member.name for member in members)

    def _send(self, packet: PeerPacket, now: float) -> None:
        link, paths = self._links.get(packet.peer), self._paths.get(packet.peer)
        route = None if paths is None else paths.routes.get(packet.path)
        if link is None or route is None:
            return
        if route:
            sealed = link.sealed_parts(packet.head, packet.parts)
            if sealed is not None:
                self._data_plane.follow(route, sealed, now)
            return
        neighbour = self._neighbours.get(node_id(packet.peer))
        if neighbour is not None and neighbour.stream is not None:
            link.send_parts(packet.head, packet.parts, neighbour.stream)
            neighbour.carried(now, size_out=packet.size, path=neighbour.stream)
