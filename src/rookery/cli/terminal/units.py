"""Figures as people read them; what is not known is a dash."""

UNKNOWN = "–"

_UNITS = ("B", "kB", "MB", "GB", "TB")
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))


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
