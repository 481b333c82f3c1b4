"""Listeners over the control socket: open as long as the requesting program keeps its connection.

`ListenerOpener` hides what opens them, so that verbs that only look do not import it.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from rookery.runtime.control.messages import ListenerRequest
from rookery.runtime.node.members import NodeName
from rookery.runtime.node.snapshot import ListenerOpened, ListenerTrouble

WATCH_S = 0.2  # how often a listener is polled for trouble


class ResolvedListener(NamedTuple):
    """A listener request, and the member to use as its exit (None: any exit that connects)."""

    request: ListenerRequest
    exit: NodeName | None


class HeldListeners(Protocol):
    """The listeners of one request."""

    @property
    def opened(self) -> Sequence[ListenerOpened]: ...

    def troubles(self) -> Iterable[ListenerTrouble]:
        """Troubles since the last call; RookeryError when a listener is lost."""
        ...


class ListenerOpener(Protocol):
    """Opens all that is wanted, or nothing; RookeryError says why."""

    def open(
        self, wanted: Sequence[ResolvedListener]
    ) -> AbstractAsyncContextManager[HeldListeners]: ...
