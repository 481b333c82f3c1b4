"""Work that blocks, once or again and again: Ctrl-C and SIGTERM end it in good order.

Both raise KeyboardInterrupt wherever the work is. Python drops what is raised in a finalizer, so
that they are remembered as well, and work that goes on for ever looks at that between two turns.
"""

import signal
from collections.abc import Callable
from threading import Event
from types import FrameType

from rookery.cli.exits import OK, complain
from rookery.errors import RookeryError


class _Asked:
    """Whether a signal has asked for the end."""

    is_to_stop = False


def until_signal(work: Callable[[], int], *, is_service: bool = False) -> int:
    """Its exit code. For a service a signal is how it should end."""
    _Asked.is_to_stop = False
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        return work()
    except KeyboardInterrupt:
        if is_service:
            return OK
        raise


def repeated(
    work: Callable[[], int],
    pause_s: float | None,
    sooner: Callable[[float], float] = lambda pause_s: pause_s,
) -> int:
    """Once; or, with a pause, for ever: what goes wrong is told, and tried again.

    `sooner` says how much of the pause is to be waited for this time.
    """
    while pause_s is not None:
        try:
            work()
        except RookeryError as error:
            complain(error)
        if _Asked.is_to_stop:
            raise KeyboardInterrupt
        Event().wait(sooner(pause_s))
    return work()


def _stop(number: int, frame: FrameType | None) -> None:
    _Asked.is_to_stop = True
    raise KeyboardInterrupt
