"""Work that blocks, once or again and again: Ctrl-C and SIGTERM end it in good order."""

import signal
from collections.abc import Callable
from threading import Event
from types import FrameType

from rookery.cli.exits import OK


def until_stopped(work: Callable[[], int], pause_s: float | None) -> int:
    """Its exit code; with a pause it goes on until a signal, which is then how it should end."""
    signal.signal(signal.SIGTERM, _stop)
    while True:
        try:
            code = work()
            if pause_s is None:
                return code
            Event().wait(pause_s)
        except KeyboardInterrupt:
            if pause_s is None:
                raise
            return OK


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
