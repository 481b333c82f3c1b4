"""Doors over the control socket: open for as long as the program that asked keeps its connection.

What opens them stands behind `ListenerOpener`, so that verbs that only look need nothing of it.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from rookery.runtime.control.messages import ListenerRequest
from rookery.runtime.node.members import NodeName
from rookery.runtime.node.snapshot import ListenerOpened, ListenerTrouble

WATCH_S = 0.2  # how often a door is asked about trouble


class ResolvedListener(NamedTuple):
    """A door, and the member it is to lead through (None: whoever gets through)."""

    door: ListenerRequest
    exit: NodeName | None


class HeldListeners(Protocol):
    """What stands open now."""

    @property
    def opened(self) -> Sequence[ListenerOpened]: ...

    def troubles(self) -> Iterable[ListenerTrouble]:
        """What went wrong since the last time; RookeryError when a door is lost."""
        ...


class ListenerOpener(Protocol):
    """Opens all that is wanted, or nothing; RookeryError says why."""

    def open(
        self, wanted: Sequence[ResolvedListener]
    ) -> AbstractAsyncContextManager[HeldListeners]: ...
