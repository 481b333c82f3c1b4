"""The name of a spool: made once and stored next to it, so that all programs use the same one.

DATA/spool.name        of this folder alone: a hub finds its place in the database by it, the lake
DATA/spool/            tells by it where an observation comes from

It is no secret: every user with access to the folder may read it, such as the lake's own user.
"""

import os
import stat
from pathlib import Path

from rookery.errors import UsageError
from rookery.runtime.atomic_file import replace

SPOOL = "spool"

_NAME_SIZE = 8
_MODE = 0o644


def spool_name(data: Path) -> str:
    """Of the spool in that folder; UsageError where it can be neither read nor made."""
    file = data / "spool.name"
    try:
        if not file.exists():
            replace(file, os.urandom(_NAME_SIZE).hex().encode(), mode=_MODE)
        _make_readable(file)
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot use {file}: {error}") from error


def _make_readable(file: Path) -> None:
    """As it was made for its owner alone by earlier versions."""
    found = file.stat()
    if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) == 0o600:
        file.chmod(_MODE)
