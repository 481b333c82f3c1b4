"""Figures as people read them."""

import pytest

from rookery.cli.terminal import units
from rookery.errors import UsageError


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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("5m", 300), ("5min", 300), ("1.5h", 5400), (" 7 D", 604_800), ("0s", 0)],
)
def test_spans_are_read(text: str, seconds: float) -> None:
    assert units.parse_span(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "90", "-1h", "5 weeks", "٣h", "9" * 12 + "d"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no length of time"):
        units.parse_span(text)


def test_what_is_not_known_is_a_dash() -> None:
    assert {
        units.percent(None),
        units.loss(None, None),
        units.rate(None),
        units.cost(None),
    } == {"–"}
    assert units.loss(0.125, None) == "12.5 % / –"
