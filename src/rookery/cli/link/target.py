"""LINK on the command line: a URI, a JSON link, a hashname, a file holding one of them, or `-`."""

import sys
from pathlib import Path

from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import is_hashname
from rookery.wire.link.uri import TEXT_SIZE_MAX, LinkAddress

_SHOWN_MAX = 200
_TRY = "give a link:// URI, a JSON link, a hashname or a file holding one"


def parse_target(text: str) -> LinkAddress:
    """What LINK says; UsageError when it says nothing."""
    if text == "-":
        return _parse_content(sys.stdin.read(TEXT_SIZE_MAX + 1), "stdin")
    if text.lstrip().startswith("{") or "://" in text or is_hashname(text):
        return _parse(text)
    return _parse_content(_read(text), text)


def _read(name: str) -> str:
    try:
        path = Path(name)
        if not path.is_file() and not path.is_fifo():
            raise UsageError(f"{_short(name)} is no link and no file; {_TRY}")
        with path.open(encoding="utf-8") as file:
            return file.read(TEXT_SIZE_MAX + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"cannot read {_short(name)}: {reason}; {_TRY}") from error


def _parse_content(content: str, name: str) -> LinkAddress:
    """All of it as one link, or its first line, as an endpoint prints it."""
    lines = content.strip().splitlines()
    if not lines:
        raise UsageError(f"{_short(name)} holds no link: it is empty; is the endpoint running?")
    for text in (content, lines[0]):
        try:
            return LinkAddress.parse(text)
        except DecodeError as error:
            failure = error
    raise UsageError(f"{_short(name)} holds no link: {failure}; {_TRY}") from failure


def _parse(text: str) -> LinkAddress:
    try:
        return LinkAddress.parse(text)
    except DecodeError as error:
        raise UsageError(f"{_short(text)} is no link: {error}; {_TRY}") from error


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…")
