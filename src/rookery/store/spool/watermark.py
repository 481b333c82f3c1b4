"""Landing watermark: the position up to which everything in a spool is in the lake.

The lander writes it next to the segments after each commit; the spool's writer keeps everything
after that position. A spool without a watermark has never been landed.
"""

from pathlib import Path

from rookery.errors import UsageError
from rookery.runtime import atomic_file
from rookery.runtime.shared_folder import readable_mode

_NAME = "landed"
_DIGITS_MAX = 20


def read(folder: Path) -> int | None:
    """The watermark in a spool's folder, or None; UsageError if it holds no position."""
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
    """Replace the watermark atomically and durably; OSError when that fails."""
    atomic_file.replace(folder / _NAME, b"%d\n" % position, mode=readable_mode(folder))
