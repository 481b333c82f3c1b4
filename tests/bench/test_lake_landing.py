"""The bench of landing runs, on a real disk."""

from bench import lake_landing
from bench.figure import QUICK


def test_landing_is_measured_beside_bare_decoding() -> None:
    (figure,) = lake_landing.measure(QUICK)
    assert figure.ratio is not None
    assert 0 < figure.ratio < 1
