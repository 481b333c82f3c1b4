"""Source file: read once from where the other end goes on, and hashed from its first byte.

The calls wait for the disk, so they are made in threads; one at a time, and none after `close`.
"""

import hmac
import os
from hashlib import blake2b
from threading import Lock

from rookery.mesh.files.fault import CopyError, FileFault
from rookery.runtime.files.part_file import DIGEST_SIZE, SLICE_SIZE
from rookery.runtime.files.safe_open import faults
from rookery.wire.mesh.file_frames import TransferHave


class SourceFile:
    """Over an open plain file, which it takes over."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._status = os.fstat(file)
        self._digest = blake2b(digest_size=DIGEST_SIZE)
        self._lock = Lock()
        self._is_open = True
        self.position = 0

    @property
    def size(self) -> int:
        return self._status.st_size

    def skip(self, have: TransferHave) -> bool:
        """Read a slice of what the other end has already; whether there is more to read."""
        if have.size > self.size:
            return False
        return bool(self.read(min(SLICE_SIZE, have.size - self.position)))

    def agree(self, have: TransferHave) -> int:
        """Where to go on: behind what was skipped if that is the same, else at the beginning."""
        digest = self._digest.hexdigest()
        if self.position != have.size or not hmac.compare_digest(digest, have.digest):
            self._digest, self.position = blake2b(digest_size=DIGEST_SIZE), 0
        return self.position

    def read(self, size: int) -> bytes:
        """The next bytes, none at the end; CopyError when the file has become shorter."""
        with self._lock, faults():
            if not self._is_open:
                raise CopyError(FileFault.BROKEN)
            size = min(size, self.size - self.position)
            data = os.pread(self._file, size, self.position) if size else b""
            if size and not data:
                raise CopyError(FileFault.CHANGED)
            self._digest.update(data)
            self.position += len(data)
            return data

    def whole(self) -> str:
        """The digest of it all; CopyError when it is not the file any more that we began with."""
        assert self.position == self.size
        with self._lock, faults():
            if not self._is_open:
                raise CopyError(FileFault.BROKEN)
            status, before = os.fstat(self._file), self._status
            if (status.st_size, status.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise CopyError(FileFault.CHANGED)
            return self._digest.hexdigest()

    def close(self) -> None:
        """Again: nothing."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._file)
