"""Part file: `.NAME.part` beside the target, until all of it is here and proved to be so.

Whoever was interrupted finds it again and goes on, if the sender's file begins with what is in it.
The calls wait for the disk, so they are made in threads; one at a time, and none after `close`.
"""

import fcntl
import hmac
import os
import stat
import time
from contextlib import suppress
from hashlib import blake2b
from threading import Lock

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.path import part_name
from rookery.runtime.files.safe_open import check_plain, create_file, faults
from rookery.wire.mesh.file_frames import TransferHave

DIGEST_SIZE = 32
SLICE_SIZE = 1 << 22  # hashed between two looks whether anybody still waits for it

_TRIES = 8
_WAIT_S = 0.02


class PartFile:
    """Made in an open folder, which it takes over; locked, so that no two write the same."""

    def __init__(self, folder: int, name: str, mode: int) -> None:
        self._folder = folder
        self._name = name
        self._part = part_name(name)
        self._digest = blake2b(digest_size=DIGEST_SIZE)
        self._lock = Lock()
        self._is_open = True
        self._mode = _mode(folder, name, mode)
        self._file = _locked(folder, self._part)
        self.hashed = 0

    @property
    def folder(self) -> int:
        return self._folder

    def hash_more(self) -> bool:
        """Take in a slice of what is here already; whether there is more."""
        with self._lock, faults():
            self._check()
            data = os.pread(self._file, SLICE_SIZE, self.hashed)
            self._digest.update(data)
            self.hashed += len(data)
            return bool(data)

    @property
    def have(self) -> TransferHave:
        """What was hashed of it."""
        return TransferHave(self.hashed, self._digest.hexdigest())

    def begin(self, offset: int) -> None:
        """Go on behind so many bytes: those that were hashed, or none."""
        with self._lock, faults():
            self._check()
            if offset != self.hashed:
                assert offset == 0
                self._digest, self.hashed = blake2b(digest_size=DIGEST_SIZE), 0
            os.ftruncate(self._file, offset)
            os.lseek(self._file, offset, os.SEEK_SET)

    def write(self, data: bytes) -> None:
        with self._lock, faults():
            self._check()
            self._digest.update(data)
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]

    def finish(self, digest: str) -> None:
        """Put it in its place if this is its digest; else drop it."""
        with self._lock, faults():
            self._check()
            if not hmac.compare_digest(self._digest.hexdigest(), digest):
                os.ftruncate(self._file, 0)
                raise CopyError(FileFault.DIGEST)
            os.fchmod(self._file, self._mode)
            os.fsync(self._file)
            os.rename(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            os.fsync(self._folder)

    def close(self) -> None:
        """Again: nothing. What has arrived stays, unless it is nothing."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            with suppress(OSError):
                if os.fstat(self._file).st_size == 0 and _is_at(
                    self._file, self._folder, self._part
                ):
                    os.unlink(self._part, dir_fd=self._folder)
            os.close(self._file)
            os.close(self._folder)

    def _check(self) -> None:
        if not self._is_open:
            raise CopyError(FileFault.BROKEN)


def _mode(folder: int, name: str, mode: int) -> int:
    """That of what is replaced, if anything is; CopyError if that is no plain file."""
    with faults():
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return mode
        check_plain(status)
        return stat.S_IMODE(status.st_mode) & 0o777


def _locked(folder: int, part: str) -> int:
    """The part, which somebody else may just have put in its place or removed.

    A program that is being started elsewhere in this process has our files for a moment, and our
    locks with them: so somebody who seems to be writing is waited for a little.
    """
    for _ in range(_TRIES):
        file = create_file(folder, part)
        try:
            if _is_taken(file) and os.fstat(file).st_nlink == 1 and _is_at(file, folder, part):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    raise CopyError(FileFault.IN_USE)


def _is_taken(file: int) -> bool:
    with faults():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_WAIT_S)
            return False
    return True


def _is_at(file: int, folder: int, name: str) -> bool:
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), there)
