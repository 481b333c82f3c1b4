"""A broker's client as programs see it: publish, subscribe, ask and serve.

    async with tower.subscribe(broker, "rooms/+/light", qos=1) as messages:
        async for message in messages: …

Subscriptions are repeated every two seconds, so that they outlive a restart of the broker.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rookery.crow.packet_events import Ticket
from rookery.crow.pubsub.client_node import PubSubClientNode
from rookery.crow.pubsub.orders import DeliveryOptions
from rookery.errors import DecodeError, UnreachableError
from rookery.runtime.crow.inbox import CrowInbox
from rookery.runtime.crow.outcome import DeliveryStatus, MessageOutcome
from rookery.wire.crow.message import Consume
from rookery.wire.crow.pubsub import PubSubQuery

if TYPE_CHECKING:
    from rookery.runtime.crow.tower import CrowTower

ANSWER_WITHIN_S: Final = 10.0
QOS: Final = 1
ACKQUANT_MS: Final = 200

Service = Callable[[bytes], Awaitable[bytes]]


class Subscription:
    """The messages of one theme or pattern; made by `CrowClient.subscribe`.

    The newest are kept until they are read; `missed` counts older ones that were dropped.
    """

    def __init__(
        self, client: "CrowClient", theme: bytes, terms: DeliveryOptions, latest: int
    ) -> None:
        self.missed = 0
        self.theme = theme
        self.terms = terms
        self.latest = latest
        self._client = client
        self._full: set[int] = set()
        self._inbox: CrowInbox[Consume] = CrowInbox(self._full, 0)

    async def __aenter__(self) -> Self:
        """Return once the broker's tower has it; UnreachableError when that does not answer."""
        await self._client.begin(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.end(self)

    async def receive(self) -> Consume:
        """The next message; UnreachableError once the subscription is over."""
        message = await self._inbox.take()
        if message is None:
            raise UnreachableError("the subscription is over")
        return message

    def __aiter__(self) -> AsyncIterator[Consume]:
        return aiter(self._inbox)

    def put(self, message: Consume) -> None:
        if self._full:
            self._inbox.drop_oldest()
            self.missed += 1
        self._inbox.put(message, len(message.data))

    def close(self) -> None:
        self._inbox.close()


class CrowClient:
    """A tower's subscriptions and requests at one broker; made by `CrowTower.client`."""

    def __init__(self, tower: "CrowTower", broker: bytes) -> None:
        self._tower = tower
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self._node = PubSubClientNode(tower.nodes, broker, self)
        self._subscriptions: dict[bytes, list[Subscription]] = {}
        self._pending: dict[bytes, asyncio.Future[bytes]] = {}  # by reply theme
        self.on_refused: Callable[[], object] | None = (
            None  # called when there is no broker at the address
        )

    def subscribe(
        self, theme: str | bytes, *, qos: int = QOS, ackquant_ms: int = ACKQUANT_MS, latest: int = 0
    ) -> Subscription:
        """Use it with `async with`; `latest` requests as many retained messages, newest first."""
        return Subscription(self, _name(theme), DeliveryOptions(qos, ackquant_ms), latest)

    async def publish(
        self, theme: str | bytes, data: bytes, *, qos: int = QOS, ackquant_ms: int = ACKQUANT_MS
    ) -> MessageOutcome:
        """Publish; the outcome says if the message reached the broker."""
        if qos:
            await self._tower.outcomes.wait_for_room(self._broker)
        terms = DeliveryOptions(qos, ackquant_ms)
        ticket = self._node.publish(_name(theme), data, terms, self._tower.now())
        return await self._tower.outcome(ticket, qos)

    async def ask(
        self,
        theme: str | bytes,
        data: bytes,
        *,
        timeout_s: float = ANSWER_WITHIN_S,
        qos: int = QOS,
        ackquant_ms: int = ACKQUANT_MS,
    ) -> bytes:
        """Send a query to the service of this theme; its answer, or UnreachableError."""
        tower, terms = self._tower, DeliveryOptions(qos, ackquant_ms)
        if qos:
            await tower.outcomes.wait_for_room(self._broker)
        reply, ticket = self._node.ask(_name(theme), data, terms, tower.now())
        future = self._pending[reply] = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout_s):
                outcome = await tower.outcome(ticket, qos)
                if outcome.status is DeliveryStatus.UNDELIVERED:
                    raise UnreachableError(f"the broker does not answer: {outcome.reason}")
                answer: bytes = await future
                return answer
        except TimeoutError as error:
            raise UnreachableError("nobody has answered in time") from error
        finally:
            del self._pending[reply]
            self._node.finish(reply, tower.now())
            tower.pump()

    async def serve(
        self,
        theme: str | bytes,
        service: Service,
        *,
        qos: int = QOS,
        ackquant_ms: int = ACKQUANT_MS,
    ) -> None:
        """Answer queries to this theme with what `service(data)` returns, until cancelled."""
        async with self.subscribe(theme, qos=qos, ackquant_ms=ackquant_ms) as questions:
            await self.answer(questions, service)

    async def answer(self, questions: Subscription, service: Service) -> None:
        """As `serve`, for a subscription that exists already."""
        async for question in questions:
            try:
                query = PubSubQuery.parse(question.data)
            except DecodeError:  # a publication, not a query
                continue
            data = await service(query.data)
            if questions.terms.qos:
                await self._tower.outcomes.wait_for_room(self._broker)
            self._node.answer(query, data, questions.terms, self._tower.now())
            self._tower.pump()

    def close(self) -> None:
        self._node.close()
        for theme in list(self._subscriptions):
            for subscription in self._subscriptions.pop(theme):
                subscription.close()
        self._fail("the tower was closed")

    # --- for subscriptions ---

    async def begin(self, subscription: Subscription) -> None:
        theme, terms = subscription.theme, subscription.terms
        if terms.qos:
            await self._tower.outcomes.wait_for_room(self._broker)
        now = self._tower.now()
        ticket = self._node.subscribe(theme, terms, now, latest=subscription.latest)
        self._subscriptions.setdefault(theme, []).append(subscription)
        if ticket is None:
            return
        try:
            await self._begun(ticket, terms.qos)
        except BaseException:
            self.end(subscription)
            raise

    def end(self, subscription: Subscription) -> None:
        subscription.close()
        others = self._subscriptions.get(subscription.theme)
        if others is None:
            return
        with suppress(ValueError):
            others.remove(subscription)
        if not others:
            del self._subscriptions[subscription.theme]
            self._node.unsubscribe(subscription.theme, self._tower.now())
            self._tower.pump()

    async def _begun(self, ticket: Ticket, qos: int) -> None:
        outcome = await self._tower.outcome(ticket, qos)
        if outcome.status is DeliveryStatus.UNDELIVERED:
            raise UnreachableError(f"the broker does not answer: {outcome.reason}")

    # --- callbacks of the core ---

    def consumed(self, message: Consume, subscriptions: list[bytes]) -> None:
        for theme in subscriptions:
            for subscription in self._subscriptions.get(theme, ()):
                subscription.put(message)

    def answered(self, reply: bytes, data: bytes) -> None:
        future = self._pending.get(reply)
        if future is not None and not future.done():
            future.set_result(data)

    def outcome(self, ticket: Ticket, failure: str | None) -> None:
        self._tower.outcomes.tell(ticket, failure)

    def refused(self) -> None:
        self._fail("there is no broker")
        if self.on_refused is not None:
            self.on_refused()

    def _fail(self, reason: str) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(UnreachableError(reason))


def _name(theme: str | bytes) -> bytes:
    return theme.encode() if isinstance(theme, str) else theme
