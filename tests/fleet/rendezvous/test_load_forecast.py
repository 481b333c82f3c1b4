"""P5: forecasts are followed within bounds, while they last, from those who are trusted."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError
from rookery.fleet.entry import server_id
from rookery.fleet.rendezvous.load_forecast import ERROR_MAX, LoadForecast, expected_share
from rookery.fleet.rendezvous.placement import FORECAST_MAX, ServerLoad, choose
from rookery.identity.artifact import seal
from rookery.identity.identity import Identity
from rookery.wire import base32
from rookery.wire.fleet.forecast import Forecast, ServerForecast

LAKE = Identity.generate((0x40,), Random(1).randbytes)
NAMES = [base32.encode(bytes([number]) * 32) for number in range(1, 7)]
ROOK, JAY, *_ = NAMES
NOON_S, HOUR_S = 1_800_014_400, 3600

shares = st.floats(0, 1)


def expected(
    server: str, *hours: float, confidence: float = 1.0, step_s: int = HOUR_S
) -> ServerForecast:
    return ServerForecast(server_id(server), NOON_S * 1000, step_s, hours, confidence)


def forecast(*servers: ServerForecast, lasts_s: int = 24 * HOUR_S) -> LoadForecast:
    found = LoadForecast({LAKE.hashname})
    issued_ms = NOON_S * 1000
    sealed = seal(
        Forecast(servers), LAKE, issued_ms=issued_ms, expires_ms=issued_ms + lasts_s * 1000
    )
    found.follow(sealed)
    return found


def load(name: str, used: int = 20, reserved: int = 0, seats: int = 100) -> ServerLoad:
    return ServerLoad(name, "", "", b"", b"", seats, used, reserved, 0.1, 0.1, NOON_S)


@pytest.mark.parametrize(
    ("after_s", "share"),
    [(-1, None), (0, 0.2), (1800, 0.2), (3600, 0.3), (5400, 0.4), (7199, 0.4), (7200, None)],
)
def test_between_the_middles_of_two_steps_the_share_is_in_between(
    after_s: int, share: float | None
) -> None:
    found = expected_share(expected(ROOK, 0.2, 0.4), NOON_S + after_s)
    assert found == (None if share is None else pytest.approx(share))


def test_a_server_that_will_be_fuller_within_the_hour_counts_so_now() -> None:
    filling = forecast(expected(ROOK, 0.2, 0.3), expected(JAY, 0.2, 0.1))
    half_past = NOON_S + 1800
    assert filling.growth(load(ROOK), half_past) == pytest.approx(0.1)
    assert filling.growth(load(JAY), half_past) == 0, "that others leave soon is no reason yet"
    choice = choose([load(ROOK), load(JAY, 25)], NOON_S, Random(1).randbytes)
    assert choice is not None
    assert choice.server.hashname == ROOK
    ask = filling.forecast([load(ROOK), load(JAY, 25)], half_past)
    choice = choose([load(ROOK), load(JAY, 25)], NOON_S, Random(1).randbytes, ask)
    assert choice is not None
    assert choice.server.hashname == JAY


def test_it_counts_by_its_confidence_and_no_more_than_the_bound() -> None:
    half_past = NOON_S + 1800
    assert forecast(expected(ROOK, 0.2, 1.0)).growth(load(ROOK), half_past) == FORECAST_MAX
    hesitant = forecast(expected(ROOK, 0.2, 1.0, confidence=0.1))
    assert hesitant.growth(load(ROOK), half_past) == pytest.approx(0.08)


def test_a_forecast_that_is_wrong_about_now_is_not_believed_about_later() -> None:
    sure = forecast(expected(ROOK, 0.2, 0.3))
    half_past, wrong = NOON_S + 1800, round(100 * ERROR_MAX)
    found = [sure.growth(load(ROOK, 20 + error), half_past) for error in (0, wrong // 2, wrong)]
    assert found == pytest.approx([0.1, 0.05, 0])


def test_it_has_no_opinion_beyond_what_it_says() -> None:
    short = forecast(expected(ROOK, 0.2))
    assert short.growth(load(JAY), NOON_S + 1800) is None
    assert short.growth(load(ROOK), NOON_S + HOUR_S) is None
    assert short.growth(load(ROOK), NOON_S + 3000) == 0
    assert short.growth(load(ROOK, seats=0), NOON_S) == 0


def test_nothing_is_asked_of_a_forecast_that_expired_or_was_taken_away() -> None:
    short = forecast(expected(ROOK, 0.2, 0.9), lasts_s=60)
    assert short.forecast([load(ROOK)], NOON_S + 59) is not None
    assert short.forecast([load(ROOK)], NOON_S + 60) is None
    assert short.growth(load(ROOK), NOON_S + 60) is None
    short.follow(None)
    assert short.forecast([load(ROOK)], NOON_S) is None


def test_nobody_is_believed_unless_named_and_then_nothing_is_followed() -> None:
    content = Forecast((expected(ROOK, 0.2, 0.9),))
    sealed = seal(content, LAKE, issued_ms=NOON_S * 1000, expires_ms=NOON_S * 1000 + 1)
    with pytest.raises(AuthenticationError):
        LoadForecast().follow(sealed)
    following = forecast(expected(ROOK, 0.2, 0.9))
    with pytest.raises(DecodeError):
        following.follow(b"garbage")
    assert following.forecast([load(ROOK)], NOON_S) is None


@given(
    servers=st.dictionaries(
        st.sampled_from(NAMES), st.lists(shares, max_size=5), min_size=1, max_size=6
    ),
    confidence=shares,
    step_s=st.integers(1, 86_400),
    used=st.lists(st.integers(0, 99), min_size=6, max_size=6),
    after_s=st.integers(-10_000, 100_000),
    seed=st.integers(),
)
def test_no_forecast_whatever_picks_a_server_fuller_than_the_emptiest_by_more_than_the_bound(
    servers: dict[str, list[float]],
    confidence: float,
    step_s: int,
    used: list[int],
    after_s: int,
    seed: int,
) -> None:
    """P5"""
    forecasts = [
        expected(name, *hours, confidence=confidence, step_s=step_s)
        for name, hours in servers.items()
    ]
    loads = [load(name, taken) for name, taken in zip(NAMES, used, strict=True)]
    ask = forecast(*forecasts).forecast(loads, NOON_S + after_s)
    choice = choose(loads, NOON_S, Random(seed).randbytes, ask)
    assert choice is not None
    assert choice.server.seats_used <= min(used) + 100 * FORECAST_MAX
