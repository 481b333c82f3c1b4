"""Landed: up to which position of a spool everything is in the lake.

Whoever lands a spool writes it beside the segments after each commit; whoever writes the spool
keeps what is behind it. A spool without the mark has never been landed.
"""

from pathlib import Path

from rookery.errors import UsageError
from rookery.runtime import atomic_file
from rookery.runtime.shared_folder import readable_mode

_NAME = "landed"
_DIGITS_MAX = 20


def read(folder: Path) -> int | None:
    """The mark in a spool's folder; None when there is none. UsageError where it is no position."""
    try:
        text = (folder / _NAME).read_bytes()[: _DIGITS_MAX + 2]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{folder / _NAME} cannot be read: {error.strerror}") from error
    digits = text.removesuffix(b"\n")
    if not digits.isdigit() or len(digits) > _DIGITS_MAX:
        raise UsageError(f"{folder / _NAME} holds no position")
    return int(digits)


def save(folder: Path, position: int) -> None:
    """Set the mark, as a whole and durable; OSError when that fails."""
    atomic_file.replace(folder / _NAME, b"%d\n" % position, mode=readable_mode(folder))
