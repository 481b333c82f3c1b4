"""NATs: who gets through, and for how long."""

from random import Random

import pytest

from rookery.sim.network.nat import Nat, NatKind
from rookery.sim.world import World
from rookery.wire.link.path import NetPath

INNER = NetPath("udp4", "192.168.0.2", 42424)
ASKED = NetPath("udp4", "10.0.0.1", 1)
SAME_HOST = NetPath("udp4", "10.0.0.1", 2)
STRANGER = NetPath("udp4", "10.0.0.9", 1)
PUBLIC_IP = "203.0.113.1"


def nat(kind: NatKind) -> Nat:
    return Nat(kind, PUBLIC_IP, Random(1))


@pytest.mark.parametrize(
    ("kind", "admitted"),
    [
        (NatKind.FULL_CONE, [ASKED, SAME_HOST, STRANGER]),
        (NatKind.ADDRESS_RESTRICTED, [ASKED, SAME_HOST]),
        (NatKind.PORT_RESTRICTED, [ASKED]),
        (NatKind.SYMMETRIC, [ASKED]),
    ],
)
def test_each_kind_lets_in_whom_it_should(kind: NatKind, admitted: list[NetPath]) -> None:
    gateway = nat(kind)
    mapping = gateway.outbound(INNER, ASKED, 0.0)
    assert mapping is not None
    assert mapping.outer.ip == PUBLIC_IP
    everybody = [ASKED, SAME_HOST, STRANGER]
    let_in = [who for who in everybody if gateway.inbound(who, mapping.outer, 1.0) == INNER]
    assert let_in == admitted
    assert gateway.refused == 3 - len(admitted)


@pytest.mark.parametrize("kind", list(NatKind))
def test_only_a_symmetric_nat_shows_each_peer_another_port(kind: NatKind) -> None:
    gateway = nat(kind)
    one, other = (gateway.outbound(INNER, to, 0.0) for to in (ASKED, STRANGER))
    assert one is not None
    assert other is not None
    assert (one.outer != other.outer) == (kind is NatKind.SYMMETRIC)


def test_a_mapping_ends_when_nothing_goes_out() -> None:
    gateway = nat(NatKind.FULL_CONE)
    mapping = gateway.outbound(INNER, ASKED, 0.0)
    assert mapping is not None
    assert gateway.inbound(ASKED, mapping.outer, 59.0) == INNER
    assert gateway.inbound(ASKED, mapping.outer, 61.0) is None
    renewed = gateway.outbound(INNER, ASKED, 62.0)
    assert renewed is not None
    assert renewed.outer != mapping.outer


def test_permission_ends_too() -> None:
    gateway = nat(NatKind.PORT_RESTRICTED)
    mapping = gateway.outbound(INNER, ASKED, 0.0)
    assert mapping is gateway.outbound(INNER, STRANGER, 50.0)
    assert mapping is not None
    assert gateway.inbound(ASKED, mapping.outer, 70.0) is None
    assert gateway.inbound(STRANGER, mapping.outer, 70.0) == INNER


def test_there_is_no_hairpin() -> None:
    gateway = nat(NatKind.FULL_CONE)
    mapping = gateway.outbound(INNER, ASKED, 0.0)
    assert mapping is not None
    assert gateway.outbound(INNER, mapping.outer, 1.0) is None


def test_a_restart_forgets_all_but_what_the_operator_entered() -> None:
    gateway = nat(NatKind.SYMMETRIC)
    mapping = gateway.outbound(INNER, ASKED, 0.0)
    assert mapping is not None
    fixed = gateway.forward(80, NetPath("udp4", "192.168.0.3", 80))
    gateway.restart()
    assert gateway.inbound(ASKED, mapping.outer, 1.0) is None
    assert not mapping.is_alive(1.0)
    assert gateway.inbound(STRANGER, fixed, 1e9) == NetPath("udp4", "192.168.0.3", 80)


def test_ports_are_used_again_only_when_they_are_free() -> None:
    gateway = nat(NatKind.SYMMETRIC)
    outers = set()
    for number in range(2000):
        mapping = gateway.outbound(INNER, NetPath("udp4", "10.0.0.1", 1 + number), 0.0)
        assert mapping is not None
        outers.add(mapping.outer)
    assert len(outers) == 2000


def linked(kind: str) -> bool:
    """Whether one behind a NAT links with one in the open."""
    world = World(seed=1)
    world.nat(NatKind.PORT_RESTRICTED, PUBLIC_IP, ["192.168.0.2", "192.168.0.3"])
    alice = world.node("192.168.0.2", kinds=(kind,))
    bob = world.node("10.0.0.1", kinds=(kind,))
    bob.accepts_strangers = True
    alice.link(bob)
    world.run(5)
    back = bob.endpoint.links.get(alice.hashname)
    assert back is None or all(state.path != alice.paths[0] for state in back.paths if state.proven)
    return back is not None and back.state.value == "up"


@pytest.mark.parametrize("kind", ["udp4", "tcp4"])
def test_a_node_behind_a_nat_links_outwards(kind: str) -> None:
    assert linked(kind)


@pytest.mark.parametrize("kind", ["udp4", "tcp4"])
def test_a_node_behind_a_nat_is_not_reached_by_its_inner_address(kind: str) -> None:
    world = World(seed=1)
    bob = world.node("10.0.0.1", kinds=(kind,))
    alice = world.node("192.168.0.2", kinds=(kind,))
    other = world.node("192.168.0.3", kinds=(kind,))
    world.nat(NatKind.FULL_CONE, PUBLIC_IP, ["192.168.0.2", "192.168.0.3"])
    bob.link(alice)
    world.run(20)
    assert world.deliveries == 0
    alice.accepts_strangers = True
    other.link(alice)
    world.run(20)
    assert world.deliveries > 0


@pytest.mark.parametrize("kind", ["udp4", "tcp4"])
def test_a_forwarded_port_lets_everybody_in(kind: str) -> None:
    world = World(seed=1)
    nat = world.nat(NatKind.SYMMETRIC, PUBLIC_IP, ["192.168.0.2"])
    alice = world.node("192.168.0.2", kinds=(kind,))
    alice.accepts_strangers = True
    bob = world.node("10.0.0.1", kinds=(kind,))
    link = bob.link(alice, [nat.forward(42424, alice.paths[0])])
    world.run_until(lambda: link.state.value == "up", 5)


def test_from_behind_a_nat_nothing_reaches_its_own_public_address() -> None:
    world = World(seed=1)
    nat = world.nat(NatKind.FULL_CONE, PUBLIC_IP, ["192.168.0.2", "192.168.0.3"])
    alice, bob = world.node("192.168.0.2"), world.node("192.168.0.3")
    alice.link(bob, [nat.forward(42424, bob.paths[0])])
    world.run(5)
    assert world.deliveries == 0


def test_a_connection_through_a_nat_that_restarts_is_half_open() -> None:
    world = World(seed=1)
    nat = world.nat(NatKind.PORT_RESTRICTED, PUBLIC_IP, ["192.168.0.2"])
    alice = world.node("192.168.0.2", kinds=("tcp4",))
    bob = world.node("10.0.0.1", kinds=("tcp4",))
    bob.accepts_strangers = True
    link = alice.link(bob)
    world.run(5)
    assert link.state.value == "up"
    nat.restart()
    before = world.deliveries
    link.send_frame(b"\x01", b"lost")
    alice.settle()
    world.run(5)
    assert world.deliveries == before
