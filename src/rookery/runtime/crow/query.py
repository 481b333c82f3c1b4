"""Queries to nodes elsewhere, each awaited by whoever asked."""

import asyncio
from typing import TYPE_CHECKING

from rookery.crow.msgbox import MsgBox, Query
from rookery.errors import UnreachableError

if TYPE_CHECKING:
    from rookery.runtime.crow.tower import CrowTower


class CrowQueries:
    """What a tower has asked and has no reply to yet."""

    def __init__(self, tower: "CrowTower") -> None:
        self._tower = tower
        self._loop = asyncio.get_running_loop()
        self._box: MsgBox | None = None  # takes a node id, so not before it is needed
        self._pending: dict[Query, asyncio.Future[bytes]] = {}

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
            self._box = MsgBox(self._tower.nodes)
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

    def answered(self, query: Query, data: bytes) -> None:
        future = self._pending.pop(query, None)
        if future is not None and not future.done():
            future.set_result(data)

    def unanswered(self, query: Query, reason: str) -> None:
        future = self._pending.pop(query, None)
        if future is not None and not future.done():
            future.set_exception(UnreachableError(f"node {query.remote} there: {reason}"))

    def close(self) -> None:
        for query in list(self._pending):
            self.unanswered(query, "the tower was closed")
