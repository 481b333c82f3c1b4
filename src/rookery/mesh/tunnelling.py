"""Tunnelling: a node's tunnels, and the ways that lead to the members at their far ends.

    program ─▶ tunnel ─▶ packet ─▶ the link seals it ─┬─▶ its best stream, if we are neighbours
                                                      └─▶ a route over others, up to three in all

A tunnel outlives its ways, and the sessions of the link below: what it numbers, it repeats until it
is acknowledged. One that the other end does not know, because that restarted, is over.
"""

from collections.abc import Iterator, Mapping

import msgspec

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import RandomBytes
from rookery.link.link import Link, LinkState
from rookery.mesh.membership import Membership
from rookery.mesh.neighbour import Neighbour
from rookery.mesh.route_table import RouteTable
from rookery.mesh.transit import Transit
from rookery.mesh.tunnel.close_code import CloseCode
from rookery.mesh.tunnel.events import Closed, Event
from rookery.mesh.tunnel.tunnel import Role, Tunnel
from rookery.mesh.tunnel.way import STREAM_MTU, Way, WayKind
from rookery.wire.node_id import NodeId, node_id
from rookery.wire.path import Path, RoutePath
from rookery.wire.tunnel import TunnelPacket, tunnel_id
from rookery.wire.tunnel_frames import Close

TUNNELS_MAX = 4096
WAYS_MAX = 3
ROUTE_MTU = 32 << 10  # relays have streams, and a smaller packet waits less behind it

_LOOK_S = 0.05  # how often ways are looked at while nothing is known to have changed
_DIRECT: tuple[NodeId, ...] = ()  # as a route

Route = tuple[NodeId, ...]


class TunnelEvent(msgspec.Struct, frozen=True):
    """What happened in which tunnel."""

    tunnel: Tunnel
    hashname: str
    event: Event


class _Trunk:
    """One tunnel and how its packets go."""

    __slots__ = ("hashname", "node", "numbers", "routes", "taken", "tunnel")

    def __init__(self, hashname: str, tunnel: Tunnel) -> None:
        self.hashname = hashname
        self.node = node_id(hashname)
        self.tunnel = tunnel
        self.routes: dict[int, Route] = {}  # by the way's number
        self.numbers: dict[Route, int] = {}
        self.taken = 0  # numbers so far

    def way_by(self, route: Route) -> int:
        """Our way along this route, or any other, when a packet came by one we do not use."""
        return self.numbers.get(route, next(iter(self.routes), 0))


class Tunnelling:
    """All tunnels of one node."""

    def __init__(
        self,
        links: Mapping[str, Link],
        membership: Membership,
        neighbours: Mapping[NodeId, Neighbour],
        table: RouteTable,
        transit: Transit,
        random: RandomBytes,
    ) -> None:
        self._links = links
        self._membership = membership
        self._neighbours = neighbours
        self._table = table
        self._transit = transit
        self._random = random
        self._opened: dict[str, _Trunk] = {}  # by us, the one with each member that is in use
        self._accepted: dict[str, _Trunk] = {}
        self._events: list[TunnelEvent] = []
        self._looked_at = float("-inf")

    def __len__(self) -> int:
        return len(self._opened) + len(self._accepted)

    def tunnel(self, hashname: str, now: float) -> Tunnel:
        """Our tunnel to a member, made if need be."""
        trunk = self._opened.get(hashname)
        if trunk is None:
            tunnel = Tunnel(Role.OPENER, random=self._random, now=now)
            trunk = self._opened[hashname] = _Trunk(hashname, tunnel)
            self._find_ways(trunk, now)
        return trunk.tunnel

    def received(self, link: Link, path: Path, head: bytes, body: bytes, now: float) -> None:
        """A packet of a tunnel with the peer of this link; RemoteError when it is refused."""
        if self._membership.by_hashname(link.hashname) is None:
            raise ProtocolError("a tunnel of no member")
        trunk = self._trunk(link.hashname, tunnel_id(body))
        if trunk is None:
            packet = TunnelPacket.parse(head, body)
            if not packet.is_first or len(self) >= TUNNELS_MAX:
                self._refuse(link, packet, path, now)
                return
            trunk = self._accept(link.hashname, packet.tunnel, now)
        route = self._transit.arrived_by[::-1] if isinstance(path, RoutePath) else _DIRECT
        trunk.tunnel.received(trunk.way_by(route), head, body, now)

    def changed(self) -> None:
        """Links or routes are others now."""
        self._looked_at = float("-inf")

    def close(self, now: float) -> None:
        """The node ends, and its peers need not find out by themselves."""
        for trunk in self._trunks():
            trunk.tunnel.abort(CloseCode.SHUTDOWN, "the node ends")
        self.flush(now)

    # --- time and output ---

    @property
    def deadline(self) -> float | None:
        times = [trunk.tunnel.deadline for trunk in self._trunks()]
        known = [time for time in times if time is not None]
        return min([*known, self._looked_at + _LOOK_S]) if len(self) else None

    def tick(self, now: float) -> None:
        for trunk in self._trunks():
            deadline = trunk.tunnel.deadline
            if deadline is not None and deadline <= now:
                trunk.tunnel.tick(now)

    def flush(self, now: float) -> None:
        """Send what is due, over the ways there are now."""
        if now >= self._looked_at + _LOOK_S:
            self._looked_at = now
            for trunk in self._trunks():
                self._find_ways(trunk, now)
        for trunk in list(self._trunks()):
            self._send(trunk, now)
            for event in trunk.tunnel.take():
                self._events.append(TunnelEvent(trunk.tunnel, trunk.hashname, event))
                if isinstance(event, Closed):
                    self._send(trunk, now)  # a last word
                    self._forget(trunk)

    def take(self) -> list[TunnelEvent]:
        """What there is to tell, oldest first."""
        events, self._events = self._events, []
        return events

    # --- inside ---

    def _trunks(self) -> Iterator[_Trunk]:
        yield from self._opened.values()
        yield from self._accepted.values()

    def _trunk(self, hashname: str, number: int) -> _Trunk | None:
        for trunk in (self._opened.get(hashname), self._accepted.get(hashname)):
            if trunk is not None and trunk.tunnel.id == number:
                return trunk
        return None

    def _accept(self, hashname: str, number: int, now: float) -> _Trunk:
        """A member has one tunnel to us; that it begins another means that it forgot the first."""
        former = self._accepted.get(hashname)
        if former is not None:
            former.tunnel.abort(CloseCode.REPLACED, "the other side began anew")
            for event in former.tunnel.take():
                self._events.append(TunnelEvent(former.tunnel, hashname, event))
        tunnel = Tunnel(Role.ACCEPTOR, random=self._random, now=now, number=number)
        trunk = self._accepted[hashname] = _Trunk(hashname, tunnel)
        self._find_ways(trunk, now)
        return trunk

    def _refuse(self, link: Link, packet: TunnelPacket, path: Path, now: float) -> None:
        if any(isinstance(frame, Close) for frame in packet.frames):
            return  # it knows already
        close = Close(CloseCode.UNKNOWN, "nobody here knows this tunnel")
        head, body = TunnelPacket(packet.tunnel, packet.way, 0, [close]).serialize()
        if not isinstance(path, RoutePath):
            link.send_frame(head, body, path)
            return
        sealed = link.sealed_frame(head, body)
        if sealed is not None:
            self._transit.follow(self._transit.arrived_by[::-1], sealed, now)

    def _forget(self, trunk: _Trunk) -> None:
        for trunks in (self._opened, self._accepted):
            if trunks.get(trunk.hashname) is trunk:
                del trunks[trunk.hashname]

    def _find_ways(self, trunk: _Trunk, now: float) -> None:
        wanted = dict(self._routes_to(trunk, now))
        for route, number in list(trunk.numbers.items()):
            if route not in wanted:
                trunk.tunnel.way_down(number, now)
                del trunk.numbers[route], trunk.routes[number]
        for route, way in wanted.items():
            if route not in trunk.numbers:
                trunk.taken += 1
                trunk.numbers[route], trunk.routes[trunk.taken] = trunk.taken, route
                trunk.tunnel.way_up(msgspec.structs.replace(way, id=trunk.taken), now)

    def _routes_to(self, trunk: _Trunk, now: float) -> Iterator[tuple[Route, Way]]:
        """Where packets for the far end can go now, as far as its link can seal them."""
        link = self._links.get(trunk.hashname)
        if link is None or link.state is not LinkState.UP:
            return
        neighbour, count = self._neighbours.get(trunk.node), 0
        if neighbour is not None and neighbour.stream is not None:
            count = 1
            rtt_s = link.rtt or 0.1
            yield _DIRECT, Way(id=0, kind=WayKind.STREAM, mtu=STREAM_MTU, rtt_s=rtt_s)
        choice = self._table.to(trunk.node, now)
        if choice is None:
            return
        for route in (choice.route, *choice.alternates):
            if not route.is_direct and count < WAYS_MAX:
                count += 1
                rtt_s = 2 * route.cost_us / 1e6
                yield route.nodes, Way(id=0, kind=WayKind.DATAGRAM, mtu=ROUTE_MTU, rtt_s=rtt_s)

    def _send(self, trunk: _Trunk, now: float) -> None:
        link = self._links.get(trunk.hashname)
        for number, head, body in trunk.tunnel.flush(now):
            route = trunk.routes.get(number)
            if link is None or route is None:
                continue
            if route:
                sealed = link.sealed_frame(head, body)
                if sealed is not None:
                    self._transit.follow(route, sealed, now)
                continue
            neighbour = self._neighbours.get(trunk.node)
            if neighbour is not None and neighbour.stream is not None:
                link.send_frame(head, body, neighbour.stream)
                neighbour.carried(now, size_out=len(body), path=neighbour.stream)
