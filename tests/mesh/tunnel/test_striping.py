"""M6, R10: what several paths are worth, in virtual time."""

from collections.abc import Callable

import pytest

from rookery.mesh.tunnel.paths.path import STREAM_MTU, TunnelPathKind
from rookery.mesh.tunnel.paths.scheduler import Mode
from tests.mesh.tunnel.tunnel_world import Lane, Road, TunnelWorld

pytestmark = pytest.mark.slow

RATE = 1_000_000.0
SIZE = 2_500_000


def datagrams(number: int, rtt_s: float, rate: float = RATE, loss: float = 0.0) -> Road:
    return Road(number, Lane(rtt_s / 2, loss=loss, rate=rate))


def stream(number: int, rtt_s: float, rate: float = RATE) -> Road:
    return Road(number, Lane(rtt_s / 2, rate=rate), kind=TunnelPathKind.STREAM, mtu=STREAM_MTU)


Kind = Callable[[int, float, float], Road]
KINDS = pytest.mark.parametrize("kind", [datagrams, stream])


def rate_of(*roads: Road, mode: Mode = Mode.AUTO) -> float:
    """Bytes per second of one long stream."""
    world = TunnelWorld(list(roads), mode=mode)
    number = world.near.send(bytes(SIZE))
    return SIZE / world.run(lambda: number in world.far.finished)


@KINDS
def test_two_equal_paths_are_worth_at_least_1_7(kind: Kind) -> None:
    """M6"""
    one = rate_of(kind(1, 0.02, RATE))
    both = rate_of(kind(1, 0.02, RATE), kind(2, 0.02, RATE))
    print(f"two equal paths ({kind.__name__}): {both / one:.2f} of one")
    assert both >= 1.7 * one


@KINDS
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((0.01, RATE), (0.1, RATE), id="ten times the round trip"),
        pytest.param((0.02, RATE), (0.02, RATE / 10), id="a tenth of the rate"),
        pytest.param((0.02, RATE), (0.2, RATE / 10), id="both"),
    ],
)
def test_a_much_worse_path_beside_it_never_slows_the_best(
    kind: Kind, first: tuple[float, float], second: tuple[float, float]
) -> None:
    """R10"""
    one = rate_of(kind(1, *first))
    both = rate_of(kind(1, *first), kind(2, *second))
    print(f"beside a much worse path ({kind.__name__}): {both / one:.2f} of one")
    assert both >= 0.99 * one


@KINDS
def test_round_trips_within_twice_each_other_add_up(kind: Kind) -> None:
    """M6: at least 0.85 of the sum."""
    parts = [rate_of(kind(1, 0.02, RATE)), rate_of(kind(2, 0.04, RATE))]
    both = rate_of(kind(1, 0.02, RATE), kind(2, 0.04, RATE))
    print(f"20 and 40 ms ({kind.__name__}): {both / sum(parts):.2f} of the sum")
    assert both >= 0.85 * sum(parts)


def test_three_paths_add_up() -> None:
    roads = [datagrams(number, 0.02 + number / 200) for number in (1, 2, 3)]
    three = rate_of(*roads)
    assert three >= 0.8 * 3 * RATE


def delays(world: TunnelWorld, count: int, interval_s: float) -> list[float]:
    """How long small messages of one stream take, each from its writing to its reading."""
    number = world.near.send(b"begin", finish=False, priority=3)
    world.run(limit_s=1.0)
    written: list[float] = []
    taken: list[float] = []
    seen = [0]

    def arrived(stream: int, data: bytes, now: float) -> None:
        if stream == number:
            seen[0] += len(data)
            while len(taken) < seen[0] // 100:
                taken.append(now - written[len(taken)])

    world.far.on_data = arrived
    for index in range(count):

        def write() -> None:
            written.append(world.now)
            world.near.write_on(number, bytes(100))

        world.at(world.now + index * interval_s, write)
    world.run(lambda: len(taken) == count)
    return sorted(taken)


def p99(values: list[float]) -> float:
    return values[len(values) * 99 // 100]


def test_redundant_hides_the_losses_of_one_path() -> None:
    """M6: 30 % lost on one of two, and messages do not notice."""
    good, bad = datagrams(1, 0.04), datagrams(2, 0.03, loss=0.3)
    both = delays(TunnelWorld([good, bad], mode=Mode.REDUNDANT), 300, 0.02)
    alone = delays(TunnelWorld([datagrams(2, 0.03, loss=0.3)]), 300, 0.02)
    print(f"p99 {p99(both) * 1e3:.1f} ms by both ways, {p99(alone) * 1e3:.1f} ms by the bad one")
    assert p99(both) <= 0.02 + 0.005
    assert p99(alone) > 2 * p99(both)


@KINDS
def test_small_messages_stay_quick_under_bulk_load(kind: Kind) -> None:
    """M5: p99 within the way itself and a short queue."""
    world = TunnelWorld([kind(1, 0.02, RATE)])
    world.near.send(bytes(60_000_000))
    quick = delays(world, 150, 0.02)
    print(f"p99 under bulk load ({kind.__name__}): {p99(quick) * 1e3:.1f} ms")
    assert p99(quick) < 0.01 + 0.06


def test_two_bulk_streams_share_by_priority() -> None:
    """M5"""
    world = TunnelWorld([datagrams(1, 0.02)])
    low = world.near.send(bytes(20_000_000), priority=2)
    high = world.near.send(bytes(20_000_000), priority=4)
    world.run(limit_s=3.0)
    share = len(world.far.read[high]) / len(world.far.read[low])
    assert 3.0 < share < 5.0
