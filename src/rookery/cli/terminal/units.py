"""Figures as people read and write them; what is not known is a dash."""

import re

from rookery.errors import UsageError

UNKNOWN = "–"

_UNITS = ("B", "kB", "MB", "GB", "TB")
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(s|m|min|h|d)")


def milliseconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    places = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{places}f} ms"


def percent(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{ratio * 100:.3g} %"


def loss(there: float | None, back: float | None) -> str:
    if there is None and back is None:
        return UNKNOWN
    return f"{percent(there)} / {percent(back)}"


def size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {_UNITS[-1]}"


def rate(bytes_s: float | None) -> str:
    return UNKNOWN if bytes_s is None else f"{size(bytes_s)}/s"


def cost(cost_us: int | None) -> str:
    return UNKNOWN if cost_us is None else milliseconds(cost_us / 1000)


def span(seconds: float) -> str:
    """The two largest parts of a length of time."""
    rest, parts = int(seconds), list[str]()
    for length, unit in _SPANS:
        count, rest = divmod(rest, length)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join([*parts, f"{rest} s"][:2])


def parse_span(text: str) -> float:
    """The seconds of a length of time such as 90s, 45m, 1.5h or 7d; UsageError."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"{text!r} is no length of time like 90s, 5m, 12h or 7d")
    return float(found[1]) * _SECONDS[found[2]]
