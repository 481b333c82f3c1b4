"""Queries to nodes elsewhere, each awaited by whoever asked."""

import asyncio
from typing import TYPE_CHECKING

from rookery.crow.nodes.message_box import MessageBox, NodeQuery
from rookery.errors import UnreachableError

if TYPE_CHECKING:
    from rookery.runtime.crow.tower import CrowTower


class CrowQueries:
    """What a tower has asked and has no reply to yet."""

    def __init__(self, tower: "CrowTower") -> None:
        self._tower = tower
        self._loop = asyncio.get_running_loop()
        self._box: MessageBox | None = None  # takes a node id, so not before it is needed
        self._pending: dict[NodeQuery, asyncio.Future[bytes]] = {}

    async def ask(
        self,
        address: bytes,
        node: int,
        data: bytes,
        *,
        timeout_s: float,
        qos: int,
        ackquant_ms: int,
    ) -> bytes:
        if self._box is None:
            self._box = MessageBox(self._tower.nodes)
        box, now = self._box, self._tower.now()
        query = box.query(
            address, node, data, now, timeout_s=timeout_s, qos=qos, ackquant_ms=ackquant_ms
        )
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._pending[query] = future
        self._tower.pump()
        try:
            return await future
        finally:
            self._pending.pop(query, None)
            box.cancel(query)

    def answered(self, query: NodeQuery, data: bytes) -> None:
        future = self._pending.pop(query, None)
        if future is not None and not future.done():
            future.set_result(data)

    def unanswered(self, query: NodeQuery, reason: str) -> None:
        future = self._pending.pop(query, None)
        if future is not None and not future.done():
            future.set_exception(UnreachableError(f"node {query.remote} there: {reason}"))

    def close(self) -> None:
        for query in list(self._pending):
            self.unanswered(query, "the tower was closed")
