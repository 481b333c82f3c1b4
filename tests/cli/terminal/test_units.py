"""Figures as people read them."""

import pytest

from rookery.cli.terminal import units


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.412, "0.41 ms"), (12.34, "12.3 ms"), (1234.5, "1234 ms")],
)
def test_milliseconds_keep_what_matters(value: float | None, text: str) -> None:
    assert units.milliseconds(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2e6, "2 MB"), (5e15, "5e+03 TB")],
)
def test_sizes_have_three_digits(count: float, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")],
)
def test_spans_name_two_parts(seconds: float, text: str) -> None:
    assert units.span(seconds) == text


def test_what_is_not_known_is_a_dash() -> None:
    assert {
        units.percent(None),
        units.loss(None, None),
        units.rate(None),
        units.cost(None),
    } == {"–"}
    assert units.loss(0.125, None) == "12.5 % / –"
