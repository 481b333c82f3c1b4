"""Silence, judged with clocks that people set."""

from dataclasses import dataclass

from rookery.hub.clock import HubClock

SILENT_AFTER_S = 60.0


@dataclass
class Clocks:
    wall_s: float = 1_700_000_000.0
    monotonic_s: float = 50.0

    def wall(self) -> float:
        return self.wall_s

    def monotonic(self) -> float:
        return self.monotonic_s

    def pass_by(self, seconds: float) -> None:
        self.wall_s += seconds
        self.monotonic_s += seconds


def pair() -> tuple[Clocks, HubClock]:
    clocks = Clocks()
    return clocks, HubClock(SILENT_AFTER_S, clocks.wall, clocks.monotonic)


def test_three_intervals_without_a_report_are_silence() -> None:
    """F6"""
    clocks, clock = pair()
    seen = clock.now()
    clocks.pass_by(SILENT_AFTER_S)
    assert not clock.is_silent(seen)
    clocks.pass_by(1.0)
    assert clock.is_silent(seen)


def test_nobody_falls_silent_because_the_clock_was_set_forward() -> None:
    clocks, clock = pair()
    seen = clock.now()
    clocks.wall_s += 3600.0
    assert not clock.is_silent(seen)
    assert clock.steps == 1


def test_after_a_step_those_who_do_not_report_again_are_silent() -> None:
    clocks, clock = pair()
    seen = clock.now()
    clocks.wall_s += 3600.0
    assert not clock.is_silent(seen)
    clocks.pass_by(SILENT_AFTER_S + 1.0)
    assert clock.is_silent(seen)
    assert not clock.is_silent(clock.now())


def test_a_report_out_of_the_future_is_one_from_before_the_clock_was_set_back() -> None:
    clocks, clock = pair()
    seen = clock.now()
    clocks.wall_s -= 3600.0
    assert not clock.is_silent(seen)
    clocks.pass_by(SILENT_AFTER_S + 1.0)
    assert clock.is_silent(seen)


def test_a_clock_that_is_slewed_makes_no_step() -> None:
    clocks, clock = pair()
    for _ in range(100):
        clocks.pass_by(10.0)
        clocks.wall_s += 0.005
        clock.now()
    assert clock.steps == 0
