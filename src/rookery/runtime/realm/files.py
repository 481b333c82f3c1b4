"""The files of a realm's folder: JSON with a version, for their owner alone, whole or not at all.

Written aside, synced and renamed, so that a crash or a full disk leaves the old file. Changes that
depend on what was there are made under `locked`, for the node and the command line share a folder.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from rookery.errors import UsageError
from rookery.runtime.atomic_file import replace

try:
    import fcntl
except ImportError:  # pragma: no cover  Windows: two programs must not change a folder at once
    fcntl = None  # type: ignore[assignment]

SIZE_MAX = 1 << 26

_Stored = TypeVar("_Stored")


def read(file: Path, kind: type[_Stored]) -> _Stored | None:
    """The content of the file, None if there is none; UsageError when it cannot be read."""
    try:
        with file.open("rb") as stream:
            data = stream.read(SIZE_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is damaged, or of another version: {error}") from error


def write(file: Path, value: object) -> None:
    """Replace the content of the file; UsageError when that fails."""
    data = msgspec.json.format(msgspec.json.encode(value)) + b"\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(file, data)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder: no other process changes it during the block."""
    try:
        descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot lock {folder}: {error.strerror}") from error
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
