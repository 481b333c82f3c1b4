"""A broker on a tower: clients reach it through every gate that the tower has.

    async with CrowTower() as tower, CrowBroker(tower) as broker:
        tower.add_gate(await CrowUdpGate.bind(tower, port=10009))
        await broker.serve_status(port=8080)

Clients are not identified here: every address that a gate allows may publish, subscribe and send
commands. Over the mesh gate clients are authenticated; other gates have a list of addresses.
"""

from types import TracebackType
from typing import Self

from rookery.crow.events import Notice
from rookery.crow.limits import BrokerLimits
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.broker_node import BrokerNode
from rookery.runtime.crow.broker_status import CrowBrokerStatus
from rookery.runtime.crow.tower import CrowTower
from rookery.runtime.net.http_listener import HttpListener


class CrowBroker:
    """Takes nodes 3, 100 and 101 of the tower, and its packets of type 4."""

    def __init__(self, tower: CrowTower, limits: BrokerLimits | None = None) -> None:
        """UsageError when one of the nodes is taken."""
        self.core = Broker(tower.now(), limits)
        self._tower = tower
        self._node = BrokerNode(tower.nodes, self.core)
        self._status: HttpListener | None = None
        self._is_closed = False
        tower.add_handler(self._handle)
        tower.serve_strangers()

    def publish(self, theme: str | bytes, data: bytes) -> None:
        """Send to all subscribers, without waiting; UsageError for what no packet could carry."""
        name = theme.encode() if isinstance(theme, str) else theme
        self._node.publish(name, data, self._tower.now())
        self._tower.pump()

    async def serve_status(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Answer over HTTP; the port. It can also publish, and has no password."""
        assert self._status is None, "one status is enough"
        status = CrowBrokerStatus(self.core, self.publish, self._tower.now)
        self._status = await HttpListener.bind(status.answer, host, port)
        return self._status.port

    async def close(self) -> None:
        """The tower stays; clients are told that there is no such node."""
        if self._is_closed:
            return
        self._is_closed = True
        self._node.close()
        if self._status is not None:
            await self._status.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _handle(self, notice: Notice, now: float) -> bool:
        return not self._is_closed and self._node.handle(notice, now)
