"""Allowances."""

from rookery.fleet.reports.rate_limits import RateAllowance


def taken(allowance: RateAllowance, tries: int, now: float) -> int:
    return sum(allowance.take(now) for _ in range(tries))


def test_a_burst_then_the_rate() -> None:
    allowance = RateAllowance(2.0, 5.0, 100.0)
    assert taken(allowance, 10, 100.0) == 5
    assert taken(allowance, 10, 101.0) == 2
    assert taken(allowance, 10, 1000.0) == 5


def test_a_clock_set_back_does_not_stop_it_for_long() -> None:
    allowance = RateAllowance(2.0, 5.0, 100_000.0)
    assert taken(allowance, 10, 100_000.0) == 5
    assert taken(allowance, 10, 10.0) == 0
    assert taken(allowance, 10, 11.0) == 2
