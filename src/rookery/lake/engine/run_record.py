"""Run record: how the last run on a lake went, in a small file beside the tables.

Each run replaces it. On a local disk it has the size of a block from the beginning, so that a run
that fails because the disk is full can still be recorded.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa
from pyarrow import fs

from rookery.errors import LocalError
from rookery.lake.engine import parquet
from rookery.lake.engine.delta import Lake

FOLDER = "_runs"
SIZE = 4096

_FILE = "last.json"
_TEXT_MAX = 1000


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run, and how it was before."""

    ended_at: float  # wall seconds
    ok: bool
    took_s: float = 0.0
    run: str = ""  # its id; empty where it did not come to that
    step: str = ""  # at which it failed: a table's path, `landing` or `Spark`
    error: str = ""
    log: str = ""  # path of a file
    host: str = ""  # that the log is on
    ok_at: float | None = None  # when the last one ended that was in order
    failures: int = 0  # since then


def save(lake: Lake, record: RunRecord) -> RunRecord:
    """With what is known of earlier ones; LocalError when the lake does not take it."""
    known = read(lake)
    if record.ok:
        whole = msgspec.structs.replace(record, ok_at=record.ended_at)
    elif known is None:
        whole = msgspec.structs.replace(record, failures=1)
    else:
        whole = msgspec.structs.replace(record, ok_at=known.ok_at, failures=known.failures + 1)
    whole = msgspec.structs.replace(whole, error=whole.error[:_TEXT_MAX])
    try:
        _write(*_place(lake), msgspec.json.encode(whole).ljust(SIZE))
    except (OSError, pa.ArrowException) as error:
        raise LocalError(f"how this run went cannot be recorded: {error}") from error
    return whole


def read(lake: Lake) -> RunRecord | None:
    """None where no run was recorded; LocalError when the lake cannot be read."""
    system, path = _place(lake)
    try:
        with system.open_input_stream(path) as source:
            return msgspec.json.decode(source.read(), type=RunRecord)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    except (OSError, pa.ArrowException) as error:
        raise LocalError(f"how the last run went cannot be read: {error}") from error


def _place(lake: Lake) -> tuple[fs.FileSystem, str]:
    return parquet.file_system(f"{lake.url}/{FOLDER}/{_FILE}")


def _write(system: fs.FileSystem, path: str, data: bytes) -> None:
    if not isinstance(system, fs.LocalFileSystem):
        with system.open_output_stream(path) as sink:  # at once, as object stores are
            sink.write(data)
        return
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    try:
        new.write_bytes(data)
        new.replace(file)
    except OSError:
        with suppress(OSError):
            new.unlink()
        _overwrite(file, data)


def _overwrite(file: Path, data: bytes) -> None:
    """Write into the blocks that it has; a reader meanwhile may find no valid record."""
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
