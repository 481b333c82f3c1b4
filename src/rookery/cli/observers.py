"""Observers of nodes and brokers, for the lake: loaded by programs with --observe only."""

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
    """Write the node's measurements, records and decisions to the folder's spool."""
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
    """Write the messages of these themes to the folder's spool."""
    from rookery.store.observers.messages import LIMITS, message_observer

    async with await Observer.open(folder, "", LIMITS) as observer:
        broker.core.on_published = message_observer(themes, observer)
        try:
            yield
        finally:
            broker.core.on_published = None
