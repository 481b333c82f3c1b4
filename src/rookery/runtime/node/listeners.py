"""The doors of a node that most nodes never open: nothing of them is loaded before the first."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from rookery.runtime.control.listeners import HeldListeners, ResolvedListener

if TYPE_CHECKING:
    from rookery.runtime.control.listener_pool import ListenerPool
    from rookery.runtime.node.node import MeshNode


class NodeListeners:
    """A `DoorKeeper` whose doors lead through the node's own proxy."""

    def __init__(self, node: "MeshNode") -> None:
        self._node = node
        self._doors: ListenerPool | None = None

    def open(
        self, wanted: Sequence[ResolvedListener]
    ) -> AbstractAsyncContextManager[HeldListeners]:
        if self._doors is None:
            from rookery.runtime.control.listener_pool import ListenerPool as Doors

            self._doors = Doors(self._node.proxy.connector)
        return self._doors.open(wanted)
