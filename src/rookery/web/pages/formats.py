"""Text of values on pages: shares, sizes, durations, ages, table cells, browsers.

Ages are in one short unit, in the same words that shell.js goes on with.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from rookery.web.words.translation import PageTranslation

_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_BITS = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
_SHORT = 8  # characters of a hashname that tell it from others
_HASHNAME = 52


def percent(share: float | None, digits: int = 0) -> str:
    """Never rounded to all or nothing while it is neither."""
    if share is None:
        return "–"
    if digits == 0 and 0.99 < share < 1:
        digits = 1
    shown = round(share * 100, digits)
    if shown >= 100 and share < 1:
        shown = 100 - 10 ** -max(digits, 1)
    return f"{shown:.{digits}f} %" if digits else f"{shown:.0f} %"


def size(count: float | None) -> str:
    return _scaled(count, _BYTES)


def rate(bits: float | None) -> str:
    return _scaled(bits, _BITS)


def number(value: float | None) -> str:
    """With thousands apart."""
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.3g}"


def short(name: str) -> str:
    """A hashname's beginning; anything else as it is, also within a link's name."""
    parts = name.replace("/", " – ").split(" – ") if len(name) > _HASHNAME else [name]
    return " – ".join(each[:_SHORT] if len(each) == _HASHNAME else each for each in parts)


def lasting(micros: float | None, texts: PageTranslation) -> str:
    """`24 ms`, `2 min 5 s`, `3 h 20 min`."""
    if micros is None:
        return "–"
    if micros < 1_000_000:
        return f"{micros / 1000:.3g} ms"
    seconds = int(micros / 1_000_000)
    for unit, below, step in (("d", "h", 86_400), ("h", "min", 3600), ("min", "s", 60)):
        if seconds >= step:
            whole, rest = divmod(seconds, step)
            part = rest * (24 if unit == "d" else 60) // step
            text = f"{whole} {texts(unit)}"
            return f"{text} {part} {texts(below)}" if part else text
    return f"{seconds} {texts('s')}"


def cell(value: object, unit: str, texts: PageTranslation) -> str:
    """One of a table's, by its column's unit."""
    match value:
        case None:
            return "–"
        case bool():
            return texts("yes") if value else texts("no")
        case list():
            return ", ".join(short(str(each)) for each in value)
        case dict():
            return ", ".join(f"{key} {each}" for key, each in _pairs(value))
        case int() | float():
            return _figure(value, unit, texts)
        case _:
            text = str(value)
            return moment_text(text) if "T" in text and text[:2] == "20" else short(text)


def moment_text(text: str) -> str:
    """A time of ISO 8601, to the second."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


def _figure(value: float, unit: str, texts: PageTranslation) -> str:
    match unit:
        case "share":
            return percent(value, 2)
        case "µs":
            return lasting(value, texts)
        case "ms":
            return lasting(value * 1000, texts)
        case "bytes":
            return size(value)
        case "bit/s":
            return rate(value)
        case "B/s":
            return f"{size(value)}/s"
        case "ppm":
            return percent(value / 1e6, 2)
        case "°C / 1000":
            return f"{value / 1000:.1f} °C"
        case "processes / 1000":
            return f"{value / 1000:.2f}"
        case _:
            return number(value)


def _pairs(value: Mapping[str, object]) -> list[tuple[str, object]]:
    return [(str(key), each) for key, each in value.items()]


def _scaled(value: float | None, units: tuple[str, ...]) -> str:
    if value is None:
        return "–"
    at = 0
    while abs(value) >= 1000 and at < len(units) - 1:
        value /= 1000
        at += 1
    return f"{value:.3g} {units[at]}" if at and abs(value) < 100 else f"{value:.0f} {units[at]}"


def reported(value: float | None, unit: str, texts: PageTranslation) -> str:
    """A value that a device reported, by its unit; device_facts.js does the same."""
    if value is None:
        return "–"
    match unit:
        case "s":
            return duration(value, texts)
        case "share":
            return f"{value * 100:.0f} %"
        case "°C":
            return f"{value:.1f} °C"
        case "":
            return f"{value:.2f}"
        case _:
            return f"{value:.0f} {unit}"


_UNITS = ((86_400 * 2, 86_400, "d"), (3600 * 2, 3600, "h"), (60 * 2, 60, "min"))


def moment(seconds: float | None) -> str:
    """The exact time."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float | None, texts: PageTranslation) -> str:
    """`8 s`, `5 min`, `3 h`, `12 d`."""
    if seconds is None:
        return ""
    for least, size, unit in _UNITS:
        if seconds >= least:
            return f"{int(seconds // size)} {texts(unit)}"
    return f"{max(0, int(seconds))} {texts('s')}"


def ago(seconds: float | None, now: float, texts: PageTranslation) -> str:
    """The age of a moment."""
    if seconds is None:
        return texts("not yet")
    return texts("{} ago").replace("{}", duration(now - seconds, texts))


# In this order: each also names those after it.
_PROGRAMS = (
    ("Edge", r"Edg(?:A|iOS)?/([0-9]+)"),
    ("Opera", r"OPR/([0-9]+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/([0-9]+)"),
    ("Chrome", r"(?:HeadlessChrome|Chrome|CriOS)/([0-9]+)"),
    ("Safari", r"Version/([0-9]+)[0-9.]* (?:Mobile/\w+ )?Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("macOS", "Mac OS X"),
    ("ChromeOS", "CrOS"),
    ("Linux", "Linux"),
)


def browser(agent: str) -> str:
    """`Firefox 140, Linux`; what is not known is shown as it came."""
    for name, pattern in _PROGRAMS:
        if found := re.search(pattern, agent):
            system = next((system for system, mark in _SYSTEMS if mark in agent), "")
            return f"{name} {found[1]}" + (f", {system}" if system else "")
    return agent
