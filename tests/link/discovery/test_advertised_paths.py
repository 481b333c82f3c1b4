"""Addresses that peers list: tried for those whom one trusts, where that can do no harm."""

import pytest

from rookery.link.discovery.advertised_paths import (
    TRIES_BURST,
    TRIES_PER_S,
    AddressScope,
    may_be_tried,
    scope_of,
)
from rookery.link.events import Transmit
from rookery.wire.link.lob import JsonObject, Packet
from rookery.wire.link.path import NetPath, Path, PeerPath, UnixPath, UrlPath, net_path
from tests.link.worlds import Pair

HERE = NetPath("udp4", "127.0.0.1", 9)
CABLE = NetPath("tcp6", "fe80::1", 9)
AFAR = NetPath("udp4", "203.0.113.7", 9)
URL = UrlPath("http://203.0.113.7/cgi-bin/reboot?confirm=yes")


@pytest.mark.parametrize(
    ("ip", "scope"),
    [
        ("203.0.113.7", AddressScope.NETWORK),
        ("10.0.0.1", AddressScope.NETWORK),
        ("2001:db8::1", AddressScope.NETWORK),
        ("fd00::1", AddressScope.NETWORK),
        ("127.0.0.1", AddressScope.MACHINE),
        ("127.9.9.9", AddressScope.MACHINE),
        ("::1", AddressScope.MACHINE),
        ("::ffff:127.0.0.1", AddressScope.MACHINE),
        ("169.254.169.254", AddressScope.CABLE),
        ("fe80::1", AddressScope.CABLE),
        ("0.0.0.0", AddressScope.NOWHERE),
        ("0.1.2.3", AddressScope.NOWHERE),
        ("224.0.0.1", AddressScope.NOWHERE),
        ("240.0.0.1", AddressScope.NOWHERE),
        ("255.255.255.255", AddressScope.NOWHERE),
        ("::", AddressScope.NOWHERE),
        ("ff02::1", AddressScope.NOWHERE),
        ("::ffff:255.255.255.255", AddressScope.NOWHERE),
    ],
)
def test_an_address_means_something_somewhere(ip: str, scope: AddressScope) -> None:
    assert scope_of(ip) is scope


@pytest.mark.parametrize(
    ("path", "used", "is_tried"),
    [
        (AFAR, [], True),
        (PeerPath("a" * 52), [], True),
        (UnixPath("/run/docker.sock"), [UnixPath("/run/rookery.sock", 1)], False),
        (HERE, [AFAR], False),
        (HERE, [AFAR, net_path("tcp", "127.0.0.2", 1)], True),
        (net_path("tcp", "::1", 1), [HERE], True),
        (CABLE, [AFAR, HERE], False),
        (CABLE, [net_path("udp", "169.254.1.1", 1)], True),
        (NetPath("udp4", "255.255.255.255", 9), [NetPath("udp4", "255.255.255.255", 9)], False),
        (NetPath("ws4", "203.0.113.7", 9), [], False),
        (URL, [AFAR], False),
        (URL, [URL], False),
    ],
)
def test_what_could_do_harm_is_not_tried(path: Path, used: list[Path], is_tried: bool) -> None:
    assert may_be_tried(path, used) is is_tried


def told(pair: Pair, head: JsonObject, control_type: str = "path", body: bytes = b"") -> set[Path]:
    """What Bob tries when Alice says this; to all others he says nothing."""
    alice, bob, now = pair.alice.endpoint, pair.bob.endpoint, pair.world.now
    assert pair.back is not None
    before = {state.path for state in pair.back.paths}
    pair.link.say(control_type, head, body)
    alice.flush(now)
    (said,) = [event.data for event in alice.take() if isinstance(event, Transmit)]
    bob.received(pair.alice.paths[0], Packet.parse(said), now)
    bob.flush(now)
    tried = {state.path for state in pair.back.paths} - before
    sent_to = {event.path for event in bob.take() if isinstance(event, Transmit)}
    assert sent_to <= before | tried
    return tried


def listed(*paths: Path) -> JsonObject:
    return {"paths": [path.json() for path in paths]}


def test_a_trusted_peer_has_ordinary_addresses_tried_and_no_others() -> None:
    pair = Pair().up()
    assert told(pair, listed(AFAR, URL, HERE, CABLE)) == {AFAR}


def test_no_addresses_are_exchanged_with_an_untrusted_peer() -> None:
    """It still learns how it is seen, which it could see by itself."""
    pair = Pair()
    bob = pair.bob.endpoint
    bob.trusts = lambda hashname: False
    bob.own_paths = (*bob.own_paths, AFAR)
    pair.up()
    pair.world.run(5)
    assert AFAR not in pair.link.paths
    assert told(pair, listed(NetPath("udp4", "203.0.113.8", 9), URL)) == set()


def test_addresses_are_advertised_to_trusted_peers() -> None:
    pair = Pair()
    pair.bob.endpoint.own_paths = (*pair.bob.endpoint.own_paths, AFAR)
    pair.up()
    pair.world.run(1)
    assert AFAR in pair.link.paths


def test_a_socket_of_the_machine_is_told_to_nobody() -> None:
    pair = Pair()
    socket = UnixPath("/run/rookery.sock")
    pair.bob.endpoint.own_paths = (*pair.bob.endpoint.own_paths, socket, AFAR)
    pair.up()
    pair.world.run(1)
    assert AFAR in pair.link.paths
    assert socket not in pair.link.paths


@pytest.mark.parametrize("control_type", ["peer", "connect"])
def test_an_untrusted_peer_cannot_introduce(control_type: str) -> None:
    pair = Pair()
    bob = pair.bob.endpoint
    bob.trusts = lambda hashname: False
    pair.up()
    before = bob.dropped["ProtocolError"]
    assert told(pair, {"peer": "b" * 52}, control_type, b"\x00\x00") == set()
    assert bob.dropped["ProtocolError"] == before + 1


def test_a_peer_has_so_many_addresses_tried_and_then_fewer() -> None:
    """However many it makes up: it could have others knocked at without end."""
    pair = Pair().up()
    tried = 0
    for number in range(10):
        paths = [NetPath("udp4", f"203.0.113.{number}", port) for port in range(1, 9)]
        tried += len(told(pair, listed(*paths)))
    assert tried == TRIES_BURST
    pair.world.run(2 / TRIES_PER_S)
    one, two = (NetPath("udp4", f"198.51.100.{number}", 1) for number in (1, 2))
    assert told(pair, listed(one, two)) == {one, two}
