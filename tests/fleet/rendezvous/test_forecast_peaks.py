"""P5: forecasts flatten the peaks of a fleet, and wrong ones do bounded harm.

Virtual time, the placement that ships, one published seed; `herd` says what is simulated. The
bound: no choice falls on a server that is more than FORECAST_MAX fuller than the emptiest one.
"""

from collections.abc import Callable, Sequence
from random import Random

import msgspec
import pytest

from rookery.errors import RemoteError
from rookery.fleet.rendezvous.load_forecast import LoadForecast
from rookery.fleet.rendezvous.placement import FORECAST_MAX, GrowthForecast, ServerLoad
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.wire.fleet import forecast as wire
from tests.fleet.rendezvous.client_waves import (
    BEGIN_S,
    DAY_S,
    HOUR_S,
    SEATS,
    Day,
    day,
    forecast_from,
    nobody,
)

LAKE = Identity.generate((0x40, 0x3A), Random(1).randbytes)
SEAT = 1 / SEATS

Spoilt = Callable[[wire.Forecast], wire.Forecast]


def followed(forecast: wire.Forecast, number: int, *, lasts_s: int = DAY_S) -> LoadForecast:
    """Issued six hours before the day begins, when the servers begin to fill."""
    issued_ms = (BEGIN_S + number * DAY_S - 6 * HOUR_S) * 1000
    expires_ms = issued_ms + (lasts_s + 6 * HOUR_S) * 1000
    found = LoadForecast({LAKE.hashname})
    found.follow(seal(forecast, LAKE, issued_ms=issued_ms, expires_ms=expires_ms))
    return found


@pytest.fixture(scope="module")
def past() -> list[Day]:
    return [day(nobody, number) for number in range(3)]


@pytest.fixture(scope="module")
def without() -> Day:
    """The fourth day, when nobody asks an analysis."""
    return day(nobody, 3)


def test_forecasts_make_the_peak_lower_day_after_day(past: list[Day]) -> None:
    """P5: each day is forecast from those before it, its own effects included."""
    days = list(past)
    for number in range(3, 6):
        unadvised = day(nobody, number)
        advised = day(followed(forecast_from(days[-3:], number), number).forecast, number)
        assert advised.mean == pytest.approx(unadvised.mean, rel=0.02), "nobody was sent away"
        assert advised.peak / advised.mean < 0.95 * unadvised.peak / unadvised.mean
        assert advised.unevenness <= FORECAST_MAX
        days.append(advised)


def inverted(forecast: wire.Forecast) -> wire.Forecast:
    """Full where it will be empty."""
    return wire.Forecast(
        tuple(
            msgspec.structs.replace(each, shares=tuple(1 - share for share in each.shares))
            for each in forecast.servers
        )
    )


def shuffled(forecast: wire.Forecast) -> wire.Forecast:
    """Noise, with full confidence."""
    chance = Random(7)
    return wire.Forecast(
        tuple(
            msgspec.structs.replace(each, shares=tuple(chance.random() for _ in each.shares))
            for each in forecast.servers
        )
    )


def swapped(forecast: wire.Forecast) -> wire.Forecast:
    """What is true of one server is told of another."""
    names = [each.server for each in forecast.servers]
    return wire.Forecast(
        tuple(
            msgspec.structs.replace(each, server=name)
            for each, name in zip(forecast.servers, names[1:] + names[:1], strict=True)
        )
    )


@pytest.mark.parametrize("spoilt", [inverted, shuffled, swapped])
def test_wrong_forecasts_do_bounded_harm(spoilt: Spoilt, past: list[Day], without: Day) -> None:
    """P5"""
    misled = day(followed(spoilt(forecast_from(past, 3)), 3).forecast, 3)
    assert misled.unevenness <= FORECAST_MAX
    assert misled.peak <= without.peak + FORECAST_MAX + SEAT


def conspiracy(loads: Sequence[ServerLoad], _: float) -> GrowthForecast:
    """Whatever is fullest looks best, as far as anybody can make it look so."""
    fullest = max(loads, key=lambda load: load.seats_used + load.reserved).hashname
    return lambda hashname: 0.0 if hashname == fullest else 9.9


def test_the_worst_that_can_be_said_is_bounded_as_well(without: Day) -> None:
    """P5: even with every word of it against the fleet."""
    misled = day(conspiracy, 3)
    assert FORECAST_MAX - 2 * SEAT <= misled.unevenness <= FORECAST_MAX
    assert misled.peak <= without.peak + FORECAST_MAX + SEAT


def test_without_a_forecast_in_force_every_choice_is_the_same(
    past: list[Day], without: Day
) -> None:
    """P5: the same servers in the same order, whatever lies around."""
    expected = without.samples
    forecast = forecast_from(past, 3)
    stale = followed(forecast, 2, lasts_s=12 * HOUR_S)
    deleted = followed(forecast, 3)
    deleted.follow(None)
    untrusted = LoadForecast()
    with pytest.raises(RemoteError):
        untrusted.follow(seal(forecast, LAKE, issued_ms=0, expires_ms=1))
    for each in (stale, deleted, untrusted):
        assert day(each.forecast, 3).samples == expected
    assert day(followed(forecast, 3).forecast, 3).samples != expected
