"""Segment: one file of a spool, named after the position of its first record.

    | "RKSP" | version | 0 | start |  then records:  | length | crc32 | record |
    |   4    |    1    | 3 |   8   |                 |   4    |   4   |  ...   |

Sizes in bytes, integers big-endian. A position is `start` plus the bytes of records before it. The
checksum begins with the length, and a record has at least one byte: so neither a changed length nor
the zeros that a crash may leave behind pass for a record.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from rookery.errors import UsageError
from rookery.runtime import shared_folder

VERSION = 1
HEADER_SIZE = 16
RECORD_SIZE_MAX = 1 << 20

_HEADER = struct.Struct(">4sB3xQ")
_FRAME = struct.Struct(">II")
_MAGIC = b"RKSP"
_SUFFIX = ".spool"
_READ_SIZE = 1 << 20


class SpoolRecord(NamedTuple):
    """One record, and the position behind it: where to go on reading."""

    position: int
    data: bytes


def frame(records: Sequence[bytes]) -> bytes:
    """Records as they stand in a segment; UsageError for one that cannot."""
    parts: list[bytes] = []
    pack, checksum = _FRAME.pack, zlib.crc32
    for record in records:
        size = len(record)
        if not 0 < size <= RECORD_SIZE_MAX:
            raise UsageError(f"a record has 1 to {RECORD_SIZE_MAX} bytes, not {size}")
        parts += pack(size, checksum(record, size)), record
    return b"".join(parts)


class Segment(NamedTuple):
    """A segment that is there."""

    start: int
    path: Path

    @classmethod
    def at(cls, folder: Path, start: int) -> Self:
        return cls(start, folder / f"{start:016x}{_SUFFIX}")

    @property
    def end(self) -> int:
        """Where its bytes end, whether they are records or not."""
        return self.start + max(self.path.stat().st_size - HEADER_SIZE, 0)

    @property
    def is_headed(self) -> bool:
        """Whether it begins as it should."""
        with self.path.open("rb") as file:
            return file.read(HEADER_SIZE) == _HEADER.pack(_MAGIC, VERSION, self.start)

    def records(self, position: int) -> Iterator[SpoolRecord]:
        """All from a position on, up to the first place that holds none."""
        with self.path.open("rb", buffering=0) as file:
            file.seek(HEADER_SIZE + position - self.start)
            data, offset = b"", 0
            while more := file.read(_READ_SIZE):
                data, offset = data[offset:] + more, 0
                for end, record in _parse(data):
                    yield SpoolRecord(position + end, record)
                    offset = end
                position += offset
                if len(data) - offset > _FRAME.size + RECORD_SIZE_MAX:
                    return


def _parse(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each record and where it ends."""
    offset, unpack, checksum = 0, _FRAME.unpack_from, zlib.crc32
    while offset + _FRAME.size < len(data):
        size, expected = unpack(data, offset)
        start = offset + _FRAME.size
        record = data[start : start + size]
        if len(record) != size or not size or checksum(record, size) != expected:
            return
        offset = start + size
        yield offset, record


def segments(folder: Path) -> list[Segment]:
    """Those in a folder, in order."""
    found = [Segment(int(path.stem, 16), path) for path in folder.glob(f"*{_SUFFIX}")]
    return sorted(found)


class SegmentFile:
    """A segment that is written to; everything here blocks."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._size = size  # of what is known to be on disk

    @classmethod
    def create(cls, segment: Segment) -> Self:
        file = cls(shared_folder.make(segment.path, os.O_WRONLY | os.O_TRUNC), 0)
        try:
            file.append(_HEADER.pack(_MAGIC, VERSION, segment.start))
            sync_folder(segment.path.parent)
        except BaseException:
            file.close()
            raise
        return file

    @classmethod
    def reopen(cls, segment: Segment, end: int) -> Self:
        """Go on behind its last whole record; the rest is cut off."""
        size = HEADER_SIZE + end - segment.start
        descriptor = os.open(segment.path, os.O_WRONLY)
        try:
            if os.fstat(descriptor).st_size != size:
                os.ftruncate(descriptor, size)
                os.fsync(descriptor)
            os.lseek(descriptor, size, os.SEEK_SET)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, size)

    def append(self, data: bytes) -> None:
        """On disk when it returns; OSError after which nothing more can be appended."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fdatasync(self._descriptor)
        except OSError:
            # What was not promised must not be read later as if it had been.
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        os.close(self._descriptor)


def sync_folder(folder: Path) -> None:
    """So that a file's name is on disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
