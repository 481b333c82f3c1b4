"""A node as programs see it: `await send`, `async for message in node`."""

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rookery.crow.events import NodeRefused
from rookery.crow.packet_events import NodeMessage
from rookery.errors import UnreachableError
from rookery.runtime.crow.inbox import CrowInbox
from rookery.runtime.crow.outcome import MessageOutcome
from rookery.wire.crow import address as crow_address

if TYPE_CHECKING:
    from rookery.runtime.crow.tower import CrowTower


def route_of(address: bytes | str) -> bytes:
    """The bytes of an address in either form."""
    return crow_address.parse(address) if isinstance(address, str) else address


OnRefused = Callable[[NodeRefused], object]


class CrowNode:
    """One port of a tower; made by `CrowTower.node`."""

    def __init__(self, tower: "CrowTower", node: int, full: set[int]) -> None:
        self.id = node
        self.on_refused: OnRefused | None = None  # told when a node that we sent to is missing
        self._tower = tower
        self._inbox: CrowInbox[NodeMessage] = CrowInbox(full, node)
        self._is_closed = False

    async def send(
        self,
        address: bytes | str,
        node: int,
        data: bytes,
        *,
        qos: int = 2,
        ackquant_ms: int = 50,
        chunk_size: int | None = None,
    ) -> MessageOutcome:
        """Send to a node there; how far it came, once that is known."""
        tower, route = self._tower, route_of(address)
        if qos:
            await tower.outcomes.wait_for_room(route)
        ticket = tower.nodes.send(
            route,
            self.id,
            node,
            data,
            tower.now(),
            qos=qos,
            ackquant_ms=ackquant_ms,
            chunk_size=chunk_size,
        )
        return await tower.outcome(ticket, qos)

    async def reply(
        self, question: NodeMessage, data: bytes, *, qos: int = 2, ackquant_ms: int = 50
    ) -> MessageOutcome:
        """Answer whoever sent this."""
        return await self.send(
            question.return_address, question.sid, data, qos=qos, ackquant_ms=ackquant_ms
        )

    async def receive(self) -> NodeMessage:
        """The next message; UnreachableError once the node is closed."""
        message = await self._inbox.take()
        if message is None:
            raise UnreachableError(f"node {self.id} is closed")
        return message

    def __aiter__(self) -> AsyncIterator[NodeMessage]:
        return aiter(self._inbox)

    def close(self) -> None:
        """Give the id back; what still comes for it is answered with an error."""
        if not self._is_closed:
            self._is_closed = True
            self._inbox.close()
            self._tower.forget_node(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- for the tower ---

    def received(self, message: NodeMessage) -> None:
        self._inbox.put(message, len(message.data))

    def refused(self, refusal: NodeRefused) -> None:
        if self.on_refused is not None:
            self.on_refused(refusal)
