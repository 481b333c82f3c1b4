"""Reaching somebody through a router, and being one."""

import pytest

from rookery.identity.cipher_set import routing_token
from rookery.link.discovery.introductions import ROUTE_S, ROUTES_PER_LINK_MAX, route_for_links
from rookery.link.events import Discovered
from rookery.link.link import Link, LinkState
from rookery.sim.world import SimulatedEndpoint, World
from rookery.wire.link.lob import Packet
from rookery.wire.link.path import NetPath, PeerPath
from tests.link.worlds import Collector, Writer, is_up, notices


class Town:
    """Alice and Bob, who cannot reach each other, and a router both are linked with."""

    def __init__(self, csids: tuple[int, ...] = (0x40,), *, is_routing: bool = True) -> None:
        self.world = World(11)
        self.router = self.world.node("10.0.0.9", csids=csids)
        self.alice = self.world.node("10.0.0.1", csids=csids)
        self.bob = self.world.node("10.0.0.2", csids=csids)
        self.bob.accepts_strangers = self.router.accepts_strangers = True
        if is_routing:
            self.router.endpoint.route(route_for_links)
        self.world.separate("10.0.0.1", "10.0.0.2")
        self.links = [self.join(node) for node in (self.alice, self.bob)]
        self.world.run_until(lambda: all(is_up(link) for link in self.links))
        self.world.run(2)

    def join(self, node: SimulatedEndpoint) -> Link:
        link = node.link(self.router)
        node.endpoint.set_router(link, True, self.world.now)
        node.settle()
        return link

    def link(self, *, keys: bool = True) -> Link:
        """Alice asks for Bob, of whom she knows the keys or only the name."""
        known = self.bob.endpoint.identity.keys if keys else {}
        link = self.alice.endpoint.link(self.bob.hashname, known, [], self.world.now)
        self.alice.settle()
        return link


@pytest.mark.parametrize("csids", [(0x40,), (0x3A,), (0x3A, 0x40)])
@pytest.mark.parametrize("keys", [True, False])
def test_a_router_introduces_by_keys_or_by_name_and_bridges(
    csids: tuple[int, ...], keys: bool
) -> None:
    """T4: handshakes as introductions, everything else as it is."""
    town = Town(csids)
    link = town.link(keys=keys)
    town.world.run_until(lambda: is_up(link), 5)
    assert link.csid == max(csids)
    assert link.paths.best == PeerPath(town.router.hashname)
    collector = Collector(town.bob)
    writer = Writer(town.alice, link, bytes(range(256)) * 400)
    town.world.run_until(lambda: writer.channel.is_closed, 30)
    assert writer.channel.failure is None
    assert collector.data == bytes(range(256)) * 400


def test_the_router_cannot_read_what_it_bridges() -> None:
    """T2, T4."""
    town = Town()
    link = town.link()
    town.world.run_until(lambda: is_up(link), 5)
    assert town.alice.hashname in town.router.endpoint.links
    seen: list[bytes] = []
    town.world.overhear(lambda source, target, data: seen.append(data))
    Collector(town.bob)
    Writer(town.alice, link, b"for your eyes only")
    town.world.run(2)
    assert not any(b"eyes" in data for data in seen)
    assert town.router.endpoint.dropped == {}


def test_a_relayed_link_stays_up() -> None:
    """T4."""
    town = Town()
    link = town.link()
    town.world.run_until(lambda: is_up(link), 5)
    town.world.run(600)
    assert is_up(link)


def test_a_direct_path_takes_over_from_the_relay() -> None:
    """T4: the router is for meeting."""
    town = Town()
    link = town.link()
    town.world.run_until(lambda: is_up(link), 5)
    town.world.reunite()
    town.world.run(60)
    assert link.paths.best == town.bob.paths[0]


@pytest.mark.parametrize("keys", [True, False])
def test_an_endpoint_without_a_policy_routes_nothing(keys: bool) -> None:
    """T4: and says nothing."""
    town = Town(is_routing=False)
    link = town.link(keys=keys)
    town.world.run(100)
    assert not is_up(link)
    assert notices(town.bob, Discovered)[1:] == []


def test_a_router_validates_whom_it_helps() -> None:
    """T4."""
    town = Town()
    asked: list[tuple[str, str]] = []

    def deny(requester: str, target: str) -> bool:
        asked.append((requester, target))
        return False

    town.router.endpoint.route(deny)
    link = town.link()
    town.world.run(10)
    assert not is_up(link)
    assert set(asked) == {(town.alice.hashname, town.bob.hashname)}


def test_a_router_can_be_stopped() -> None:
    """T4."""
    town = Town()
    link = town.link()
    town.world.run_until(lambda: is_up(link), 5)
    town.router.endpoint.route(None)
    town.world.run(200)
    assert not is_up(link)


def test_a_router_that_is_one_no_more_is_no_path() -> None:
    """T5: `link.router(False)`."""
    town = Town()
    link = town.link()
    town.world.run_until(lambda: is_up(link), 5)
    town.alice.endpoint.set_router(town.links[0], False, town.world.now)
    assert PeerPath(town.router.hashname) not in link.paths


@pytest.mark.parametrize("keys", [True, False])
def test_a_router_found_later_helps_links_that_waited(keys: bool) -> None:
    """T4, T5: whether it is up already when it becomes one, or comes up then."""
    town = Town()
    router = town.links[0]
    for is_up_before in (True, False):
        town.alice.endpoint.set_router(router, False, town.world.now)
        town.alice.endpoint.forget(router, town.world.now)
        town.alice.settle()
        link = town.link(keys=keys)
        town.world.run(5)
        assert not is_up(link)
        router = town.alice.link(town.router)
        if is_up_before:
            town.world.run_until(lambda link=router: is_up(link), 5)  # type: ignore[misc]
        town.alice.endpoint.set_router(router, True, town.world.now)
        town.alice.settle()
        town.world.run_until(lambda link=link: is_up(link), 5)  # type: ignore[misc]
        town.alice.endpoint.forget(link, town.world.now)
        back = town.bob.endpoint.links[town.alice.hashname]
        town.bob.endpoint.forget(back, town.world.now)


def test_a_stranger_introduced_by_a_router_is_offered_and_not_answered() -> None:
    """T4, T6."""
    town = Town()
    town.bob.accepts_strangers = False
    before = town.bob.sent
    link = town.link(keys=False)
    town.world.run(3)
    names = {event.stranger.hashname for event in notices(town.bob, Discovered)}
    assert names == {town.alice.hashname}
    assert town.bob.sent == before
    assert link.state is not LinkState.UP


def test_an_unknown_name_stays_unresolved() -> None:
    town = Town()
    link = town.alice.endpoint.link("a" * 52, {}, [], town.world.now)
    town.alice.settle()
    town.world.run(30)
    assert not is_up(link)


def say(town: Town, packet: bytes, target: str, *, kind: str = "peer") -> None:
    town.links[0].say(kind, {"peer": target}, packet)
    town.alice.settle()
    town.world.run(0.1)


def forwarded(town: Town, token: bytes) -> int:
    """How many packets the router passes on for this token."""
    seen: list[NetPath] = []
    town.world.overhear(lambda source, target, data: seen.append(source))
    town.router.deliver(NetPath("udp4", "10.5.5.5", 5), bytes(2) + token + bytes(40))
    return seen.count(town.router.paths[0])


def token_of(number: int) -> tuple[bytes, bytes]:
    """A handshake for Bob that nobody can open, and the token it registers."""
    body = number.to_bytes(16, "big") + bytes(60)
    return Packet(b"\x40", body).serialize(), routing_token(body)


def test_one_link_holds_few_routes() -> None:
    """T4: so that it cannot push out those of others."""
    town = Town()
    tokens = []
    for number in range(ROUTES_PER_LINK_MAX + 10):
        packet, token = token_of(number)
        say(town, packet, town.bob.hashname)
        tokens.append(token)
    assert forwarded(town, tokens[9]) == 0
    assert forwarded(town, tokens[10]) == 1
    assert forwarded(town, tokens[-1]) == 1


def test_an_unused_route_is_forgotten() -> None:
    """T4."""
    town = Town()
    packet, token = token_of(1)
    say(town, packet, town.bob.hashname)
    town.world.run(ROUTE_S - 5)
    assert forwarded(town, token) == 1
    town.world.run(ROUTE_S - 5)
    assert forwarded(town, token) == 1
    town.world.run(ROUTE_S + 1)
    assert forwarded(town, token) == 0
    other, _ = token_of(2)
    say(town, other, town.bob.hashname)
    assert forwarded(town, token) == 0


def test_a_route_cannot_be_taken_over() -> None:
    """T4: a token's packets go to who showed it first."""
    town = Town()
    packet, token = token_of(1)
    say(town, packet, town.bob.hashname)
    thief = town.links[1]
    thief.say("peer", {"peer": town.alice.hashname}, packet)
    town.bob.settle()
    town.world.run(0.1)
    targets: list[NetPath] = []
    town.world.overhear(lambda source, target, data: targets.append(target))
    town.router.deliver(NetPath("udp4", "10.5.5.5", 5), bytes(2) + token + bytes(40))
    assert targets == [town.alice.paths[0]]
    town.world.run(ROUTE_S + 1)
    thief.say("peer", {"peer": town.alice.hashname}, packet)
    town.bob.settle()
    town.world.run(0.1)
    targets.clear()
    town.router.deliver(NetPath("udp4", "10.5.5.5", 5), bytes(2) + token + bytes(40))
    assert targets == [town.bob.paths[0]]


def test_a_packet_is_not_sent_back_where_it_came_from() -> None:
    """T4."""
    town = Town()
    packet, token = token_of(1)
    say(town, packet, town.bob.hashname)
    before = town.router.sent
    town.router.deliver(town.alice.paths[0], bytes(2) + token + bytes(40))
    assert town.router.sent == before
    assert town.router.endpoint.dropped["ProtocolError"] == 1


@pytest.mark.parametrize(
    ("kind", "packet", "target"),
    [
        ("peer", b"\x00\x00", "not a hashname"),
        ("peer", bytes(5000), "a" * 52),
        ("peer", b"\xff", "a" * 52),
        ("connect", b"\x00\x00rest", "a" * 52),
        ("connect", b"\x00\x01\x40rest", "a" * 52),
        ("connect", Packet.of({"type": "link", "csid": "40"}).serialize(), "a" * 52),
        ("connect", Packet.of({"type": "link", "csid": "40"}, b"\0\0key").serialize(), "a" * 52),
    ],
)
def test_nonsense_is_counted_and_answered_with_silence(
    kind: str, packet: bytes, target: str
) -> None:
    """T4, T6."""
    town = Town()
    before = town.router.sent
    say(town, packet, target, kind=kind)
    assert town.router.sent == before
    assert sum(town.router.endpoint.dropped.values()) == 1


def test_a_flood_of_introductions_is_bounded_like_unknown_senders() -> None:
    """T4: opening a handshake is dear."""
    town = Town()
    for number in range(500):
        packet, _ = token_of(number)
        town.links[0].say("connect", {"peer": "a" * 52}, packet)
    town.alice.settle()
    town.world.run(1)
    assert sum(town.router.endpoint.dropped.values()) < 200
