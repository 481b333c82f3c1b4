"""A certificate and key that an operator gives as files, and renews by replacing them."""

import logging
from pathlib import Path
from typing import NamedTuple

from rookery.errors import UsageError
from rookery.runtime.tls.live_context import LiveContext

_log = logging.getLogger(__name__)

_Seen = tuple[tuple[int, int, int], ...]


class CertificateFiles(NamedTuple):
    """Where they are."""

    chain: Path
    key: Path


class CertificateFileWatcher:
    """`refresh` now and then: it looks whether they are others than before."""

    def __init__(self, files: CertificateFiles, live: LiveContext) -> None:
        """UsageError when they cannot be used."""
        self._files = files
        self._live = live
        self._seen = _look(files)
        live.load(*files)

    def refresh(self) -> None:
        """Take what was replaced; what cannot be used yet is looked at again the next time."""
        try:
            seen = _look(self._files)
            if seen == self._seen:
                return
            self._live.load(*self._files)
        except UsageError as error:
            _log.warning("the certificate stays the one before: %s", error)
            return
        self._seen = seen
        _log.info("%s is used from now on", self._files.chain)


def _look(files: CertificateFiles) -> _Seen:
    try:
        found = [file.stat() for file in files]
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error
    return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)
