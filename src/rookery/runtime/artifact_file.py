"""Watches a file with an artifact, which may be replaced or deleted at any time.

file changed ──▶ heed(its bytes)      file gone, or unreadable ──▶ heed(None)

`heed` raises RemoteError for an artifact that it rejects, which then counts as no file at all.
"""

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from rookery.errors import RemoteError
from rookery.wire.artifact import ARTIFACT_SIZE_MAX

LOOK_S = 2.0  # how often to look

OnArtifact = Callable[[bytes | None], None]

_Stamp = tuple[int, int, int]  # inode, size, time of the last change


class ArtifactState(StrEnum):
    """The state of following an artifact."""

    OFF = "off"  # not configured, or switched off
    MISSING = "missing"  # no file, or one that cannot be read
    REFUSED = "refused"  # damaged, or not signed by a trusted key
    STALE = "stale"  # expired, or not valid yet
    FOLLOWED = "followed"


class ArtifactFile:
    """Call `look` regularly; `problem` says why no artifact is followed, or is empty."""

    def __init__(self, file: Path, heed: OnArtifact) -> None:
        self.state = ArtifactState.MISSING  # never STALE: only the owner knows the times in it
        self.problem = ""
        self.refused = 0  # files that were rejected
        self._file = file
        self._heed = heed
        self._stamp: _Stamp | None = None
        self._is_looked_at = False

    def look(self) -> bool:
        """Pass the artifact on if the file changed; True if it did."""
        try:
            stamp, missing = _stamp(self._file), ""
        except OSError as error:
            stamp, missing = None, f"cannot read {self._file}: {error.strerror}"
        if self._is_looked_at and stamp == self._stamp:
            return False
        self._is_looked_at, self._stamp = True, stamp
        if stamp is None:
            self.state, self.problem = ArtifactState.MISSING, missing
            self._heed(None)
        else:
            self._take()
        return True

    def forget(self) -> None:
        """Follow nothing until the next `look`."""
        if self._is_looked_at:
            self._is_looked_at = False
            self._heed(None)

    def _take(self) -> None:
        try:
            with self._file.open("rb") as stream:
                data = stream.read(ARTIFACT_SIZE_MAX + 1)
            self._heed(data)
            self.state, self.problem = ArtifactState.FOLLOWED, ""
        except OSError as error:
            self.state = ArtifactState.MISSING
            self.problem = f"cannot read {self._file}: {error.strerror}"
            self._heed(None)
        except RemoteError as error:
            self.refused += 1
            self.state, self.problem = ArtifactState.REFUSED, f"{self._file}: {error}"


def _stamp(file: Path) -> _Stamp:
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns
