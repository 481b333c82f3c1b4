"""Towers in the deterministic world."""

import pytest

from rookery.errors import UnreachableError
from rookery.sim.crow_world import CrowWorld, SimulatedTower
from rookery.sim.network.network import Conditions
from rookery.wire.crow.packet import CrowPacket
from rookery.wire.link.path import NetPath

ROUGH = Conditions(jitter_s=0.1, loss=0.3, duplication=0.3)


def chain(world: CrowWorld) -> list[SimulatedTower]:
    """Three towers: a datagram to the second, a serial line to the third."""
    stations = [world.station("10.0.0.1"), world.station("10.0.0.2", forwards=True)]
    stations.append(world.station())
    world.line(stations[1], stations[2], 42)
    return stations


def test_a_packet_goes_by_datagram_and_by_line_and_its_answer_back() -> None:
    """C1, C2."""
    world = CrowWorld()
    near, middle, far = chain(world)
    ticket = near.send(middle.hop + bytes([42]), b"over wire", qos=2)
    world.run_until(lambda: ticket in near.outcomes)
    assert far.data == [b"over wire"]
    assert far.arrived[0].return_address == bytes([42]) + near.hop
    far.send(far.arrived[0].return_address, b"back", qos=1)
    world.run(1)
    assert near.data == [b"back"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_world(seed: int) -> None:
    def history() -> list[object]:
        world = CrowWorld(seed, ROUGH)
        near, middle, far = chain(world)
        for number in range(20):
            near.send(middle.hop + bytes([42]), b"%d" % number, qos=number % 3)
        world.run(30)
        return [near.notices, near.sent, middle.sent, far.notices]

    assert history() == history()


def test_a_second_tower_at_an_address_replaces_the_first() -> None:
    world = CrowWorld()
    sender, first = world.station("10.0.0.1"), world.station("10.0.0.2")
    second = world.station("10.0.0.2")
    sender.send(first.hop, b"hello")
    world.run(1)
    assert (first.data, second.data) == ([], [b"hello"])


def test_what_leads_nowhere_is_lost() -> None:
    world = CrowWorld()
    station = world.station("10.0.0.1")
    station.send(b"\x0c\x0a\x00", b"half an address")
    station.send(b"\x0c\x0a\x00\x00\x63\x27\x19", b"nobody there")
    world.run(1)
    assert station.tower.dropped == {"short address": 1}
    with pytest.raises(UnreachableError):
        world.run_until(lambda: bool(station.arrived))


def test_bytes_that_are_no_packet_are_counted() -> None:
    world = CrowWorld()
    station = world.station("10.0.0.1")
    assert station.path is not None
    source = NetPath("udp4", "10.0.0.9", 1)
    world.send(source, station.path, b"short")
    world.send(
        source, station.path, CrowPacket(0, False, station.hop, 0, 0, 0, 0, b"x").serialize()
    )
    world.run(1)
    assert station.tower.dropped == {"no packet": 1}
    assert station.data == [b"x"]
