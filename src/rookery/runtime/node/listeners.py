"""A node's listeners; their code is imported with the first one, as most nodes never open any."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from rookery.runtime.control.listeners import HeldListeners, ResolvedListener

if TYPE_CHECKING:
    from rookery.runtime.control.listener_pool import ListenerPool
    from rookery.runtime.node.node import MeshNode


class NodeListeners:
    """A `ListenerOpener` whose listeners lead through the node's own proxy."""

    def __init__(self, node: "MeshNode") -> None:
        self._node = node
        self._pool: ListenerPool | None = None

    def open(
        self, wanted: Sequence[ResolvedListener]
    ) -> AbstractAsyncContextManager[HeldListeners]:
        if self._pool is None:
            from rookery.runtime.control.listener_pool import ListenerPool

            self._pool = ListenerPool(self._node.proxy.connector)
        return self._pool.open(wanted)
