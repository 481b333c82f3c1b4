"""The seeded network."""

from random import Random

import pytest

from rookery.sim.network.network import Conditions, Network
from rookery.wire.link.path import NetPath

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


def datagrams(network: Network, count: int, size: int) -> list[float]:
    return [time for _ in range(count) for time in network.arrivals(HERE, THERE, 0.0, size)]


def test_a_rate_spaces_datagrams_and_drops_those_that_find_the_queue_full() -> None:
    conditions = Conditions(delay_s=0.0, rate=1000.0, queue_size=500)
    network = Network(Random(1), conditions)
    assert datagrams(network, 10, 100) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    pipe = network.pipe("10.0.0.1", "10.0.0.2")
    assert (pipe.dropped, pipe.queued(0.0), pipe.queued(9.0)) == (5, 500, 0)
    assert list(network.arrivals(HERE, THERE, 0.2, 100)) == [0.6]


def test_a_stream_waits_for_the_rate_and_loses_nothing() -> None:
    network = Network(Random(1), Conditions(delay_s=0.0, rate=1000.0, queue_size=500))
    times = [
        time for _ in range(10) for time in network.arrivals(STREAM_HERE, STREAM_THERE, 0.0, 100)
    ]
    assert times == pytest.approx([number / 10 for number in range(1, 11)])


def test_a_loss_costs_a_stream_time() -> None:
    network = Network(Random(1), Conditions(delay_s=0.1, loss=0.5))
    times = [next(iter(network.arrivals(STREAM_HERE, STREAM_THERE, 0.0))) for _ in range(100)]
    assert times[0] < 1.0 < times[-1] < 4.0


def test_some_packets_are_held_back() -> None:
    network = Network(Random(1), Conditions(reordering=0.3, reordering_s=1.0))
    late = [time for time in arrivals(network) if time > 1.0]
    assert 250 < len(late) < 350


def test_an_address_left_out_stands_for_any() -> None:
    network = Network(Random(1), Conditions())
    network.change(Conditions(delay_s=1.0), source="10.0.0.1")
    network.change(Conditions(delay_s=2.0), target="10.0.0.1")
    assert arrivals(network, 1) == [1.0]
    assert list(network.arrivals(THERE, HERE, 0.0)) == [2.0]
    network.change(Conditions(delay_s=3.0), "10.0.0.1", "10.0.0.2")
    assert arrivals(network, 1) == [3.0]


def test_a_block_is_one_way_and_leaves_the_weather_alone() -> None:
    network = Network(Random(1), Conditions(delay_s=0.5))
    network.block("10.0.0.1", "10.0.0.2")
    assert arrivals(network) == []
    assert list(network.arrivals(THERE, HERE, 0.0)) == [0.5]
    network.unblock("10.0.0.1", "10.0.0.2")
    network.unblock("10.0.0.1", "10.0.0.2")
    assert arrivals(network, 1) == [0.5]


def test_one_kind_of_path_is_blocked_alone() -> None:
    network = Network(Random(1), Conditions())
    network.block(target="10.0.0.2", kind="udp4")
    assert arrivals(network) == []
    assert list(network.arrivals(STREAM_HERE, STREAM_THERE, 0.0)) == [0.001]


def test_a_partition_separates_its_groups_and_no_other_addresses() -> None:
    network = Network(Random(1), Conditions())
    other = NetPath("udp4", "10.0.0.3", 1)
    network.partition(["10.0.0.1"], ["10.0.0.2"])
    assert arrivals(network) == []
    assert len(network.arrivals(HERE, other, 0.0)) == len(network.arrivals(other, HERE, 0.0)) == 1
    network.block("10.0.0.1", "10.0.0.3")
    network.heal()
    assert len(network.arrivals(HERE, other, 0.0)) == 1
    assert arrivals(network, 1) == [0.001]
