"""Work that blocks, once or again and again: Ctrl-C and SIGTERM end it in good order.

Both raise KeyboardInterrupt wherever the work is. Python drops what is raised in a finalizer, so
that they are remembered as well, and work that goes on for ever looks at that between two turns.
SIGUSR1 ends the pause between two turns; one that comes during a turn starts the next one at once.
"""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rookery.cli.terminal.exit_codes import OK, complain
from rookery.errors import RookeryError

_PIPE_MAX = 1 << 20  # bytes that a pipe may hold


class _StopRequest:
    """Whether a signal has asked for the end."""

    is_to_stop = False


def until_signal(work: Callable[[], int], *, is_service: bool = False) -> int:
    """Run the work; its exit code. A service that a signal ends has succeeded."""
    _StopRequest.is_to_stop = False
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
    """Run once; or, with a pause, for ever: errors are printed, and the work is tried again.

    `sooner` says how much of the pause is to be waited for this time.
    """
    if pause_s is None:
        return work()
    with _pauses() as pause:
        while True:
            try:
                work()
            except RookeryError as error:
                complain(error)
            if _StopRequest.is_to_stop:
                raise KeyboardInterrupt
            pause(sooner(pause_s))


@contextmanager
def _pauses() -> Iterator[Callable[[float], None]]:
    """A pause that SIGUSR1 ends early.

    Through a pipe: a handler that set an Event could find its lock taken by the wait that it
    interrupts.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)

    def pause(seconds: float) -> None:
        if select.select([read_end], [], [], seconds)[0]:
            os.read(read_end, _PIPE_MAX)

    def cut_short(number: int, frame: FrameType | None) -> None:
        with suppress(BlockingIOError):  # it is full of such wishes
            os.write(write_end, b"!")

    before = signal.signal(signal.SIGUSR1, cut_short)
    try:
        yield pause
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(read_end)
        os.close(write_end)


def _stop(number: int, frame: FrameType | None) -> None:
    _StopRequest.is_to_stop = True
    raise KeyboardInterrupt
