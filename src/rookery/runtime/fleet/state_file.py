"""Where a sender's state outlives it: a file that is whole or not there, for its owner alone."""

import logging
from pathlib import Path

from rookery.errors import DecodeError, UsageError
from rookery.fleet.reports.sender_state import SenderState
from rookery.runtime.atomic_file import replace

FILE_NAME = "reports.state"

_SIZE_MAX = 64 << 20

_log = logging.getLogger(__name__)


class SenderStateFile:
    """One file; what it holds is worth little, so a damaged one is begun anew."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE_NAME
        self._saved: SenderState | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UsageError(f"reports cannot be kept in {folder}: {error.strerror}") from error

    def load(self) -> SenderState:
        """What was saved; an empty state where there is none that can be read."""
        try:
            with self._file.open("rb") as stream:
                return SenderState.parse(stream.read(_SIZE_MAX))
        except FileNotFoundError:
            return SenderState()
        except (OSError, DecodeError) as error:
            _log.warning("%s is begun anew: %s", self._file, error)
            return SenderState()

    def save(self, state: SenderState) -> None:
        """Where that fails we go on: only a restart would need it."""
        if state == self._saved:
            return
        try:
            replace(self._file, state.serialize())
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)
            return
        self._saved = state
