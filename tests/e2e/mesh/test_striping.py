"""M6, R10: what several routes are worth to a tunnel, with real sockets and narrow links.

Rates are so low that processors are not what limits them, and the best of a few transfers counts:
other programs can only ever take something away.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.mesh.haul import Haul, await_ways, haul
from tests.e2e.mesh.lab import Weather, is_possible

pytestmark = [
    pytest.mark.skipif(not is_possible(), reason="needs root and /dev/net/tun"),
    pytest.mark.slow,
    pytest.mark.xdist_group("lab"),
]

RATE = 1_250_000  # bytes per second: 10 Mbit/s
DELAY_S = 0.005  # of each link, so that a round trip takes 20 ms
SIZE = 6_000_000
TRIES = 12  # one is enough where nobody else works

MESSAGES = 400
MESSAGE_SIZE = 200
INTERVAL_S = 0.01
LOSS = 0.3


def narrow(*, rate: float = RATE, delay_s: float = DELAY_S) -> Weather:
    return Weather(rate=rate, delay_s=delay_s)


@contextlib.contextmanager
def hauling(folder: Path, *weathers: Weather) -> Iterator[Haul]:
    with haul(folder, weathers) as ready:
        await_ways(ready, len(weathers))
        yield ready


def best_rate(hauling: Haul, size: int, enough: float) -> float:
    """Of a few transfers, until one is quick enough; bytes per second."""
    best = 0.0
    for _ in range(TRIES):
        hauling.begin(size)
        hauled, _ = hauling.end()
        best = max(best, size / hauled.seconds)
        if best >= enough:
            break
    return best


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> float:
    """What the best of the routes carries alone, bytes per second."""
    with hauling(tmp_path_factory.mktemp("one"), narrow()) as alone:
        rate = best_rate(alone, SIZE, 0.9 * RATE)
    assert rate > 0.7 * RATE
    return rate


@pytest.mark.parametrize(
    ("other", "share_min"),
    [
        pytest.param(narrow(), 1.7, id="equal"),
        pytest.param(narrow(delay_s=2 * DELAY_S), 2 * 0.85, id="twice the round trip"),
        pytest.param(narrow(delay_s=10 * DELAY_S), 0.93, id="ten times the round trip"),
        pytest.param(narrow(rate=RATE / 10), 0.93, id="a tenth of the rate"),
    ],
)
def test_a_second_route_adds_what_it_can_and_takes_nothing_away(
    tmp_path: Path,
    one: float,
    other: Weather,
    share_min: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with hauling(tmp_path, narrow(), other) as both:
        # As long as it takes one route, so that beginnings weigh the same.
        rate = best_rate(both, int(SIZE * share_min), share_min * one)
        with capsys.disabled():
            print(f"\none route {one / 1e6:.2f} MB/s, with the other {rate / one:.2f} of that")
            if rate < share_min * one:
                print(both.explained())
    assert rate >= share_min * one


def test_a_relay_whose_queue_stands_says_so_and_little_is_lost_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M5: the network behind it holds next to nothing, so that what waits does so in the relay."""
    with hauling(tmp_path, Weather(delay_s=DELAY_S)) as alone:
        shallow = Weather(rate=RATE, delay_s=DELAY_S, queue_s=0.01)
        alone.lab.from_to(alone.host(alone.relays[0]), alone.target.host, shallow)
        best = 0.0
        for _ in range(TRIES):
            best = max(best, best_rate(alone, SIZE, 0.7 * RATE))
            (path,) = alone.paths()
            if path.marks:
                break
        with capsys.disabled():
            print(f"\n{path.marks} packets marked, {best / RATE:.2f} of the rate used")
    assert path.marks > 0
    assert best > 0.6 * RATE


def late(trips: list[float]) -> float:
    """The trip that one of a hundred exceeds."""
    return trips[len(trips) * 99 // 100]


def test_redundant_small_messages_do_not_feel_the_losses_of_one_route(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Small packets travel as datagrams, so that what a link loses is really lost."""
    with hauling(tmp_path, Weather(delay_s=DELAY_S), Weather(delay_s=DELAY_S)) as both:

        def chat(mode: str) -> float:
            return late(both.chat(MESSAGES, size=MESSAGE_SIZE, interval_s=INTERVAL_S, mode=mode))

        clear_s = max(chat("single"), chat("redundant"))
        relay = both.relays[0]
        lossy = Weather(delay_s=DELAY_S, loss=LOSS)
        both.lab.between(both.source.host, both.host(relay), lossy)
        redundant_s = min(chat("redundant") for _ in range(2))
        good, *bad = sorted(both.paths(), key=lambda path: path.label == f"over {relay.name}")
        with capsys.disabled():
            print(
                f"\np99 of small messages: {clear_s * 1e3:.0f} ms without losses, "
                f"{redundant_s * 1e3:.0f} ms when one route loses {LOSS:.0%} and all go by both"
            )
        # Datagrams are lost; once the link does without them, they are late instead; or it is
        # bad enough to be no way at all for a while.
        assert good.label != f"over {relay.name}"
        for path in bad:
            assert path.lost_packets > MESSAGES * LOSS / 4 or path.rtt_s > 1.5 * good.rtt_s
        assert redundant_s < 2 * clear_s + 0.02
