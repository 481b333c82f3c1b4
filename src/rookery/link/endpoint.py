"""An endpoint: one identity, its links, and what to do with every packet that arrives.

    packet ─┬─ no head ──────── token is ours ▸ link ▸ channel
            │                   token is routed ▸ passed on
            ├─ 1-byte head ──── opens ▸ known hashname ▸ link
            │                         ▸ unknown ▸ Discovered, and not a byte in return
            └─ JSON head ────── announcement ▸ Discovered

Synchronous and without I/O: packets and time in, events out. After a batch of packets call
`flush`, then carry out what `take` returns; call `tick` when `deadline` has passed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rookery.errors import CongestionError, ProtocolError, RemoteError
from rookery.identity.cipher_set import TOKEN_SIZE, RandomBytes, routing_token
from rookery.identity.cipher_sets import cipher_set
from rookery.identity.identity import Identity
from rookery.link.admission import Admission, AdmissionLimits
from rookery.link.discovery.advertised_paths import AdvertisedPaths
from rookery.link.discovery.announcement import parse_announcement
from rookery.link.discovery.introductions import Introductions, RoutingPolicy
from rookery.link.events import Discovered, Event, LinkForgotten, Transmit
from rookery.link.link import Link, LinkState
from rookery.link.policies import ChannelPolicy, TrustPolicy, open_to_links, trust_links
from rookery.link.reliable import ChannelMessage
from rookery.link.session.handshake import Handshake, Stranger
from rookery.link.timers import Timers
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import Arrival, NetPath, Path, PeerPath, RoutePath
from rookery.wire.octets import Octets

# Of link, path, head, body, now, and how the packet came if its path is a route.
FrameReader = Callable[[Link, Path, bytes, bytes | memoryview, float, Arrival | None], None]

LINKS_MAX: Final = 65536  # beyond it only the user's own wishes make new ones


class Endpoint:
    """The core that `runtime` and `sim` both drive."""

    def __init__(
        self,
        identity: Identity,
        *,
        random: RandomBytes,
        unix_s: float,
        now: float,
        limits: AdmissionLimits | None = None,
    ) -> None:
        self.identity = identity
        self.random = random
        self.own_paths: tuple[Path, ...] = ()
        self.types: set[str] = set()  # channel types that have a handler
        self.dropped: Counter[str] = Counter()  # packets refused, by kind of error
        self.frame_reader: FrameReader | None = None
        self.may_open: ChannelPolicy = open_to_links
        self.trusts: TrustPolicy = trust_links  # with where we are, and about where others are
        self.streams_first = False  # datagram paths only accompany a stream, which makes the link
        self._unix_offset = unix_s - now
        self._admission = Admission(limits or AdmissionLimits(), now)
        self.advertised_paths = AdvertisedPaths(self)
        self._introductions = Introductions(self)
        self._links: dict[str, Link] = {}
        self._tokens: dict[bytes, Link] = {}
        self._neighbours: dict[Path, Link] = {}  # the link at the far end of a path
        self._touched: dict[str, Link] = {}
        self._timers = Timers()
        self._events: list[Event] = []

    @property
    def hashname(self) -> str:
        return self.identity.hashname

    @property
    def links(self) -> Mapping[str, Link]:
        return MappingProxyType(self._links)

    # --- requests of the user ---

    def link(
        self,
        hashname: str,
        keys: Mapping[int, bytes],
        paths: Iterable[Path],
        now: float,
        *,
        persistent: bool = True,
    ) -> Link:
        """The link to `hashname`, made if need be and dialled over what is known of it."""
        self._check_keys(keys)
        link = self._links.get(hashname)
        if link is None:
            link = self._links[hashname] = Link(self, hashname, {}, persistent=persistent)
        link.keys.update(keys)
        link.persistent |= persistent
        for path in paths:
            link.add_path(path, now, configured=True)
        for router in self._routers():
            if router is not link:
                link.add_path(PeerPath(router.hashname), now, configured=True)
        link.dial(now)
        self.touch(link)
        return link

    def accept(self, stranger: Stranger, now: float, *, persistent: bool = False) -> Link:
        """Link with a stranger and answer the handshake it came with."""
        if len(self._links) >= LINKS_MAX and stranger.hashname not in self._links:
            raise CongestionError(f"there are {LINKS_MAX} links already")
        link = self.link(
            stranger.hashname, stranger.keys, stranger.paths, now, persistent=persistent
        )
        if stranger.handshake is not None:
            came_by = link.paths.state(stranger.paths[0])
            if came_by is not None:
                came_by.dialled = False
            try:
                self.handshake_received(stranger.handshake, stranger.paths[0], now)
            except RemoteError as error:
                self.dropped[type(error).__name__] += 1
        return link

    def forget(self, link: Link, now: float) -> None:
        """End a link and drop all state about it."""
        link.persistent = False
        link.close(now)
        self._discard(link)

    def set_router(self, link: Link, is_router: bool, now: float) -> None:
        """Trust a link to help us reach all others, and others to reach us."""
        link.is_router = is_router
        path = PeerPath(link.hashname)
        for other in list(self._links.values()):
            if other is link:
                continue
            if is_router:
                other.add_path(path, now, configured=True)
                other.dial(now)
                self.touch(other)
            else:
                other.paths.discard(path)

    def route(self, policy: RoutingPolicy | None) -> None:
        """Be a router for pairs that the policy allows."""
        self._introductions.allow(policy)

    # --- what arrives ---

    def received(
        self, path: Path, packet: Packet, now: float, arrival: Arrival | None = None
    ) -> None:
        """Process one packet; errors in it are counted and do not affect other links."""
        try:
            size = len(packet.head)
            if size == 0:
                self._channel_packet(packet.body, path, now, arrival)
            elif size == 1:
                self.admit_handshake(packet, path, now)
            elif isinstance(path, RoutePath):
                raise ProtocolError("an announcement from afar")
            elif self._admission.admits_announcement(now):
                self._announced(packet, path, now)
        except RemoteError as error:
            self.dropped[type(error).__name__] += 1

    def received_sealed(
        self, path: Path, body: Octets, now: float, arrival: Arrival | None = None
    ) -> None:
        """The same for a channel packet, without its empty head: large ones are not copied."""
        try:
            self._channel_packet(body, path, now, arrival)
        except RemoteError as error:
            self.dropped[type(error).__name__] += 1

    def lost(self, path: Path, now: float) -> None:
        """A connection-oriented path is gone."""
        link = self._neighbours.pop(path, None)
        if link is not None:
            link.path_lost(path, now)
            self.touch(link)

    def _channel_packet(
        self, body: Octets, path: Path, now: float, arrival: Arrival | None
    ) -> None:
        token = body[:TOKEN_SIZE] if isinstance(body, bytes) else bytes(body[:TOKEN_SIZE])
        link = self._tokens.get(token)
        if link is None:
            packet = Packet(b"", bytes(body)).serialize()
            if not self._introductions.forward(token, packet, path, now):
                raise ProtocolError("nobody here has this token")
            return
        self._touched[link.hashname] = link
        link.packet_received(body, self._arrival_path(link, path), now, arrival)

    def admit_handshake(
        self, packet: Packet, path: Path, now: float, *, expected: str | None = None
    ) -> None:
        """Open a handshake, unless too many have come; `expected` is its supposed maker."""
        if not self.takes_handshakes(path):
            raise ProtocolError("links are made over streams here")
        token, csid = routing_token(packet.body), int.from_bytes(packet.head, "big")
        if self._admission.admits(token, csid, path, now):
            self.handshake_received(packet, path, now, expected=expected)

    def handshake_received(
        self, packet: Packet, path: Path, now: float, *, expected: str | None = None
    ) -> None:
        """Open a handshake and give it to its link, or tell of a stranger."""
        csid = int.from_bytes(packet.head, "big")
        local = self.identity.local.get(csid)
        if local is None:
            raise ProtocolError("a cipher set we have no key for")
        opened = local.open(packet.body)
        handshake = Handshake.parse_inner(csid, opened.inner)
        if csid != max(handshake.csids.intersection(self.identity.keys)):
            raise ProtocolError("handshake under a lesser cipher set than we share")
        hashname = handshake.hashname
        if isinstance(path, RoutePath):
            expected = path.hn
        if hashname == self.hashname or expected not in (None, hashname):
            raise ProtocolError("not the handshake it is said to be")
        link = self._links.get(hashname)
        if link is None:
            local.verify(opened, handshake.key)
            keys = {csid: handshake.key}
            self.stranger_appeared(Stranger(hashname, keys, (path,), packet, is_proven=True))
            return
        path = self._arrival_path(link, path)
        self.touch(link)
        link.handshake_received(opened, handshake, path, now)
        if hashname in self._links:
            self._admission.prove(routing_token(packet.body), hashname)
        if path in link.paths and not isinstance(path, PeerPath):
            self._neighbours[path] = link

    def stranger_appeared(self, stranger: Stranger) -> None:
        self.emit(Discovered(stranger))

    def _announced(self, packet: Packet, path: Path, now: float) -> None:
        stranger = parse_announcement(packet, path)
        self._check_keys(stranger.keys)
        link = self._links.get(stranger.hashname)
        if link is not None:
            link.add_path(path, now, configured=False)
            link.dial(now)
        elif stranger.hashname != self.hashname:
            self.stranger_appeared(stranger)

    def _check_keys(self, keys: Mapping[int, bytes]) -> None:
        """DecodeError when a key that we would use cannot be one."""
        for csid in keys.keys() & self.identity.keys.keys():
            cipher_set(csid).check_key(keys[csid])

    def _arrival_path(self, link: Link, path: Path) -> Path:
        """A packet that a router bridged has come by the router, not from the router's address."""
        # Compared by type, as `isinstance` would ask the metaclass each time.
        if type(path) is RoutePath and path.hn != link.hashname:
            # Answers would go to a third party that never requested any.
            raise ProtocolError("a packet over the route of somebody else")
        neighbour = self._neighbours.get(path)
        if neighbour is None or neighbour is link:
            return path
        relayed = PeerPath(neighbour.hashname)
        return relayed if relayed in link.paths else path

    # --- time and output ---

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to do."""
        return self._timers.deadline

    def tick(self, now: float) -> None:
        """Run every timer that is due; `flush` arms them anew."""
        for hashname in self._timers.take_due(now):
            link = self._links.get(hashname)
            if link is not None:
                link.tick(now)
                self.touch(link)

    def flush(self, now: float) -> None:
        """Send what channels have due on links that packets, time or the user touched."""
        while self._touched:
            _, link = self._touched.popitem()
            link.flush(now)
            deadline = link.deadline
            if deadline is not None and link.hashname in self._links:
                self._timers.arm(link.hashname, deadline)

    def touch(self, link: Link) -> None:
        """The link may have something to send, or be due earlier than before."""
        self._touched[link.hashname] = link

    def take(self) -> list[Event]:
        """What there is to do and to tell, oldest first."""
        events, self._events = self._events, []
        return events

    def set_clock(self, unix_s: float, now: float) -> None:
        """Wall-clock time; devices often learn it long after they started."""
        self._unix_offset = unix_s - now

    def leap(self, now: float) -> None:
        """This process may be a copy of one that goes on: no nonce may come twice."""
        for link in list(self._links.values()):
            link.leap(now)

    # --- for the links ---

    def wall(self, now: float) -> int:
        return int(self._unix_offset + now)

    def emit(self, event: Event) -> None:
        self._events.append(event)

    def transmit(self, path: Path, data: Octets) -> None:
        self._events.append(Transmit(path, data))

    def send(self, link: Link, path: Path, data: Octets) -> None:
        link.out_bytes += len(data)
        if type(path) is PeerPath:
            router = self._links.get(path.hn)
            if router is not None and router.state is LinkState.UP:
                self._introductions.send(link, router, data)
                self.touch(router)
            return
        if data[1] and path in link.paths:  # a handshake
            self._neighbours.setdefault(path, link)
        self._events.append(Transmit(path, data))

    def takes_handshakes(self, path: Path) -> bool:
        return not (self.streams_first and isinstance(path, NetPath) and path.is_datagram)

    def frame_received(
        self,
        link: Link,
        path: Path,
        head: bytes,
        body: bytes | memoryview,
        now: float,
        arrival: Arrival | None,
    ) -> None:
        if self.frame_reader is None:
            raise ProtocolError("nobody reads frames here")
        self.frame_reader(link, path, head, body, now, arrival)

    def serves(self, link: Link, channel_type: str) -> bool:
        return channel_type in self.types and self.may_open(link.hashname, channel_type)

    def control(self, link: Link, channel_id: int, message: ChannelMessage, now: float) -> None:
        match message.head["type"]:
            case "path":
                self.advertised_paths.opened(link, channel_id, message, now)
            case _ if not self.trusts(link.hashname):
                raise ProtocolError("an introduction by a stranger")
            case "peer":
                self._introductions.peer_received(link, message, now)
            case _:
                self._introductions.connect_received(link, message, now)

    def answered(self, link: Link, message: ChannelMessage) -> None:
        self.advertised_paths.answered(link, message)

    def token_changed(self, link: Link, before: bytes | None) -> None:
        if before is not None:
            self._tokens.pop(before, None)
        assert link.exchange is not None
        self._tokens[link.exchange.token] = link

    def unresolved(self, link: Link) -> None:
        self._introductions.ask(link, (router for router in self._routers() if router is not link))

    def path_forgotten(self, link: Link, path: Path) -> None:
        if self._neighbours.get(path) is link:
            del self._neighbours[path]

    def link_rose(self, link: Link, now: float) -> None:
        self.advertised_paths.send(link)
        if link.is_router:
            for other in list(self._links.values()):
                if other is not link:
                    other.dial(now)
                    self.touch(other)

    def link_fell(self, link: Link, now: float) -> None:
        if not link.persistent:
            self._discard(link)

    def _routers(self) -> list[Link]:
        return [link for link in self._links.values() if link.is_router]

    def _discard(self, link: Link) -> None:
        if self._links.get(link.hashname) is not link:
            return
        del self._links[link.hashname]
        self.emit(LinkForgotten(link))
        self._timers.disarm(link.hashname)
        self._admission.forget(link.hashname)
        self._touched.pop(link.hashname, None)
        exchange = link.exchange
        if exchange is not None:
            self._tokens.pop(exchange.token, None)
        for state in list(link.paths):
            link.paths.discard(state.path)
