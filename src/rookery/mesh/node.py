"""A node of the mesh: one member, its neighbours, what it knows of the realm, and its routes.

    links ──found, lost──▶ Neighbourhood ──costs──▶ Publisher ──record──▶ Flooding ──▶ neighbours
                                └──────────costs──▶ Graph ◀──records── RecordDatabase ◀┘
                                                      └──▶ RouteTable ──▶ DataPlane ──▶ neighbours

Synchronous and without I/O, like the endpoint it lives on: events, frames and time in; frames go
out through the endpoint's links, everything else through `take`. It connects the parts and adds one
rule of its own: a frame is taken only from a neighbour, over a path of its own.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from rookery.errors import DecodeError, ProtocolError, RemoteError
from rookery.identity import signing
from rookery.identity.signing import Verify
from rookery.link.endpoint import Endpoint
from rookery.link.events import Discovered, Event, LinkDown, LinkForgotten, PathFound, PathLost
from rookery.link.link import ROOKERY_CSID, Link
from rookery.mesh.membership.join import TYPE as JOIN
from rookery.mesh.membership.membership import Member, Membership
from rookery.mesh.membership.neighbour import Neighbour, QueueSize
from rookery.mesh.membership.neighbourhood import Neighbourhood
from rookery.mesh.membership.peering import Peering
from rookery.mesh.node_settings import NodeSettings
from rookery.mesh.quality.cost_advice import CostAdvice
from rookery.mesh.quality.standing_queue import MeasureStream, StandingQueues
from rookery.mesh.records.database import RecordDatabase
from rookery.mesh.records.flooding import FRAME_TYPES, Flooding
from rookery.mesh.records.publisher import Publisher
from rookery.mesh.rejected_frames import RejectedFrames
from rookery.mesh.routing.data_plane import DataPlane
from rookery.mesh.routing.datagrams import DatagramService, MeshDatagramArrived
from rookery.mesh.routing.echo import EchoOutcome
from rookery.mesh.routing.graph import Graph
from rookery.mesh.routing.route_explainer import RouteExplainer
from rookery.mesh.routing.route_explanation import PRETENDED, RouteExplanation
from rookery.mesh.routing.route_prober import RouteProber
from rookery.mesh.routing.route_table import RouteTable
from rookery.mesh.services import PROBES
from rookery.mesh.tunnel.node_tunnels import NodeTunnels
from rookery.wire.link.frame_types import (
    COMPANION,
    DATAGRAM,
    FORWARD,
    MEMBER,
    PING,
    PONG,
    PROBE,
    PROBED,
    TUNNEL,
)
from rookery.wire.link.lob import NO_HEAD, Packet
from rookery.wire.link.path import Arrival, Path, RoutePath
from rookery.wire.mesh.echo import REQUEST_SIZE_MIN
from rookery.wire.mesh.forward import HOP_LIMIT_MAX, DatagramClass
from rookery.wire.mesh.node_id import NodeId, node_id
from rookery.wire.octets import Octets, tail


class Timed(Protocol):
    """A part of a node with a deadline, after which `tick` is called."""

    @property
    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> None: ...


_MEMBERS_S: Final = 1.0  # how often certificates are looked at
_COSTS_S: Final = 1.0  # how often costs are, while nothing happens
_GRAIN_S: Final = 0.005  # so exactly are deadlines known while packets only come and go
_NEVER: Final = float("inf")
_LIVENESS_FRAMES: Final = (PING, PONG, COMPANION)
_PROBES: Final = (PROBE, PROBED)

MeshEvent = EchoOutcome | MeshDatagramArrived


class Node:
    """The core of a mesh node, driven by `runtime` and `sim` next to the endpoint's."""

    def __init__(
        self,
        endpoint: Endpoint,
        membership: Membership,
        settings: NodeSettings | None = None,
        *,
        epoch: int,
        now: float,
        verify: Verify = signing.verify,
        queue_size: QueueSize | None = None,
        measure_stream: MeasureStream | None = None,
    ) -> None:
        settings = settings or NodeSettings()
        own, random = membership.own, endpoint.random
        assert own.hashname == endpoint.hashname
        self.settings = settings
        self.membership = membership
        self.database = RecordDatabase(membership, verify=verify)
        self.neighbourhood = Neighbourhood(
            membership, random, offsets_us=settings.offsets_us, queue_size=queue_size
        )
        self.flooding = Flooding(self.database, self._send, random, limits=settings.flood, now=now)
        self.publisher = Publisher(
            own,
            endpoint.identity.pairs[ROOKERY_CSID].secret,
            epoch=epoch,
            now=now,
            records=self.database.records,
            services=(*settings.services, PROBES),
        )
        self.graph = Graph(membership.may_relay, own.node)
        self.table = RouteTable(self.graph, own.node, settings.policy)
        self.data_plane = DataPlane(
            own.node,
            self.neighbourhood.neighbours,
            self.table,
            self._deliver,
            is_relay="relay" in own.roles,
            random=random,
            queues=StandingQueues(measure_stream),
        )
        self.peering = Peering(
            endpoint,
            membership,
            self.database.records,
            self.neighbourhood.neighbours,
            settings.links_max,
        )
        self.datagram_service = DatagramService(
            endpoint.links, membership, self.neighbourhood, self.data_plane
        )
        self.tunnels = NodeTunnels(
            endpoint.links,
            membership,
            self.neighbourhood.neighbours,
            self.table,
            self.data_plane,
            random,
        )
        self.route_prober = RouteProber(
            endpoint.links, membership, self.database.records, self.table, self.data_plane, random
        )
        self.cost_advice = CostAdvice(membership)
        self.route_explainer = RouteExplainer(
            self.table,
            self.database,
            self.neighbours,
            self.data_plane.blackhole_relays,
            self.cost_advice,
        )
        self.rejected_frames = RejectedFrames()
        known = self.neighbourhood, self.flooding, self.database
        self._timed: tuple[Timed, ...] = (*known, self.data_plane, self.peering, self.route_prober)
        self._endpoint = endpoint
        self._members_at = self._costs_at = self._due_at = self._timed_at = self._now = now
        self._collected_at = self._collect_at = -_NEVER  # deadlines: known since, and due again
        self._is_stirred = True
        endpoint.frame_reader = self.frame_received
        endpoint.may_open = self._may_open
        endpoint.streams_first = True

    @property
    def own(self) -> Member:
        return self.membership.own

    @property
    def neighbours(self) -> Mapping[NodeId, Neighbour]:
        return self.neighbourhood.neighbours

    # --- what programs ask for ---

    def reach(self, hashname: str, now: float) -> Link:
        """The link to a member, direct or through the mesh, made if need be and kept."""
        return self.peering.reach(self.membership.named(hashname), now)

    def send_over_route(self, hashname: str, packet: Octets, now: float) -> bool:
        """Carry a sealed packet of our link to a member; False when no route leads there."""
        link, node = self._endpoint.links.get(hashname), node_id(hashname)
        state = None if link is None else link.paths.state(RoutePath(hashname))
        if state is not None and state.is_unanswered:
            self.data_plane.doubt(node, now)
        return self.data_plane.start(node, packet, now)

    def send_datagram(
        self,
        hashname: str,
        payload: bytes,
        now: float,
        datagram_class: DatagramClass = DatagramClass.FALLBACK,
        deadline_s: float | None = None,
    ) -> bool:
        """A program's datagram for a member, as its class allows; whether it was sent."""
        return self.datagram_service.send(hashname, payload, now, datagram_class, deadline_s)

    def ping(
        self,
        hashname: str,
        now: float,
        *,
        size: int = REQUEST_SIZE_MIN,
        hop_limit: int = HOP_LIMIT_MAX,
    ) -> bytes:
        """Ask a member for an echo along the route that packets take now; the echo's token."""
        return self.data_plane.ask(
            self.membership.named(hashname).node, now, size=size, hop_limit=hop_limit
        )

    def explain(self, hashname: str, now: float, source: str = "") -> RouteExplanation:
        """Why packets for a member take the route they do, ours or those of another member."""
        origin = self.membership.named(source or self.own.hashname).node
        node = self.membership.named(hashname).node
        return self.route_explainer.explain(origin, node, now, self._endpoint.wall(now))

    def tell(self, statement: bytes, now: float) -> None:
        """Have the realm hear of a certificate or a revocation."""
        self.flooding.publish(statement, now, self._endpoint.wall(now))
        self._members_at = now
        self._stir()

    def _stir(self) -> None:
        """Something happened that others than tunnels and relayed packets have to do with."""
        self._is_stirred, self._collected_at = True, -_NEVER

    # --- what happens to links ---

    def handle(self, event: Event, now: float) -> None:
        self._stir()
        match event:
            case PathFound(link, path) if not isinstance(path, RoutePath):
                self.neighbourhood.path_found(link, now)
                if self._knows(link.hashname) or link.hashname in self.settings.peers:
                    self.neighbourhood.show(link, now)
            case PathLost(link, path):
                self.neighbourhood.path_lost(link, path, now)
            case LinkDown(link):
                self._session_over(link, now)
            case LinkForgotten(link):
                self._session_over(link, now)
                self.peering.unlinked(link.hashname, now)
            case Discovered(stranger):
                self.peering.discovered(stranger, now)

    def _session_over(self, link: Link, now: float) -> None:
        gone = self.neighbourhood.session_over(link)
        if gone is not None:
            self.data_plane.forget(gone)
            self.peering.want(gone, now)

    # --- what arrives ---

    def frame_received(
        self,
        link: Link,
        path: Path,
        head: bytes,
        body: Octets,
        now: float,
        arrival: Arrival | None = None,
    ) -> None:
        """Take one frame; a bad one is counted for the peer that is responsible for it."""
        try:
            self._take_frame(link, path, head, body, now, arrival)
        except RemoteError as error:
            self._refuse(error.culprit or link.hashname, str(error))

    def _take_frame(
        self,
        link: Link,
        path: Path,
        head: bytes,
        octets: Octets,
        now: float,
        arrival: Arrival | None,
    ) -> None:
        frame_type = head[0]
        if frame_type == TUNNEL:  # large ones are not copied again
            self.tunnels.received(link, arrival, head, octets, now)
            return
        if frame_type != FORWARD:
            self._stir()
        if frame_type == DATAGRAM:
            self.datagram_service.received(link, path, bytes(octets), now)
            return
        if frame_type in _PROBES:
            self.route_prober.received(link, arrival, head, bytes(octets), now)
            return
        if isinstance(path, RoutePath):
            raise ProtocolError("a neighbour's frame by way of others")
        if frame_type == MEMBER:
            self._shown(link, bytes(octets), now)
            return
        neighbour = self.neighbourhood.get(link.hashname)
        if neighbour is None:
            raise ProtocolError("a frame of no member")
        if frame_type == FORWARD:
            neighbour.carried(now, size_in=len(octets), path=path)
            self.data_plane.received(neighbour.member.node, head, octets, now)
            return
        body = bytes(octets)
        if frame_type in _LIVENESS_FRAMES:
            neighbour.received(frame_type, path, head, body, now)
            self.neighbourhood.touch(neighbour)
        elif frame_type in FRAME_TYPES:
            node, unix_s = neighbour.member.node, self._endpoint.wall(now)
            if self.flooding.knows(node):  # the other end may be ready before us
                self.flooding.received(node, frame_type, head, body, now, unix_s)
        else:
            raise DecodeError("a frame of no known type")

    def _shown(self, link: Link, certificate: bytes, now: float) -> None:
        is_news = not self._knows(link.hashname)
        member = self.neighbourhood.shown(link, certificate, now, self._endpoint.wall(now))
        self.peering.linked(member, is_news=is_news)
        if is_news:
            self.tell(certificate, now)

    def _deliver(self, arrival: Arrival, packet: Octets, now: float) -> None:
        """Give a packet that came through the mesh to the link with its origin."""
        member = self.membership.member(arrival.route[0])
        if member is None:
            raise ProtocolError("a packet of no member")
        path = RoutePath(member.hashname)
        if packet[:2] == NO_HEAD:
            self._endpoint.received_sealed(path, tail(packet, len(NO_HEAD)), now, arrival)
        else:
            self._endpoint.received(path, Packet.parse(packet), now, arrival)

    # --- time and output ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do, as of the last `flush`."""
        if self._now >= self._collect_at:
            self._collect_deadlines(self._now)
        soonest = min(self._timed_at, self._collect_at)
        tunnels_at = self.tunnels.deadline
        return soonest if tunnels_at is None else min(soonest, tunnels_at)

    def _collect_deadlines(self, now: float) -> None:
        times = [self.publisher.deadline, *(part.deadline for part in self._timed)]
        self._collected_at, self._collect_at = now, _NEVER
        own_at = min(self._members_at, self._costs_at)
        self._timed_at = min([own_at, *(time for time in times if time is not None)])

    def tick(self, now: float) -> bool:
        """Do what is due by now; whether anything was."""
        self._now = now
        is_due = self.tunnels.tick(now)
        if now >= self._collected_at + _GRAIN_S:
            self._collect_deadlines(now)
        if now < self._timed_at:
            return is_due
        self._is_stirred = True
        if now >= self._members_at:
            self._members_at = now + _MEMBERS_S
            self._members_changed(now)
        for part in self._timed:
            part.tick(now)
        return True

    @property
    def has_more(self) -> bool:
        return self.tunnels.has_more

    def report(self) -> None:
        """Nothing to do: programs poll `take`."""

    def flush(self, now: float) -> None:
        """Apply what has changed, and send what is waiting."""
        self._now, self._collect_at = now, min(self._timed_at, self._collected_at + _GRAIN_S)
        if self._is_stirred or now >= self._due_at:
            self._is_stirred = False
            self._settle(now)
            self._due_at = min(self._costs_at, self.publisher.deadline or self._costs_at)
        self.tunnels.flush(now)

    def _settle(self, now: float) -> None:
        """Apply changes that relayed packets do not cause."""
        if self.database.outdone is not None:
            self.publisher.outdo(self.database.outdone, now)
            self._due_at = min(self._due_at, self.publisher.deadline or self._due_at)
        for origin, peer in self.database.take_withdrawn():
            self.neighbourhood.withdrawn(origin, peer, now)
        if self.neighbourhood.take_changed() or now >= self._due_at:
            self._costs_at = now + _COSTS_S
            self.tunnels.changed()
            self.neighbourhood.notice_traffic(now)
            self._links_changed(now)
        for node in self.database.take_pretenders():
            if (member := self.membership.member(node)) is not None:
                self.rejected_frames.note(member.hashname, PRETENDED, is_member=True)
        for node in self.database.take_changed():
            self.table.changed(self.graph.apply(self.database.records.get(node), node))
            self.peering.want(node, now)
        self.flooding.flush(now)

    def take(self) -> list[MeshEvent]:
        """Events since the last call, oldest first."""
        if not self.datagram_service.arrived and not self.data_plane.echoes.outcomes:
            return []
        return [*self.datagram_service.take(), *self.data_plane.echoes.take()]

    def _links_changed(self, now: float) -> None:
        unix_s = self._endpoint.wall(now)
        self.neighbourhood.advise(self.cost_advice, unix_s)
        links = self.neighbourhood.record_links(now)
        record = self.publisher.update(links, self.settings.paths, now, unix_s)
        self.table.changed(self.graph.claim(self.own.node, self.publisher.costs))
        self.flooding.neighbours_changed({link.peer: link.cost_us for link in links}, now)
        if record is not None:
            self.flooding.publish(record, now, unix_s)

    def _expel(self, member: Member, now: float) -> None:
        """Let go of everything about a former member at once: nothing outlives the membership."""
        self.rejected_frames.note(member.hashname, "no member any more", is_member=True)
        self.neighbourhood.expel(member)
        self.tunnels.expel(member.hashname, now)
        self.data_plane.forget(member.node)
        self.route_prober.forget(member.node)
        self.database.forget(member.node)
        self.peering.expel(member, now)

    def _members_changed(self, now: float) -> None:
        """Expel former members, and update which members may relay."""
        for node in self.membership.members:
            self.table.changed(self.graph.reconsider(node))
        for member in self.membership.refresh(self._endpoint.wall(now)):
            self._expel(member, now)

    def _knows(self, hashname: str) -> bool:
        return self.membership.by_hashname(hashname) is not None

    def _may_open(self, hashname: str, channel_type: str) -> bool:
        """Strangers may only open the channel with which they join."""
        return channel_type == JOIN or self._knows(hashname)

    def _send(self, neighbour: NodeId, head: bytes, body: bytes) -> None:
        if (known := self.neighbours.get(neighbour)) is not None:
            known.link.send_frame(head, body)

    def _refuse(self, hashname: str, reason: str) -> None:
        self.rejected_frames.note(hashname, reason, is_member=self._knows(hashname))
