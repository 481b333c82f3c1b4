"""An asyncio loop on virtual time: it never sleeps, it moves the clock to the next timer.

So the shells run unchanged, and an hour of keepalives passes in milliseconds. Sockets still work,
but real time does not pass for them while a timer is due; use a MemoryGate instead.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

STUCK_S = 10.0  # real seconds without a timer, a callback or a thread to wait for


class _VirtualSelector(selectors.DefaultSelector):
    """A selector that moves a clock instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:  # nothing is scheduled: only a thread can still wake us
            ready = super().select(STUCK_S)
            if not ready:
                raise RuntimeError("the virtual loop waits for something that never comes")
            return ready
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`loop.time()` begins at 0 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._skipping = _VirtualSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run_virtual(main: Coroutine[Any, Any, Result]) -> Result:  # Any: as asyncio.Runner has it
    """Run `main` to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
