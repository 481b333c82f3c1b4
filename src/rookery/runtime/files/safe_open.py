"""Files and folders opened name by name: no symbolic link is followed, whenever it was made.

Every name is looked up in the folder that was opened before it, so that there is no moment between
looking and opening at which a path could come to mean something else.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rookery.mesh.files.fault import CopyError, FileFault

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # so that a fifo does not hold us up

_FAULTS = {
    errno.ENOENT: FileFault.MISSING,
    errno.ENOTDIR: FileFault.KIND,
    errno.EISDIR: FileFault.KIND,
    errno.ELOOP: FileFault.KIND,
    errno.ENXIO: FileFault.KIND,
    errno.ENAMETOOLONG: FileFault.PATH,
    errno.EROFS: FileFault.READ_ONLY,
    errno.ENOSPC: FileFault.FULL,
    errno.EDQUOT: FileFault.FULL,
    errno.EFBIG: FileFault.FULL,
    errno.EWOULDBLOCK: FileFault.IN_USE,
}


@contextmanager
def faults() -> Iterator[None]:
    """What the system says, as CopyError."""
    try:
        yield
    except OSError as error:
        raise CopyError(_FAULTS.get(error.errno or 0, FileFault.BROKEN)) from error


def open_folder(directory: str, parts: Sequence[str] = ()) -> int:
    """A folder below `directory`, which alone may be a link."""
    with faults():
        folder = os.open(directory, _FOLDER)
        for part in parts:
            try:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
        return folder


def open_file(folder: int, name: str) -> int:
    """A plain file to read."""
    with faults():
        check_plain(os.stat(name, dir_fd=folder, follow_symlinks=False))
        return _plain(os.open(name, os.O_RDONLY | _FILE, dir_fd=folder))


def create_file(folder: int, name: str) -> int:
    """A plain file to read and write, made if need be, for its owner alone."""
    with faults():
        return _plain(os.open(name, os.O_RDWR | os.O_CREAT | _FILE, 0o600, dir_fd=folder))


def check_plain(status: os.stat_result) -> None:
    """Devices do things when they are opened, so they are better not."""
    if not stat.S_ISREG(status.st_mode):
        raise CopyError(FileFault.KIND)


def _plain(descriptor: int) -> int:
    try:
        check_plain(os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
