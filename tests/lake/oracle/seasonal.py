"""The same hour of weeks before, in plain Python, one hour to come at a time."""

from collections.abc import Mapping
from typing import NamedTuple

WEIGHTS = {1: 100, 2: 80, 3: 64, 4: 51, 5: 41, 6: 33, 7: 26, 8: 21}


class Expected(NamedTuple):
    value: int
    high: int
    values: list[int]
    samples: int
    is_weekly: bool


def expected(hours: Mapping[int, tuple[int, int]], now: int, target: int) -> Expected | None:
    """From value and samples by the hour's number; None: too little is known."""
    weekly = {k: target - 168 * k for k in WEIGHTS}
    known = {k: hours[at] for k, at in weekly.items() if at in hours and at < now}
    if len(known) >= 2:
        return _weighed([(*each, WEIGHTS[k]) for k, each in known.items()], is_weekly=True)
    daily = [at for at in hours if now - 168 <= at < now and (target - at) % 24 == 0]
    if len(daily) < 3:
        return None
    # Days count from now on, not from the hour to come: both days ahead rest on the same.
    weights = {at: WEIGHTS[-(-(now - at) // 24)] for at in daily}
    return _weighed([(*hours[at], weights[at]) for at in daily], is_weekly=False)


def _weighed(found: list[tuple[int, int, int]], *, is_weekly: bool) -> Expected:
    found.sort()
    total = sum(weight for _, _, weight in found)

    def quantile(tenths: int) -> int:
        so_far = 0
        for value, _, weight in found:
            so_far += weight
            if 10 * so_far >= tenths * total:
                return value
        raise AssertionError

    values = [value for value, _, _ in found]
    samples = sum(some for _, some, _ in found)
    return Expected(quantile(5), quantile(9), values, samples, is_weekly)


def confidence_ppm(found: Expected, agreeing: int) -> int:
    """A quarter for each of four that agree; half of that for days."""
    evidence = len(found.values)
    whole = min(evidence, 4) * 250_000 * agreeing // evidence
    return whole if found.is_weekly else whole // 2
