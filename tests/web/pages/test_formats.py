"""Figures as pages write them: short, and never more certain than they are."""

import pytest

from rookery.web.pages import formats
from rookery.web.words.translation import PageTranslation

ENGLISH = PageTranslation("en")
HASHNAME = "ab" * 26


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (None, 0, "–"),
        (0.5, 0, "50 %"),
        (1.0, 0, "100 %"),
        (0.9996, 0, "99.9 %"),  # almost all is not all
        (0.99999, 2, "99.99 %"),
        (0.0, 2, "0.00 %"),
    ],
)
def test_shares(share: float | None, digits: int, text: str) -> None:
    assert formats.percent(share, digits) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "bytes", "–"),
        (True, "", "yes"),
        (1536, "bytes", "1.54 kB"),
        (2_500_000, "bit/s", "2.5 Mbit/s"),
        (999, "B/s", "999 B/s"),
        (25_000, "ppm", "2.50 %"),
        (61_250, "°C / 1000", "61.2 °C"),
        (-3_500, "°C / 1000", "-3.5 °C"),
        (1_750, "processes / 1000", "1.75"),
        (24_500, "µs", "24.5 ms"),
        (125_000_000, "µs", "2 min 5 s"),
        (12_000_000_000, "µs", "3 h 20 min"),
        (90_000, "ms", "1 min 30 s"),
        (1_234_567, "rows", "1\u202f234\u202f567"),
        (["a", HASHNAME], "", "a, abababab"),
        ("2026-03-02T04:05:06.789+00:00", "", "2026-03-02 04:05:06"),
        (f"{HASHNAME}/{HASHNAME}", "", "abababab – abababab"),
    ],
)
def test_cells(value: object, unit: str, text: str) -> None:
    assert formats.cell(value, unit, ENGLISH) == text
