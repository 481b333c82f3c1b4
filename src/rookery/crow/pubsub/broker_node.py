"""The broker in a tower: node 3 for clients, 100 for commands, 101 for beams.

    Nodes ─ message for node 3 ─▶ BrokerNode ─▶ Broker ─ BrokerSend ─▶ Nodes
    Nodes ─ not delivered ──────▶ BrokerNode ─▶ Broker: that client is gone

Packets of type 4 have no node: the shell that drives the tower passes their events to `handle`.
"""

from typing import Final

from rookery.crow.events import MessageUndelivered, NodeRefused, Notice
from rookery.crow.nodes.nodes import Nodes, NodeTimer
from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.crow.pubsub.broker import Broker
from rookery.crow.pubsub.orders import BrokerClient, BrokerSend, chunk_size
from rookery.crow.pubsub.themes import SILENCE_S_MAX
from rookery.errors import CongestionError, UsageError
from rookery.wire.crow.node import NodePacket
from rookery.wire.crow.packet import LEGACY_PUBSUB, NODE
from rookery.wire.crow.pubsub import BEAM_NODE, BROKER_NODE, CONTROL_NODE

_NOTHING: Final = NodePacket(0, 0, b"")


class BrokerNode:
    """Carries out the broker's orders and reports the outcomes to it."""

    def __init__(self, nodes: Nodes, broker: Broker) -> None:
        self.broker = broker
        self._nodes = nodes
        self._in_flight: dict[Ticket, BrokerClient] = {}
        self._timer = NodeTimer(self._on_timer)
        self._shared = _NOTHING  # the last message sent, if it had no need to be followed up
        self._shared_data = b""
        nodes.register(BROKER_NODE, self)
        nodes.register(CONTROL_NODE, _ControlNode(nodes, broker))
        nodes.register(BEAM_NODE, _BeamNode())

    def received(self, message: NodeMessage, now: float) -> None:
        client = BrokerClient(message.return_address, message.sid)
        self._carry_out(self.broker.received(client, message.data, now, message.qos), now)

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """There is a tower, but the client's node is gone from it."""
        self.broker.undelivered(BrokerClient(refusal.return_address, refusal.sid))

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        client = self._in_flight.pop(ticket, None)
        if client is not None and failure is not None:
            self.broker.undelivered(client)

    def handle(self, notice: Notice, now: float) -> bool:
        """A notice that no node has taken; True if it was for the broker."""
        if isinstance(notice, PacketArrived):
            if notice.packet.type != LEGACY_PUBSUB:
                return False
            sends = self.broker.received_legacy(notice.return_address, notice.packet.data, now)
            self._carry_out(sends, now)
            return True
        if (
            isinstance(notice, MessageDelivered | MessageUndelivered)
            and notice.ticket in self._in_flight
        ):
            failure = notice.reason if isinstance(notice, MessageUndelivered) else None
            self.outcome(notice.ticket, failure, now)
            return True
        return False

    def publish(self, theme: bytes, data: bytes, now: float) -> None:
        """Publish something of our own; UsageError for what no packet could carry."""
        self._carry_out(self.broker.publish(theme, data, now), now)

    def close(self) -> None:
        self._timer.due = None
        for node in (BROKER_NODE, CONTROL_NODE, BEAM_NODE):
            self._nodes.unregister(node)

    def _carry_out(self, sends: list[BrokerSend], now: float) -> None:
        for send in sends:
            try:
                ticket = self._send(send, now)
            except CongestionError:
                # The client is slow; if it is gone, the outcome of an earlier message shows that.
                self.broker.dropped["congestion"] += 1
            except UsageError:
                self.broker.dropped["does not fit a packet"] += 1
            else:
                if send.qos:
                    self._in_flight[ticket] = send.client
        self._shared = _NOTHING
        if self._timer.due is None and self.broker.deadline is not None:
            self._nodes.wake(self._timer, SILENCE_S_MAX, now)

    def _send(self, send: BrokerSend, now: float) -> Ticket:
        (address, node), body = send.client, send.body
        chunks = chunk_size(body)
        if node is None:
            data, kind = body, LEGACY_PUBSUB
        elif send.qos == 0 and chunks is None:
            # Most clients use the same node id, so that all of them can share these bytes too.
            if self._shared.data is not body or self._shared.rid != node:
                self._shared = NodePacket(BROKER_NODE, node, body)
                self._shared_data = self._shared.serialize()
            data, kind = self._shared_data, NODE
        else:
            return self._nodes.send(
                address,
                BROKER_NODE,
                node,
                body,
                now,
                qos=send.qos,
                ackquant_ms=send.ackquant_ms,
                chunk_size=chunks,
            )
        return self._nodes.tower.send(
            address, data, now, type=kind, qos=send.qos, ackquant_ms=send.ackquant_ms
        )

    def _on_timer(self, now: float) -> None:
        self.broker.tick(now)
        if self.broker.deadline is not None:
            self._nodes.wake(self._timer, SILENCE_S_MAX, now)


class _ControlNode:
    """Commands in plain text, each answered with the quality and the timer it came with."""

    def __init__(self, nodes: Nodes, broker: Broker) -> None:
        self._nodes = nodes
        self._broker = broker

    def received(self, message: NodeMessage, now: float) -> None:
        answer = self._broker.command(message.data)
        try:
            self._nodes.send(
                message.return_address,
                CONTROL_NODE,
                message.sid,
                answer,
                now,
                qos=message.qos,
                ackquant_ms=message.ackquant_ms,
                chunk_size=chunk_size(answer),
            )
        except CongestionError:
            self._broker.dropped["congestion"] += 1

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """The client is gone."""

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        """The client repeats an unanswered command."""


class _BeamNode:
    """Names that robots send every 2 seconds; the C++ broker does nothing with them either."""

    def received(self, message: NodeMessage, now: float) -> None: ...

    def refused(self, refusal: NodeRefused, now: float) -> None: ...

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None: ...
