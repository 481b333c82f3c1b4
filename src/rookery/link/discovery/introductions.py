"""Introductions: reaching an endpoint through a router, and being that router for others.

    requester ──peer──▶ router ──connect──▶ target        handshakes, wrapped in channels
    requester ◀═════════ router ═════════▶ target         channel packets, by routing token

A router remembers whose token a handshake carried and passes channel packets for it on as they
are; it can read neither. It helps only between links it has itself, and only when asked to route.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from rookery.errors import ProtocolError
from rookery.identity.cipher_set import routing_token
from rookery.identity.identity import Identity
from rookery.link.channels import connect, peer
from rookery.link.link import Link, LinkState
from rookery.link.reliable import ChannelMessage
from rookery.link.session.handshake import Handshake, Stranger
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import Path, PeerPath
from rookery.wire.octets import Octets

ROUTES_MAX = 32_768
ROUTES_PER_LINK_MAX = 256  # so that one link cannot push out the routes of all others
ROUTE_S = 120.0  # unused for so long, a route is forgotten

RoutingPolicy = Callable[[str, str], bool]  # (requester, target) -> may be introduced


def route_for_links(requester: str, target: str) -> bool:
    """The default policy of a router: introduces any two endpoints that it has links to."""
    return True


class IntroductionsOwner(Protocol):
    """What introductions need of the endpoint."""

    identity: Identity

    @property
    def links(self) -> Mapping[str, Link]: ...

    def transmit(self, path: Path, data: Octets) -> None: ...

    def admit_handshake(
        self, packet: Packet, path: Path, now: float, *, expected: str | None = None
    ) -> None: ...

    def stranger_appeared(self, stranger: Stranger) -> None: ...


class Introductions:
    """Both sides of `peer` and `connect`."""

    __slots__ = ("_owned", "_owner", "_policy", "_routes")

    def __init__(self, owner: IntroductionsOwner) -> None:
        self._owner = owner
        self._policy: RoutingPolicy | None = None
        self._routes: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        self._owned: dict[str, OrderedDict[bytes, None]] = {}  # hashname -> its tokens, by use

    def allow(self, policy: RoutingPolicy | None) -> None:
        """Route for pairs that the policy allows; None disables routing."""
        self._policy = policy
        if policy is None:
            self._routes.clear()
            self._owned.clear()

    # --- as requester or target ---

    def ask(self, link: Link, routers: Iterable[Link]) -> None:
        """Have routers pass our keys to an endpoint of which we know only the hashname."""
        identity = self._owner.identity
        for router in routers:
            for csid, key in identity.keys.items():
                handshake = Handshake(csid, key, identity.intermediates(csid))
                router.say("peer", peer.opening(link.hashname), handshake.unencrypted())

    def send(self, link: Link, router: Link, data: Octets) -> None:
        """A packet for `link` through `router`: a handshake wrapped, all else as it is."""
        if data[:2] != b"\x00\x00":
            router.say("peer", peer.opening(link.hashname), bytes(data))
        elif (path := router.paths.best) is not None and not isinstance(path, PeerPath):
            self._owner.transmit(path, data)

    def connect_received(self, router: Link, message: ChannelMessage, now: float) -> None:
        """A requester wants a link to us and asks through a router."""
        requester, packet = connect.parse_opening(message.head, message.body)
        path = PeerPath(router.hashname)
        if not packet.is_json:
            self._owner.admit_handshake(packet, path, now, expected=requester)
            return
        handshake = Handshake.parse_unencrypted(packet)
        if handshake.hashname != requester:
            raise ProtocolError("the introduced keys are somebody else's")
        link = self._owner.links.get(requester)
        keys = {handshake.csid: handshake.key}
        if link is None:
            self._owner.stranger_appeared(Stranger(requester, keys, (path,)))
            return
        if handshake.csid in self._owner.identity.keys:
            link.learn(keys, path, now)

    # --- as the router ---

    def peer_received(self, requester: Link, message: ChannelMessage, now: float) -> None:
        """Pass an introduction on; the requester is not answered either way."""
        target_name, packet = peer.parse_opening(message.head, message.body)
        target = self._owner.links.get(target_name)
        if self._policy is None or target is None or target is requester:
            return
        if target.state is not LinkState.UP or not self._policy(requester.hashname, target_name):
            return
        if len(packet.head) == 1:
            token = routing_token(packet.body)
            owner, until = self._routes.get(token, ("", 0.0))
            if owner not in ("", requester.hashname) and now < until:
                return  # a token has one owner; a later claim could divert its packets
            self._remember(token, requester.hashname, now)
        target.say("connect", connect.opening(requester.hashname), message.body)

    def forward(self, token: bytes, data: bytes, arrival: Path, now: float) -> bool:
        """Pass a channel packet on to the owner of its token; False if the token is unknown."""
        route = self._routes.get(token)
        if route is None or now >= route[1]:
            return False
        link = self._owner.links.get(route[0])
        path = link.paths.best if link is not None else None
        if path is None or path == arrival or isinstance(path, PeerPath):
            return False
        self._remember(token, route[0], now)
        self._owner.transmit(path, data)
        return True

    def _remember(self, token: bytes, hashname: str, now: float) -> None:
        if token in self._routes and self._routes[token][0] != hashname:
            self._forget(token)
        self._routes[token] = (hashname, now + ROUTE_S)
        self._routes.move_to_end(token)
        owned = self._owned.setdefault(hashname, OrderedDict())
        owned[token] = None
        owned.move_to_end(token)
        if len(owned) > ROUTES_PER_LINK_MAX:
            self._forget(next(iter(owned)))
        while len(self._routes) > ROUTES_MAX or next(iter(self._routes.values()))[1] <= now:
            self._forget(next(iter(self._routes)))

    def _forget(self, token: bytes) -> None:
        hashname, _ = self._routes.pop(token)
        owned = self._owned[hashname]
        del owned[token]
        if not owned:
            del self._owned[hashname]
