"""How long ago something was, in one short unit: the same words that shell.js goes on with."""

from datetime import UTC, datetime

from rookery.web.pages.texts import Texts

_UNITS = ((86_400 * 2, 86_400, "d"), (3600 * 2, 3600, "h"), (60 * 2, 60, "min"))


def moment(seconds: float | None) -> str:
    """The exact time."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float | None, texts: Texts) -> str:
    """`8 s`, `5 min`, `3 h`, `12 d`."""
    if seconds is None:
        return ""
    for least, size, unit in _UNITS:
        if seconds >= least:
            return f"{int(seconds // size)} {texts(unit)}"
    return f"{max(0, int(seconds))} {texts('s')}"


def ago(seconds: float | None, now: float, texts: Texts) -> str:
    """The age of a moment."""
    if seconds is None:
        return texts("not yet")
    return texts("{} ago").replace("{}", duration(now - seconds, texts))
