"""M5: which queues are worth a word to those who fill them."""

import msgspec
import pytest

from rookery.mesh.quality.path_quality import StreamMeasure
from rookery.mesh.quality.standing_queue import STANDING_S, StandingQueues
from rookery.wire.link.path import Path, net_path

STREAM = net_path("tcp", "192.0.2.1", 7000)
CALM = StreamMeasure(0.01, 0.001, 10, 0, 1e6, is_app_limited=False)
RATE = 1_000_000
LONG = int(RATE * STANDING_S * 2)


def held(unsent: int, rate: float | None = RATE) -> StreamMeasure:
    return msgspec.structs.replace(CALM, unsent=unsent, rate=rate)


class System:
    """Tells what it is told to, and counts how often it was asked."""

    def __init__(self) -> None:
        self.measure: StreamMeasure | None = CALM
        self.asked = 0

    def __call__(self, path: Path) -> StreamMeasure | None:
        self.asked += 1
        return self.measure


def seen(queues: StandingQueues, begin: float, end: float) -> list[bool]:
    """What is said each millisecond."""
    count = round((end - begin) * 1000)
    return [queues.is_long(STREAM, begin + index / 1000) for index in range(count)]


def test_a_queue_that_stays_is_long_after_20_ms_and_until_it_is_gone() -> None:
    system = System()
    queues = StandingQueues(system)
    assert not any(seen(queues, 0.0, 0.1))
    system.measure = held(LONG)
    said = seen(queues, 0.1, 0.2)
    assert not any(said[:20])
    assert all(said[30:])
    system.measure = CALM
    assert not any(seen(queues, 0.21, 0.3))


def test_a_burst_that_drains_in_between_is_nobodys_concern() -> None:
    system = System()
    queues = StandingQueues(system)
    for turn in range(10):
        system.measure = held(LONG)
        assert not any(seen(queues, turn * 0.03, turn * 0.03 + 0.015))
        system.measure = CALM
        assert not any(seen(queues, turn * 0.03 + 0.015, turn * 0.03 + 0.03))


@pytest.mark.parametrize("measure", [held(LONG // 4), held(LONG, rate=None), None])
def test_what_is_gone_in_a_moment_or_not_known_is_not_long(measure: StreamMeasure | None) -> None:
    system = System()
    system.measure = measure
    assert not any(seen(StandingQueues(system), 0.0, 0.2))


def test_the_system_is_not_asked_for_every_packet() -> None:
    system = System()
    queues = StandingQueues(system)
    for index in range(10_000):
        queues.is_long(STREAM, index / 100_000)
    assert system.asked <= 21


def test_without_somebody_who_measures_nothing_is_long() -> None:
    assert not any(seen(StandingQueues(None), 0.0, 0.2))


def test_streams_are_told_apart_and_not_remembered_for_ever() -> None:
    busy: set[Path] = {STREAM}
    queues = StandingQueues(lambda path: held(LONG) if path in busy else CALM)
    other = net_path("tcp", "192.0.2.2", 7000)
    for index in range(10):
        now = index / 100
        assert queues.is_long(STREAM, now) == (now >= STANDING_S)
        assert not queues.is_long(other, now)
    for port in range(3000):
        queues.is_long(net_path("tcp", "192.0.2.3", port + 1), 1.0)
    assert not queues.is_long(STREAM, 1.0), "it was forgotten, and begins anew"
