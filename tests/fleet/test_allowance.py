"""Allowances."""

from rookery.fleet.allowance import Allowance


def taken(allowance: Allowance, tries: int, now: float) -> int:
    return sum(allowance.take(now) for _ in range(tries))


def test_a_burst_then_the_rate() -> None:
    allowance = Allowance(2.0, 5.0, 100.0)
    assert taken(allowance, 10, 100.0) == 5
    assert taken(allowance, 10, 101.0) == 2
    assert taken(allowance, 10, 1000.0) == 5


def test_a_clock_set_back_does_not_stop_it_for_long() -> None:
    allowance = Allowance(2.0, 5.0, 100_000.0)
    assert taken(allowance, 10, 100_000.0) == 5
    assert taken(allowance, 10, 10.0) == 0
    assert taken(allowance, 10, 11.0) == 2
