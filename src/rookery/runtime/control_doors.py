"""Doors over the control socket: open for as long as the program that asked keeps its connection.

What opens them stands behind `DoorKeeper`, so that verbs that only look need nothing of it.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from rookery.runtime.control_lines import DoorWanted
from rookery.runtime.snapshot import DoorOpened, DoorTrouble, Who

WATCH_S = 0.2  # how often a door is asked about trouble


class Wanted(NamedTuple):
    """A door, and the member it is to lead through (None: whoever gets through)."""

    door: DoorWanted
    exit: Who | None


class HeldDoors(Protocol):
    """What stands open now."""

    @property
    def opened(self) -> Sequence[DoorOpened]: ...

    def troubles(self) -> Iterable[DoorTrouble]:
        """What went wrong since the last time; RookeryError when a door is lost."""
        ...


class DoorKeeper(Protocol):
    """Opens all that is wanted, or nothing; RookeryError says why."""

    def open(self, wanted: Sequence[Wanted]) -> AbstractAsyncContextManager[HeldDoors]: ...
