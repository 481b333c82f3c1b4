"""Folder lock: one process at a time writes to a folder; the system lets go of it with its end."""

import fcntl
from pathlib import Path
from typing import TextIO

from rookery.errors import UsageError


def lock_folder(folder: Path) -> TextIO:
    """Until what it returns is closed; UsageError when another has it, or there is no folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise UsageError(f"no spool in {folder}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise UsageError(f"another process has the spool {folder} open") from None
    return lock
