"""A file that is there as a whole or not at all: written aside, synced and renamed.

A crash or a full disk leaves what was there before. Only its owner may read it, unless its mode is
said to be another.
"""

import os
from pathlib import Path


def replace(file: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put these bytes in place of what the file held; OSError when that fails."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)  # left by a crash
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode != 0o600:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
