"""M11: datagrams of a tunnel."""

import pytest

from rookery.errors import UsageError
from rookery.mesh.tunnel.limits import TunnelLimits
from rookery.mesh.tunnel.paths.path import STREAM_MTU, TunnelPathKind
from rookery.wire.mesh.forward import DatagramClass
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld

UDP = Road(1, Lane(0.01))


def tcp(rate: float | None = None) -> Road:
    return Road(2, Lane(0.01, rate=rate), kind=TunnelPathKind.STREAM, mtu=STREAM_MTU)


def udp(rate: float | None = None) -> Road:
    return Road(1, Lane(0.02, rate=rate))


def fates(world: TunnelWorld) -> dict[str, int]:
    return dict(world.near.tunnel.explain().counts)


@pytest.mark.parametrize(
    ("roads", "size", "datagram_class", "arrives"),
    [
        ([udp(), tcp()], 100, DatagramClass.DROP, True),
        ([tcp()], 100, DatagramClass.DROP, False),
        ([tcp()], 100, DatagramClass.FALLBACK, True),
        ([tcp()], 100, DatagramClass.RELIABLE_OK, True),
        ([udp()], 1070, DatagramClass.DROP, True),
        ([udp()], 1080, DatagramClass.DROP, False),
        ([udp(), tcp()], 5000, DatagramClass.FALLBACK, True),
        ([udp(), tcp()], 60_000, DatagramClass.RELIABLE_OK, True),
    ],
)
def test_classes_choose_their_path(
    roads: list[Road], size: int, datagram_class: DatagramClass, arrives: bool
) -> None:
    """M11"""
    world = TunnelWorld(roads)
    world.near.tunnel.send_datagram(bytes(size), datagram_class)
    world.run(limit_s=1.0)
    assert world.far.datagrams == ([bytes(size)] if arrives else [])
    assert fates(world) == ({"sent": 1} if arrives else {"dropped_no_way": 1})


def test_a_lost_datagram_is_not_repeated() -> None:
    world = TunnelWorld([Road(1, Lane(0.01, loss=0.5))])
    for index in range(100):
        world.at(index * 0.01, lambda: world.near.tunnel.send_datagram(b"x"))
    world.run(limit_s=5.0)
    assert 20 < len(world.far.datagrams) < 80


def test_what_is_too_late_is_dropped() -> None:
    """M11: while the path is full its deadline passes."""
    world = TunnelWorld([udp(rate=20_000.0)])
    world.near.send(bytes(500_000))
    world.run(limit_s=1.0)
    for _ in range(20):
        world.near.tunnel.send_datagram(bytes(1000), deadline_s=0.1)
    world.run(limit_s=3.0)
    counts = fates(world)
    assert counts["dropped_deadline"] > 5
    assert counts["dropped_deadline"] + counts.get("sent", 0) == 20


def test_the_oldest_gives_way_when_too_many_wait() -> None:
    world = TunnelWorld([], limits=TunnelLimits(datagrams_max=5))
    for index in range(8):
        world.near.tunnel.send_datagram(b"%d" % index)
    world.up(udp())
    world.run(limit_s=1.0)
    assert world.far.datagrams == [b"3", b"4", b"5", b"6", b"7"]
    assert fates(world) == {"dropped_queue": 3, "sent": 5}


def test_what_fits_no_packet_is_the_senders_mistake() -> None:
    with pytest.raises(UsageError):
        TunnelWorld([tcp()]).near.tunnel.send_datagram(bytes(61_441))
