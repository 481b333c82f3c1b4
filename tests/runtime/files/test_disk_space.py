"""Room on a disk: nobody is promised what others were, or what must be left."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.runtime.files.disk_space import DiskSpace


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    folder = os.open(tmp_path, os.O_RDONLY)
    yield folder
    os.close(folder)


def free(folder: int) -> int:
    disk = os.fstatvfs(folder)
    return disk.f_bavail * disk.f_frsize


def is_full(room: DiskSpace, folder: int, size: int) -> bool:
    try:
        with room.promise(folder, size):
            return False
    except CopyError as error:
        return error.fault is FileFault.FULL


def test_more_than_there_is_is_not_promised(folder: int) -> None:
    room = DiskSpace(reserve_size=0)
    assert is_full(room, folder, free(folder) * 2)
    assert not is_full(room, folder, free(folder) // 2)


def test_what_was_promised_is_not_promised_twice(folder: int) -> None:
    room, most = DiskSpace(reserve_size=0), free(folder) * 3 // 4
    with room.promise(folder, most):
        assert is_full(room, folder, most)
    assert not is_full(room, folder, most)


def test_what_is_written_is_not_counted_twice(folder: int) -> None:
    room, most = DiskSpace(reserve_size=0), free(folder) * 3 // 4
    with room.promise(folder, most) as promise:
        promise.written(most)
        assert not is_full(room, folder, most)
    assert not is_full(room, folder, most)


def test_a_reserve_is_left_and_nothing_always_fits(folder: int) -> None:
    room = DiskSpace(reserve_size=free(folder) * 2)
    assert is_full(room, folder, 1)
    assert not is_full(room, folder, 0)
