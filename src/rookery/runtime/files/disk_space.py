"""Room on the disks: how much may still be promised to those who announce files."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.mesh.files.fault import CopyError, FileFault

RESERVE_SIZE = 64 << 20  # left for others, whatever is announced


class SpaceReservation:
    """Room for one file; what has been written needs none any more."""

    def __init__(self, promised: Counter[int], device: int, size: int) -> None:
        self._promised = promised
        self._device = device
        self._left = size
        promised[device] += size

    def written(self, size: int) -> None:
        size = min(size, self._left)
        self._left -= size
        self._promised[self._device] -= size


class DiskSpace:
    """All promises of one process, by disk."""

    def __init__(self, reserve_size: int = RESERVE_SIZE) -> None:
        self._reserve_size = reserve_size
        self._promised: Counter[int] = Counter()

    @contextmanager
    def promise(self, folder: int, size: int) -> Iterator[SpaceReservation]:
        """CopyError when there is not that much, given what was promised to others."""
        disk, device = os.fstatvfs(folder), os.fstat(folder).st_dev
        free = disk.f_bavail * disk.f_frsize - self._promised[device] - self._reserve_size
        if size and size > free:
            raise CopyError(FileFault.FULL)
        promise = SpaceReservation(self._promised, device, size)
        try:
            yield promise
        finally:
            promise.written(size)
