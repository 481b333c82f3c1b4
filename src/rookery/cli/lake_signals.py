"""Work that blocks, once or again and again: Ctrl-C and SIGTERM end it in good order."""

import signal
from collections.abc import Callable
from threading import Event
from types import FrameType

from rookery.cli.exits import OK, complain
from rookery.errors import RookeryError


def until_stopped(work: Callable[[], int], pause_s: float | None) -> int:
    """Its exit code; with a pause it goes on until a signal, which is then how it should end.

    What goes wrong is told, and tried again after the pause.
    """
    signal.signal(signal.SIGTERM, _stop)
    if pause_s is None:
        return work()
    try:
        while True:
            _attempt(work)
            Event().wait(pause_s)
    except KeyboardInterrupt:
        return OK


def _attempt(work: Callable[[], int]) -> None:
    try:
        work()
    except RookeryError as error:
        complain(error)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
