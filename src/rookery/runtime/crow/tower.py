"""A tower on real media: its gates, its nodes, and everything a program does with them.

    gates ──packets──▶ Tower, Nodes (the core) ──events──▶ inboxes, nodes, channels, outcomes
      ▲                                             │
      └───────────────── transmissions ─────────────┘

It carries packets, time and requests back and forth; the core decides.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Final, Self

from rookery.crow.events import (
    CrowChannelChanged,
    CrowChannelOpened,
    MessageUndelivered,
    NodeRefused,
    Notice,
    QueryAnswered,
    QueryUnanswered,
)
from rookery.crow.limits import NodeLimits, TowerLimits
from rookery.crow.nodes.message_box import ANSWER_WITHIN_S
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.crow.tower.tower import Tower
from rookery.errors import UnreachableError, UsageError
from rookery.identity.cipher_set import RandomBytes
from rookery.runtime.crow.channel import ChannelHandler, CrowChannel, CrowChannels
from rookery.runtime.crow.client import CrowClient, Subscription
from rookery.runtime.crow.gates.gate import CrowGate, sender
from rookery.runtime.crow.gates.udp_gate import CrowUdpGate
from rookery.runtime.crow.inbox import CrowInbox
from rookery.runtime.crow.node import CrowNode, route_of
from rookery.runtime.crow.outcome import SENT, MessageOutcome
from rookery.runtime.crow.pending_outcomes import PendingOutcomes
from rookery.runtime.crow.pump import CrowPump
from rookery.runtime.crow.queries import CrowQueries
from rookery.wire.crow.packet import NODE, CrowPacket

NoticeHandler = Callable[[Notice, float], bool]

_RAW: Final = -1  # the inbox of packets that are for no node


class CrowTower:
    """`async with CrowTower() as tower:` and `tower.add_gate(await CrowUdpGate.bind(tower))`."""

    def __init__(
        self,
        *,
        forwards: bool = False,
        limits: TowerLimits | None = None,
        node_limits: NodeLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        random: RandomBytes = os.urandom,
    ) -> None:
        """`forwards`: relay packets between other towers; `clock` counts seconds."""
        self.now = clock
        self._core = Tower(random=random, limits=limits, forwards=forwards)
        self.nodes = Nodes(self._core, node_limits)
        self._gates: dict[int, CrowGate] = {}
        self._full: set[int] = set()
        self._inbox: CrowInbox[PacketArrived] = CrowInbox(self._full, _RAW)
        self._open_nodes: dict[int, CrowNode] = {}
        self.outcomes = PendingOutcomes(self._core.room, ample=max(self._core.room_max // 4, 1))
        self._channels = CrowChannels(self)
        self._queries = CrowQueries(self)
        self._clients: dict[bytes, CrowClient] = {}
        self._handlers: list[NoticeHandler] = []
        self._senders: dict[int, Callable[[list[CrowPacket]], None]] = {}
        self._pump = CrowPump(self.nodes, clock, self._senders, self._carry_out)
        self._is_closed = False
        self._serves_strangers = False

    @property
    def dropped(self) -> Mapping[str, int]:
        """Dropped packets by reason, without those that gates drop and count themselves."""
        return MappingProxyType(self._core.dropped)

    @property
    def gates(self) -> Mapping[int, CrowGate]:
        return MappingProxyType(self._gates)

    # --- packets ---

    async def send(
        self,
        address: bytes | str,
        data: bytes,
        *,
        kind: int = 0,
        qos: int = 0,
        ackquant_ms: int = 200,
    ) -> MessageOutcome:
        """Send a packet of any kind but 3, and return its outcome once that is known.

        Waits for room when too many packets to that address are in flight.
        """
        route = route_of(address)
        if qos and not self.outcomes.has_room(route):
            await self.outcomes.wait_for_room(route)
        ticket = self._core.send(
            route, data, self.now(), type=kind, qos=qos, ackquant_ms=ackquant_ms
        )
        return await self.outcome(ticket, qos)

    def post(
        self,
        address: bytes | str,
        data: bytes,
        *,
        kind: int = 0,
        qos: int = 0,
        ackquant_ms: int = 200,
    ) -> None:
        """As `send`, without waiting for anything; CongestionError when there is no room."""
        self._core.send(
            route_of(address), data, self.now(), type=kind, qos=qos, ackquant_ms=ackquant_ms
        )
        if not self._core.is_quiet:  # it may only have joined a queue
            self._pump.soon()

    async def receive(self) -> PacketArrived:
        """The next packet that is for no node; UnreachableError once the tower is closed."""
        arrived = await self._inbox.take()
        if arrived is None:
            raise UnreachableError("the tower is closed")
        return arrived

    def __aiter__(self) -> AsyncIterator[PacketArrived]:
        return aiter(self._inbox)

    # --- nodes, channels, requests ---

    def node(self, node: int | None = None) -> CrowNode:
        """Open a node, by default one with a free id; UsageError when it is taken."""
        opened = CrowNode(self, self.nodes.register(node), self._full)
        self._open_nodes[opened.id] = opened
        return opened

    async def connect(
        self, address: bytes | str, node: int, *, qos: int = 1, ackquant_ms: int = 200
    ) -> CrowChannel:
        """A channel to a node that accepts them; UnreachableError otherwise."""
        route = route_of(address)
        return await self._channels.connect(route, node, qos=qos, ackquant_ms=ackquant_ms)

    def accept(self, node: int | None, handler: ChannelHandler) -> int:
        """Run `handler(channel)` for every channel that is opened to this node; returns its id."""
        return self._channels.accept(node, handler)

    async def request(
        self,
        address: bytes | str,
        node: int,
        data: bytes,
        *,
        timeout_s: float = ANSWER_WITHIN_S,
        qos: int = 2,
        ackquant_ms: int = 50,
    ) -> bytes:
        """Send a request to a node; its reply, or UnreachableError."""
        route = route_of(address)
        return await self._queries.ask(
            route, node, data, timeout_s=timeout_s, qos=qos, ackquant_ms=ackquant_ms
        )

    # --- publish and subscribe ---

    def client(self, broker: bytes | str) -> CrowClient:
        """The client of the broker at this address."""
        route = route_of(broker)
        if route not in self._clients:
            self._clients[route] = CrowClient(self, route)
        return self._clients[route]

    def subscribe(
        self,
        broker: bytes | str,
        theme: str | bytes,
        *,
        qos: int = 1,
        ackquant_ms: int = 200,
        latest: int = 0,
    ) -> Subscription:
        """`async with tower.subscribe(…) as messages: async for message in messages: …`"""
        client = self.client(broker)
        return client.subscribe(theme, qos=qos, ackquant_ms=ackquant_ms, latest=latest)

    async def publish(
        self,
        broker: bytes | str,
        theme: str | bytes,
        data: bytes,
        *,
        qos: int = 1,
        ackquant_ms: int = 200,
    ) -> MessageOutcome:
        """Publish; the outcome says if the message reached the broker."""
        return await self.client(broker).publish(theme, data, qos=qos, ackquant_ms=ackquant_ms)

    def forget_node(self, node: CrowNode) -> None:
        self.nodes.unregister(node.id)
        self._open_nodes.pop(node.id, None)

    # --- gates ---

    def add_gate(self, gate: CrowGate) -> None:
        """Carry packets through this gate as well; it is closed with the tower."""
        if gate.id in self._gates:
            raise UsageError(f"there is a gate {gate.id} already")
        self._gates[gate.id] = gate
        self._senders[gate.id] = sender(gate)
        self._core.gates.add(gate.id)
        self._guard(gate)

    def serve_strangers(self) -> None:
        """Answer unknown peers with more than they sent, once their UDP address is validated."""
        self._serves_strangers = True
        for gate in self._gates.values():
            self._guard(gate)

    def _guard(self, gate: CrowGate) -> None:
        if self._serves_strangers and isinstance(gate, CrowUdpGate):
            self._core.guard(gate.id)

    def received(self, packets: list[CrowPacket], return_hop: bytes) -> None:
        if self._full:
            welcome = [each for each in packets if not self._is_unwelcome(each, return_hop)]
            self._core.dropped["inbox full"] += len(packets) - len(welcome)
            packets = welcome
        self._core.received_all(packets, return_hop, self.now())

    def drained(self, *, is_more: bool = False) -> None:
        self._pump.is_behind = is_more
        self._pump.run()

    def _is_unwelcome(self, packet: CrowPacket, return_hop: bytes) -> bool:
        """True if it is for an inbox that is full; it must not be acknowledged then."""
        if packet.is_ack or packet.stage + len(return_hop) < len(packet.address):
            return False
        # A node packet names the node it is for in its third and fourth byte.
        inbox = int.from_bytes(packet.data[2:4], "little") if packet.type == NODE else _RAW
        return inbox in self._full

    # --- closing ---

    async def close(self) -> None:
        """End every task and channel, resolve waiting tasks, close every gate."""
        if self._is_closed:
            return
        await self._channels.close()
        self.pump()
        self._is_closed = True
        self._pump.close()
        self.outcomes.close()
        self._queries.close()
        for client in self._clients.values():
            client.close()
        self._inbox.close()
        for node in list(self._open_nodes.values()):
            node.close()
        for gate in self._gates.values():
            await gate.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- for nodes, channels, brokers: whatever is done with `nodes`, `pump` must follow ---

    def pump(self) -> None:
        """Carry out what the core has decided."""
        self._pump.run()

    def add_handler(self, handler: NoticeHandler) -> None:
        """Pass every notice of the core to `handler(notice, now)` first; True consumes it."""
        self._handlers.append(handler)

    async def outcome(self, ticket: Ticket, qos: int) -> MessageOutcome:
        """The outcome of a message that was just sent."""
        future = self.outcomes.expect(ticket)
        self.pump()
        try:
            return await future if qos or future.done() else SENT
        finally:
            if not future.done() or future.cancelled():
                self.outcomes.forget(ticket)

    def _carry_out(self, notices: list[Notice]) -> None:
        handlers = self._handlers
        arrived: list[PacketArrived] = []
        for notice in notices:
            if handlers and self._is_handled(notice):
                continue
            if isinstance(notice, PacketArrived):  # nearly all are one of these two
                arrived.append(notice)
            elif isinstance(notice, MessageDelivered):
                self.outcomes.tell(notice.ticket, None)
            else:
                self._carry_out_other(notice)
        if arrived:
            self._inbox.put_all(arrived, [len(each.packet.data) for each in arrived])
        if self.outcomes.is_room_awaited:
            self.outcomes.call_up()

    def _is_handled(self, notice: Notice) -> bool:
        now = self.now()
        return any(handler(notice, now) for handler in self._handlers)

    def _carry_out_other(self, notice: Notice) -> None:
        match notice:
            case MessageUndelivered(ticket, reason):
                self.outcomes.tell(ticket, reason)
            case NodeMessage():
                if (node := self._open_nodes.get(notice.rid)) is not None:
                    node.received(notice)
            case NodeRefused():
                if (node := self._open_nodes.get(notice.node)) is not None:
                    node.refused(notice)
            case CrowChannelOpened(channel):
                self._channels.opened(channel)
            case CrowChannelChanged(channel):
                self._channels.changed(channel)
            case QueryAnswered(query, data):
                self._queries.answered(query, data)
            case QueryUnanswered(query, reason):
                self._queries.unanswered(query, reason)
