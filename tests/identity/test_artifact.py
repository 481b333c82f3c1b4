"""P5: only what a trusted issuer has signed is believed, and only for its time."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import AuthenticationError, DecodeError, UsageError
from rookery.identity.artifact import CLOCK_SKEW_MS, open_advice, open_forecast, seal
from rookery.identity.identity import Identity
from rookery.wire.artifact import LIFETIME_MAX_MS, Artifact
from rookery.wire.fleet.forecast import Forecast, ServerForecast
from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice

_random = Random(5)  # the same keys every time
LAKE = Identity.generate((0x40, 0x3A), _random.randbytes)
MALLORY = Identity.generate((0x40, 0x3A), _random.randbytes)
TRUSTED = frozenset({LAKE.hashname})

FORECAST = Forecast((ServerForecast(b"server", 0, 3600, (0.1, 0.9), 0.8),))
A, B = sorted((LAKE.hashname, MALLORY.hashname))
ADVICE = Advice((LinkAdvice(b"realm id", A, B, (AdviceWindow(5, 9, 1.5, 1.0),)),))
TOO_MUCH = [ServerForecast(b"%06d" % at, 0, 60, (0.5,) * 40, 1.0) for at in range(999)]
FORECAST_FILE = seal(FORECAST, LAKE, issued_ms=1_000, expires_ms=9_000)
ADVICE_FILE = seal(ADVICE, LAKE, issued_ms=1_000, expires_ms=9_000)


def test_sealed_content_opens_if_its_issuer_is_trusted() -> None:
    forecast, advice = open_forecast(FORECAST_FILE, TRUSTED), open_advice(ADVICE_FILE, TRUSTED)
    assert (forecast.content, forecast.issuer) == (FORECAST, LAKE.hashname)
    assert (advice.content, advice.issued_ms, advice.expires_ms) == (ADVICE, 1_000, 9_000)


@pytest.mark.parametrize("trusted", [frozenset(), frozenset({MALLORY.hashname})])
def test_only_named_issuers_are_trusted(trusted: frozenset[str]) -> None:
    with pytest.raises(AuthenticationError, match=LAKE.hashname):
        open_forecast(FORECAST_FILE, trusted)


def test_one_kind_is_not_taken_for_the_other() -> None:
    with pytest.raises(DecodeError, match="kind"):
        open_advice(FORECAST_FILE, TRUSTED)
    with pytest.raises(DecodeError, match="kind"):
        open_forecast(ADVICE_FILE, TRUSTED)


def test_others_keys_in_place_of_the_issuers_are_another_issuer() -> None:
    parsed = Artifact.parse(FORECAST_FILE)
    forged = msgspec.structs.replace(parsed, key=MALLORY.keys[0x40])
    with pytest.raises(AuthenticationError, match="not trusted"):
        open_forecast(forged.serialize(), TRUSTED)


def test_the_issuers_keys_with_anothers_signature_are_refused() -> None:
    theirs = Artifact.parse(seal(FORECAST, MALLORY, issued_ms=1_000, expires_ms=9_000))
    forged = msgspec.structs.replace(Artifact.parse(FORECAST_FILE), signature=theirs.signature)
    with pytest.raises(AuthenticationError, match="signature"):
        open_forecast(forged.serialize(), TRUSTED)


@given(at=st.integers(0, len(FORECAST_FILE) - 1), bit=st.integers(0, 7))
def test_any_bit_that_was_changed_is_noticed(at: int, bit: int) -> None:
    changed = bytearray(FORECAST_FILE)
    changed[at] ^= 1 << bit
    with pytest.raises((AuthenticationError, DecodeError)):
        open_forecast(bytes(changed), TRUSTED)


def test_it_is_current_from_its_issue_to_its_end() -> None:
    learned = open_forecast(FORECAST_FILE, TRUSTED)
    times = (1_000 - CLOCK_SKEW_MS - 1, 1_000 - CLOCK_SKEW_MS, 8_999, 9_000)
    assert [learned.is_current(at) for at in times] == [False, True, True, False]


@pytest.mark.parametrize(
    ("content", "expires_ms"),
    [
        (FORECAST, 1_000),
        (FORECAST, 1_001 + LIFETIME_MAX_MS),
        (Forecast((ServerForecast(b"short", 0, 60, (), 1.0),)), 9_000),
        (Forecast((ServerForecast(b"server", 0, 60, (7.0,), 1.0),)), 9_000),
        (Forecast(tuple(TOO_MUCH)), 9_000),
        (Advice((LinkAdvice(b"realm id", B, A, ()),)), 9_000),
    ],
)
def test_only_content_that_opens_is_sealed(content: Forecast | Advice, expires_ms: int) -> None:
    with pytest.raises(UsageError, match="cannot be sealed"):
        seal(content, LAKE, issued_ms=1_000, expires_ms=expires_ms)


def test_an_identity_without_a_signing_key_seals_nothing() -> None:
    with pytest.raises(UsageError, match="cipher set 40"):
        seal(
            FORECAST,
            Identity.generate((0x3A,), Random(1).randbytes),
            issued_ms=1_000,
            expires_ms=9_000,
        )
