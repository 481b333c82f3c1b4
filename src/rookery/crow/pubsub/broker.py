"""The broker: takes what clients publish and sends it to those who subscribed.

    received(client, body)  ──▶ Publish      remember, one BrokerSend per subscriber
                                Subscribe    know the client from now on; again: still there
                                … of latest  and a Send per remembered message, newest first
                                Request      subscribe to the reply theme, publish the question
                                Unsubscribe  forget the subscription

It knows neither towers nor sockets. Its driver delivers bodies, carries out every `BrokerSend`, and
tells which of them were not delivered. What cannot be served is dropped and counted.
"""

from collections import Counter
from collections.abc import Callable

from rookery.crow.limits import BrokerLimits
from rookery.crow.pubsub.commands import BrokerCommands
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend, DeliveryOptions
from rookery.crow.pubsub.subscriptions import Subscriptions
from rookery.crow.pubsub.themes import Themes
from rookery.errors import DecodeError, UsageError
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.node import MESSAGE_SIZE_MAX
from rookery.wire.crow.pubsub import (
    CONTROL_THEME,
    NO_ANSWER,
    Operation,
    PubSubQuery,
    PubSubRequest,
    Subscribe,
    SubscribeLatest,
    Unsubscribe,
    parse,
    parse_legacy,
)

OnPublished = Callable[[BrokerClient | None, bytes, bytes, int], object]  # client, theme, data, qos


class Broker:
    """Time is an argument: monotonic seconds."""

    def __init__(self, now: float, limits: BrokerLimits | None = None) -> None:
        self.limits = limits or BrokerLimits()
        self.published = 0
        self.on_published: OnPublished | None = None
        self.dropped: Counter[str] = Counter()
        self.themes = Themes(self.limits.themes, self.dropped)
        self._subscriptions = Subscriptions(
            self.themes, self.limits.clients, self.limits.patterns_max, self.dropped
        )
        self.clients = self._subscriptions.clients
        self._control = BrokerCommands(self.themes, self.clients)
        self.themes.serve(CONTROL_THEME, now)

    def received(
        self, client: BrokerClient, body: bytes, now: float, qos: int = 0
    ) -> list[BrokerSend]:
        """A message for the broker's node, and with which quality of service it came."""
        return self._received(client, parse, body, now, qos)

    def received_legacy(self, address: bytes, data: bytes, now: float) -> list[BrokerSend]:
        """The data of a packet of type 4; its sender is known by the return address alone."""
        return self._received(BrokerClient(address, None), parse_legacy, data, now, 0)

    def undelivered(self, client: BrokerClient) -> None:
        """One of the sends with quality of service 1 or 2 did not arrive: the client is gone."""
        self._subscriptions.forget(client)

    def command(self, text: bytes) -> bytes:
        """The answer to a command at the control node."""
        return self._control.execute(text)

    def publish(self, theme: bytes, data: bytes, now: float) -> list[BrokerSend]:
        """Publish without a client; UsageError for what no packet could carry."""
        if len(Consume(theme, data).serialize()) > MESSAGE_SIZE_MAX:
            raise UsageError(f"{len(data)} bytes are too many for one message")
        self._subscriptions.expire(now)
        if self.on_published is not None:
            self.on_published(None, theme, data, 0)
        return self._publish(theme, data, now)

    @property
    def deadline(self) -> float | None:
        """When to call `tick`; None while no client has to be seen again."""
        return self.clients.deadline

    def tick(self, now: float) -> None:
        self._subscriptions.expire(now)

    def _received(
        self,
        client: BrokerClient,
        reader: Callable[[bytes], Operation],
        body: bytes,
        now: float,
        qos: int,
    ) -> list[BrokerSend]:
        self._subscriptions.expire(now)
        if len(body) > MESSAGE_SIZE_MAX:
            self.dropped["too large"] += 1
            return []
        try:
            operation = reader(body)
        except DecodeError:
            self.dropped["malformed"] += 1
            return []
        self.clients.seen(client, now)
        if self.on_published is not None and isinstance(operation, Publish | PubSubRequest):
            self.on_published(client, operation.theme, operation.data, qos)
        return self._handle(client, operation, now)

    def _handle(self, client: BrokerClient, operation: Operation, now: float) -> list[BrokerSend]:
        if isinstance(operation, Publish):
            return self._publish(operation.theme, operation.data, now)
        match operation:
            case Subscribe(theme, qos, ackquant_ms):
                self._subscriptions.subscribe(client, theme, DeliveryOptions(qos, ackquant_ms), now)
            case SubscribeLatest(theme, qos, ackquant_ms, updates=updates):
                terms = DeliveryOptions(qos, ackquant_ms)
                if updates:
                    self._subscriptions.subscribe(client, theme, terms, now)
                return self._latest(client, operation)
            case PubSubRequest():
                return self._request(client, operation, now)
            case Unsubscribe(theme):
                self._subscriptions.unsubscribe(client, theme)
            case Consume():
                self.dropped["not for a broker"] += 1
        return []

    def _publish(self, theme: bytes, data: bytes, now: float) -> list[BrokerSend]:
        body = Consume(theme, data).serialize()
        self.published += 1
        kept = self.themes.open(theme, now)
        if kept is None:
            targets = self._subscriptions.targets_by_pattern(theme)
        else:
            self.themes.remember(kept, body, now)
            targets = self._subscriptions.targets(kept)
        sends = [BrokerSend(client, body, qos, ackquant_ms) for client, qos, ackquant_ms in targets]
        if theme == CONTROL_THEME:
            sends += self._answer(data, now)
        return sends

    def _latest(self, client: BrokerClient, wanted: SubscribeLatest) -> list[BrokerSend]:
        sends: list[BrokerSend] = []
        count, room = min(wanted.latest, self.limits.latest_max), self.limits.latest_bytes_max
        for theme in self._subscriptions.themes(wanted.theme) if count else ():
            for body in theme.latest(count):
                room -= len(body)
                if room < 0 or len(sends) == self.limits.latest_max:
                    return sends
                sends.append(BrokerSend(client, body, wanted.rqos, wanted.rackquant_ms))
        return sends

    def _request(
        self, client: BrokerClient, request: PubSubRequest, now: float
    ) -> list[BrokerSend]:
        if request.reply_theme != NO_ANSWER:
            terms = DeliveryOptions(request.rqos, request.rackquant_ms)
            self._subscriptions.subscribe(client, request.reply_theme, terms, now, is_reply=True)
        query = PubSubQuery(request.reply_theme, request.data)
        return self._publish(request.theme, query.serialize(), now)

    def _answer(self, data: bytes, now: float) -> list[BrokerSend]:
        """The broker is a service too: it answers commands on its control theme."""
        try:
            query = PubSubQuery.parse(data)
        except DecodeError:
            self.dropped["malformed"] += 1
            return []
        # An answer on the control theme would be taken for the next command.
        if query.reply_theme in (NO_ANSWER, CONTROL_THEME):
            return []
        return self._publish(query.reply_theme, self._control.execute(query.data), now)
