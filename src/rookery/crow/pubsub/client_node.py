"""A broker's client in a tower: one node that publishes, subscribes and sends requests.

    PubSubClientNode ─ Publish, Subscribe, Request ─▶ Nodes ─▶ broker
    Nodes ─ Consume ─▶ PubSubClientNode ─┬─ of a request ──▶ answered
                                         └─ of a theme ────▶ consumed

Messages from other addresses than the broker's are dropped: any node can send a Consume.
"""

from typing import Protocol

from rookery.crow.events import NodeRefused
from rookery.crow.nodes.nodes import Nodes, NodeTimer
from rookery.crow.packet_events import NodeMessage, Ticket
from rookery.crow.pubsub.orders import ClientSend, DeliveryOptions, chunk_size
from rookery.crow.pubsub.requests import PubSubRequests, one_way_request, query_answer
from rookery.crow.pubsub.subscriber import Subscriber
from rookery.errors import CongestionError, DecodeError
from rookery.wire.crow.message import Consume, Publish
from rookery.wire.crow.pubsub import BROKER_NODE, PubSubQuery


class PubSubListener(Protocol):
    """Receives the events of a client node."""

    def consumed(self, message: Consume, subscriptions: list[bytes]) -> None:
        """A message came that matches these of our themes and patterns."""

    def answered(self, reply: bytes, data: bytes) -> None:
        """The request with this reply theme has its answer."""

    def outcome(self, ticket: Ticket, failure: str | None) -> None:
        """What we sent has reached the broker's tower (no failure), or has not."""

    def refused(self) -> None:
        """There is no broker at the broker's tower."""


class PubSubClientNode:
    """Time is an argument: monotonic seconds."""

    def __init__(
        self, nodes: Nodes, broker: bytes, listener: PubSubListener, node: int | None = None
    ) -> None:
        self._nodes = nodes
        self._broker = broker  # its address
        self._listener = listener
        self._subscriber = Subscriber()
        self._requests = PubSubRequests(self._subscriber, nodes.tower.random)
        self._unconfirmed: dict[Ticket, bytes] = {}  # theme of each Subscribe in flight
        self._timer = NodeTimer(self._on_timer)
        self.node = nodes.register(node, self)

    def subscribe(
        self, theme: bytes, terms: DeliveryOptions, now: float, *, latest: int = 0
    ) -> Ticket | None:
        """Subscribe to a theme or pattern, until `unsubscribe`; `latest` asks for old messages.

        None when it could not be sent at once; it is repeated until it is.
        """
        call = self._subscriber.subscribe(theme, terms, now, latest=latest)
        ticket = self._say(theme, call, now)
        self._rearm(now)
        return ticket

    def unsubscribe(self, theme: bytes, now: float) -> None:
        self._try_call(self._subscriber.unsubscribe(theme), now)

    def publish(self, theme: bytes, data: bytes, terms: DeliveryOptions, now: float) -> Ticket:
        return self._call(ClientSend(Publish(theme, data).serialize(), *terms), now)

    def ask(
        self, theme: bytes, data: bytes, terms: DeliveryOptions, now: float
    ) -> tuple[bytes, Ticket]:
        """Send a request; its reply theme tells its answer from others."""
        reply, call = self._requests.ask(theme, data, terms, now)
        self._rearm(now)
        try:
            return reply, self._call(call, now)
        except CongestionError:
            self._requests.finish(reply)
            raise

    def tell(self, theme: bytes, data: bytes, terms: DeliveryOptions, now: float) -> Ticket:
        """Send a request that wants no answer."""
        return self._call(one_way_request(theme, data, terms), now)

    def finish(self, reply: bytes, now: float) -> None:
        """The answer is no longer wanted."""
        self._try_call(self._requests.finish(reply), now)

    def answer(
        self, query: PubSubQuery, data: bytes, terms: DeliveryOptions, now: float
    ) -> Ticket | None:
        """As a service, answer a request; None if it wants no answer."""
        call = query_answer(query, data, terms)
        return None if call is None else self._call(call, now)

    def close(self) -> None:
        """Stop renewing subscriptions; the broker removes them after a while."""
        self._timer.due = None
        self._nodes.unregister(self.node)

    def received(self, message: NodeMessage, now: float) -> None:
        if message.sid != BROKER_NODE or message.return_address != self._broker:
            self._nodes.tower.dropped["not from our broker"] += 1
            return
        try:
            consume = Consume.parse(message.data)
        except DecodeError:
            self._nodes.tower.dropped["no message of a broker"] += 1
            return
        if consume.theme in self._requests:
            self.finish(consume.theme, now)
            self._listener.answered(consume.theme, consume.data)
        elif subscriptions := self._subscriber.matching(consume.theme):
            self._listener.consumed(consume, subscriptions)
        else:
            # A C++ broker ignores Unsubscribe, and a second answer may be in flight.
            self._nodes.tower.dropped["not subscribed"] += 1

    def refused(self, refusal: NodeRefused, now: float) -> None:
        if (refusal.return_address, refusal.sid) == (self._broker, BROKER_NODE):
            self._listener.refused()

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        theme = self._unconfirmed.pop(ticket, None)
        if theme is not None and failure is None:
            self._try_call(self._subscriber.confirmed(theme), now)
        self._listener.outcome(ticket, failure)

    def _say(self, theme: bytes, call: ClientSend, now: float) -> Ticket | None:
        ticket = self._try_call(call, now)
        if call.qos and ticket is not None:
            self._unconfirmed[ticket] = theme
        elif ticket is not None:
            self._try_call(self._subscriber.confirmed(theme), now)
        return ticket

    def _on_timer(self, now: float) -> None:
        for theme, call in self._subscriber.tick(now):
            self._say(theme, call, now)
        self._rearm(now)

    def _rearm(self, now: float) -> None:
        deadline = self._subscriber.deadline
        if deadline is not None and self._timer.due is None:
            self._nodes.wake(self._timer, max(deadline - now, 0.0), now)

    def _try_call(self, call: ClientSend | None, now: float) -> Ticket | None:
        """For messages that are repeated anyway, or whose loss does no harm."""
        if call is None:
            return None
        try:
            return self._call(call, now)
        except CongestionError:
            self._nodes.tower.dropped["congestion"] += 1
            return None

    def _call(self, call: ClientSend, now: float) -> Ticket:
        return self._nodes.send(
            self._broker,
            self.node,
            BROKER_NODE,
            call.body,
            now,
            qos=call.qos,
            ackquant_ms=call.ackquant_ms,
            chunk_size=chunk_size(call.body),
        )
