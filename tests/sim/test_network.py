"""The seeded network."""

from random import Random

from rookery.sim.network import Conditions, Network
from rookery.wire.path import NetPath

HERE, THERE = NetPath("udp4", "10.0.0.1", 1), NetPath("udp4", "10.0.0.2", 1)
STREAM_HERE, STREAM_THERE = NetPath("tcp4", "10.0.0.1", 1), NetPath("tcp4", "10.0.0.2", 1)


def arrivals(network: Network, count: int = 1000) -> list[float]:
    return [time for _ in range(count) for time in network.arrivals(HERE, THERE, 0.0)]


def test_the_default_delivers_everything_after_a_millisecond() -> None:
    assert arrivals(Network(Random(1), Conditions())) == [0.001] * 1000


def test_loss_duplication_and_jitter_are_what_they_say() -> None:
    conditions = Conditions(delay_s=1.0, jitter_s=0.5, loss=0.2, duplication=0.1)
    times = arrivals(Network(Random(1), conditions), 10_000)
    assert 8500 < len(times) < 9100
    assert 1.0 <= min(times) < 1.01
    assert 1.49 < max(times) < 1.5
    assert times != sorted(times)


def test_the_same_seed_gives_the_same_network() -> None:
    conditions = Conditions(jitter_s=0.5, loss=0.2)
    runs = [arrivals(Network(Random(seed), conditions)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_connections_neither_lose_nor_reorder() -> None:
    network = Network(Random(1), Conditions(jitter_s=0.5, loss=0.9))
    times = [
        time
        for number in range(1000)
        for time in network.arrivals(STREAM_HERE, STREAM_THERE, number / 1000)
    ]
    assert len(times) == 1000
    assert times == sorted(times)


def test_the_weather_changes_between_two_or_everywhere() -> None:
    network = Network(Random(1), Conditions())
    network.change(Conditions(blocked=True), "10.0.0.1", "10.0.0.2")
    assert arrivals(network) == []
    assert list(network.arrivals(THERE, HERE, 0.0)) == [0.001]
    network.change(Conditions(delay_s=3.0))
    assert arrivals(network, 1) == [3.0]
