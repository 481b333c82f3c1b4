"""M5: rate and window of a path, against a road of known rate in virtual time."""

import pytest

from rookery.mesh.tunnel.explanation import TunnelPathRow
from rookery.mesh.tunnel.paths.path import STREAM_MTU, TunnelPathKind
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld, pattern


def row(world: TunnelWorld) -> TunnelPathRow:
    return world.near.tunnel.explain().paths[0]


@pytest.mark.parametrize("kind", list(TunnelPathKind))
def test_the_rate_and_the_round_trip_are_found(kind: TunnelPathKind) -> None:
    mtu = STREAM_MTU if kind is TunnelPathKind.STREAM else 1100
    world = TunnelWorld([Road(1, Lane(0.02, rate=500_000), kind=kind, mtu=mtu)])
    world.near.send(pattern(2_000_000))
    world.run(limit_s=3.0)
    found = row(world)
    assert found.phase == "steady"
    assert found.rate == pytest.approx(500_000, rel=0.1)
    # The first packets take a while to leave.
    assert found.rtt_min_s == pytest.approx(0.04, abs=0.012)
    assert found.rtt_s < 0.1
    assert found.window < 4 * 500_000 * 0.04


def test_the_minimum_is_measured_anew_in_an_ebb() -> None:
    """The path got longer; nobody would notice otherwise."""
    lane = Lane(0.01, rate=200_000)
    world = TunnelWorld([Road(1, lane, Lane(0.01))])
    world.near.send(pattern(6_000_000))
    world.run(limit_s=2.0)
    assert row(world).rtt_min_s == pytest.approx(0.02, abs=0.008)
    lane.delay_s = 0.06
    phases = set()
    for _ in range(160):
        world.run(limit_s=0.1)
        phases.add(row(world).phase)
    assert "ebb" in phases
    assert row(world).rtt_min_s > 0.06


def test_losses_without_a_queue_do_not_lower_the_rate() -> None:
    """M5: 20 % are lost, and what is left of the rate is used."""
    world = TunnelWorld([Road(1, Lane(0.01, loss=0.2, rate=500_000))])
    stream = world.near.send(pattern(1_000_000))
    took = world.run(lambda: stream in world.far.finished)
    assert took < 1_000_000 / 500_000 * 1.6


def test_a_program_that_writes_little_does_not_look_like_a_slow_path() -> None:
    world = TunnelWorld([Road(1, Lane(0.02, rate=1e6))])
    stream = world.near.send(b"begin", finish=False)
    for index in range(50):
        world.at(index * 0.02, lambda: world.near.write_on(stream, bytes(200)))
    world.run(limit_s=1.5)
    world.near.write_on(stream, bytes(1_000_000), finish=True)
    took = world.run(lambda: stream in world.far.finished)
    assert took < 1.5


@pytest.mark.parametrize("longer_s", [0.0, 0.01])
def test_a_path_that_was_taken_for_slow_is_found_to_be_quick_within_a_second(
    longer_s: float,
) -> None:
    """M5: a busy machine, or somebody else's traffic, may have hidden what it can carry."""
    lane = Lane(0.01, rate=200_000)
    world = TunnelWorld([Road(1, lane, Lane(0.01), mtu=32768)])
    world.near.send(pattern(10_000_000))
    world.run(limit_s=2.0)
    assert row(world).rate < 250_000
    lane.rate = 2_000_000
    lane.delay_s += longer_s
    world.run(limit_s=1.25)
    assert row(world).rate > 1_500_000


def test_marks_keep_the_path_emptier_than_it_could_be() -> None:
    """M5: what a relay asks for lasts as long as it asks."""
    world = TunnelWorld([Road(1, Lane(0.02, rate=500_000))])
    stream = world.near.send(pattern(2_000_000))
    world.run(limit_s=1.0)
    world.roads[1].there.mark_s = 0.0
    world.run(limit_s=0.3)
    read = len(world.far.read[stream])
    world.run(limit_s=0.5)
    assert len(world.far.read[stream]) - read < 0.9 * 250_000
    world.roads[1].there.mark_s = None
    world.run(limit_s=1.0)
    read = len(world.far.read[stream])
    world.run(limit_s=0.2)
    assert len(world.far.read[stream]) - read > 0.9 * 100_000 * 0.9
