"""M5: round trips of a path."""

import pytest

from rookery.mesh.tunnel.paths.round_trip import PathRoundTrip


def test_the_first_sample_replaces_the_guess() -> None:
    trip = PathRoundTrip(0.5, 0.0)
    assert not trip.is_measured
    trip.sample(0.1, 0.02, 1.0)
    assert trip.is_measured
    assert (trip.smoothed_s, trip.variation_s) == pytest.approx((0.08, 0.04))
    assert (trip.min_s, trip.min_at) == pytest.approx((0.08, 1.0))


def test_later_samples_are_smoothed() -> None:
    trip = PathRoundTrip(0.5, 0.0)
    trip.sample(0.1, 0.0, 1.0)
    trip.sample(0.2, 0.0, 2.0)
    assert trip.smoothed_s == pytest.approx(0.1125)
    assert trip.variation_s == pytest.approx(0.0625)
    assert trip.min_s == pytest.approx(0.1)
    assert trip.loss_s == pytest.approx(0.2 * 9 / 8)
    assert trip.patience_s == pytest.approx(0.1125 + 0.25)


def test_a_delay_that_cannot_be_true_is_not_believed() -> None:
    trip = PathRoundTrip(0.5, 0.0)
    trip.sample(0.1, 0.0, 1.0)
    trip.sample(0.12, 5.0, 2.0)
    assert trip.latest_s == pytest.approx(0.12)
    trip.sample(0.0, 0.0, 3.0)
    assert trip.latest_s > 0


def test_the_minimum_is_forgotten_when_asked() -> None:
    trip = PathRoundTrip(0.5, 0.0)
    trip.sample(0.1, 0.0, 1.0)
    trip.sample(0.3, 0.0, 2.0)
    trip.forget_min(3.0)
    assert (trip.min_s, trip.min_at) == pytest.approx((0.3, 3.0))
