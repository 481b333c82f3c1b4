"""What is observed for the lake, put together: only programs that are told to observe load this."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.store.observers.observer import Observer

if TYPE_CHECKING:  # each program needs one of them only
    from rookery.runtime.crow.broker import CrowBroker
    from rookery.runtime.node.node import MeshNode
    from rookery.runtime.node.view import NodeView


@asynccontextmanager
async def observe_node(node: "MeshNode", view: "NodeView", folder: Path) -> AsyncIterator[None]:
    """While it lasts, what the node measures, hears and decides goes into the folder's spool."""
    from rookery.store.observers.node import NodeObserver
    from rookery.store.observers.requests import request_observer

    async with await Observer.open(folder, node.hashname) as observer:
        observing = NodeObserver(node.core, view.peers, observer)
        observer.own(observing.run())
        node.observe_requests(request_observer(node.hashname, observer))
        try:
            yield
        finally:
            node.observe_requests(None)
            observing.close()


@asynccontextmanager
async def observe_broker(
    broker: "CrowBroker", folder: Path, themes: Iterable[str]
) -> AsyncIterator[None]:
    """While it lasts, messages of these themes go into the folder's spool."""
    from rookery.store.observers.messages import LIMITS, message_observer

    async with await Observer.open(folder, "", LIMITS) as observer:
        broker.core.on_published = message_observer(themes, observer)
        try:
            yield
        finally:
            broker.core.on_published = None
