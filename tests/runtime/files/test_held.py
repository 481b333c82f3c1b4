"""Files that are held while they are copied: nobody who goes away leaves one locked."""

import asyncio
import os
from pathlib import Path
from threading import Event

import pytest

from rookery.mesh.files.fault import CopyError
from rookery.runtime.files.part_file import PartFile
from rookery.runtime.files.transfer import opened_file
from tests.patience import PATIENCE_S


def part(folder: Path) -> PartFile:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return PartFile(descriptor, "a", 0o600)
    except CopyError:
        os.close(descriptor)
        raise


async def test_a_file_is_locked_while_it_is_held_and_no_longer(tmp_path: Path) -> None:
    async with opened_file(lambda: part(tmp_path)):
        with pytest.raises(CopyError):
            part(tmp_path)
    part(tmp_path).close()


async def test_a_lock_that_is_gone_in_a_moment_is_waited_for(tmp_path: Path) -> None:
    """As one is that a program which is just being started has inherited."""
    first = part(tmp_path)
    asyncio.get_running_loop().call_later(0.03, first.close)
    (await asyncio.to_thread(part, tmp_path)).close()


async def test_cancelling_while_a_file_is_opened_leaves_no_lock(tmp_path: Path) -> None:
    is_opening, may_open = Event(), Event()
    opened: list[PartFile] = []

    def open_late() -> PartFile:
        is_opening.set()
        may_open.wait(PATIENCE_S)
        opened.append(part(tmp_path))
        return opened[0]

    async def hold() -> None:
        async with opened_file(open_late):
            pytest.fail("nobody is there to hold it")

    task = asyncio.get_running_loop().create_task(hold())
    await asyncio.to_thread(is_opening.wait, 20)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    may_open.set()
    async with asyncio.timeout(PATIENCE_S):
        while not opened or is_locked(tmp_path):  # noqa: ASYNC110 (a thread closes it)
            await asyncio.sleep(0.01)


def is_locked(folder: Path) -> bool:
    try:
        part(folder).close()
    except CopyError:
        return True
    return False
