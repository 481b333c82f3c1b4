"""The doors of a node that most nodes never open: nothing of them is loaded before the first."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from rookery.runtime.control_doors import HeldDoors, Wanted
from rookery.runtime.node_services import NodeServices

if TYPE_CHECKING:
    from rookery.runtime.doors import Doors


class NodeDoors:
    """A `DoorKeeper` whose doors lead through the node's own proxy."""

    def __init__(self, node: NodeServices) -> None:
        self._node = node
        self._doors: Doors | None = None

    def open(self, wanted: Sequence[Wanted]) -> AbstractAsyncContextManager[HeldDoors]:
        if self._doors is None:
            from rookery.runtime.doors import Doors

            self._doors = Doors(self._node.proxy.connector)
        return self._doors.open(wanted)
