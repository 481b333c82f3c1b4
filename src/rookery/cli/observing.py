"""What is observed for the lake, put together: only programs that are told to observe load this."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rookery.runtime.node import MeshNode
from rookery.runtime.node_view import NodeView
from rookery.store.node_observer import NodeObserver
from rookery.store.observer import Observer


@asynccontextmanager
async def observe_node(node: MeshNode, view: NodeView, folder: Path) -> AsyncIterator[None]:
    """While it lasts, what the node measures, hears and decides goes into the folder's spool."""
    async with await Observer.open(folder, node.hashname) as observer:
        observing = NodeObserver(node.core, view.peers, observer)
        observer.own(observing.run())
        try:
            yield
        finally:
            observing.close()
