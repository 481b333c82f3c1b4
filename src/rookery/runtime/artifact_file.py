"""A file with an artifact, which somebody replaces now and then and may delete at any time.

file changed ──▶ heed(its bytes)      file gone, or no longer to be read ──▶ heed(None)

Whoever heeds it says whether it is any good; what is refused counts as no file at all.
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
    """What becomes of artifacts that somebody asks for."""

    OFF = "off"  # nobody asks for any, or they are switched off
    MISSING = "missing"  # no file, or one that cannot be read
    REFUSED = "refused"  # not signed by anybody trusted, or damaged
    STALE = "stale"  # expired, or not valid yet
    FOLLOWED = "followed"


class ArtifactFile:
    """`look` now and then; `problem` says why nothing is followed, "" that something is."""

    def __init__(self, file: Path, heed: OnArtifact) -> None:
        self.state = ArtifactState.MISSING  # whether it is stale is for others to know
        self.problem = ""
        self.refused = 0  # files that were
        self._file = file
        self._heed = heed
        self._stamp: _Stamp | None = None
        self._is_looked_at = False

    def look(self) -> bool:
        """Heed what is there, if that is news; whether it was."""
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
        """Follow nothing, until the next `look` finds it again."""
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
