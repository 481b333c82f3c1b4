"""Nodes: the ports of a tower, by 16-bit ids.

    tower ─PacketArrived, type 3─▶ Nodes ─┬─ whole, node known ──▶ NodeMessage, or its handler
                                          ├─ chunk ──────────────▶ reassembled first
                                          ├─ error ──────────────▶ NodeRefused, or its handler
                                          └─ node unknown ───────▶ error 33 goes back, once

An error is never answered: two towers that did so would exchange errors for ever. For the same
reason only a registered node can send. A handler serves a node inside the core (a channel, an
acceptor, a message box); messages for the other nodes become events for the shell.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from rookery.crow.events import Event, MessageUndelivered, NodeRefused, Notice, TowerNotice
from rookery.crow.limits import NodeLimits
from rookery.crow.nodes.reassembly import MessageReassembly
from rookery.crow.nodes.splitting import MessageSplitter, SplitOutcome
from rookery.crow.packet_events import MessageDelivered, NodeMessage, PacketArrived, Ticket
from rookery.crow.timer_queues import TimerQueues
from rookery.crow.tower.tower import Tower
from rookery.errors import CongestionError, DecodeError, UsageError
from rookery.wire.crow.node import NODE_MAX, NodePacket
from rookery.wire.crow.packet import NODE

DYNAMIC_MIN: Final = 0x8000
_DYNAMIC_COUNT: Final = NODE_MAX + 1 - DYNAMIC_MIN


class NodeHandler(Protocol):
    """Serves a node inside the core."""

    def received(self, message: NodeMessage, now: float) -> None: ...

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """The remote tower has no node with the id that we sent to."""
        ...

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        """A message was delivered (no failure), or was not."""
        ...


class NodeTimer:
    """Wakes a handler; set it with `Nodes.wake`, and end it by `due = None`."""

    __slots__ = ("due", "fire")

    def __init__(self, fire: Callable[[float], None]) -> None:
        self.fire = fire
        self.due: float | None = None


class Nodes:
    """The nodes of one tower; drive the tower through them: `deadline`, `tick` and `take`."""

    def __init__(self, tower: Tower, limits: NodeLimits | None = None) -> None:
        self.tower = tower
        self._handlers: dict[int, NodeHandler | None] = {}
        self._stand_ins: dict[int, NodeHandler] = {}
        self._senders: dict[Ticket, NodeHandler] = {}  # handlers that wait for an outcome
        self._chunks = MessageReassembly((limits or NodeLimits()).chunks, tower.dropped)
        self._splitting = MessageSplitter(tower, self._split_outcome)
        self._timers: TimerQueues[NodeTimer] = TimerQueues()
        self._notices: list[Notice] = []
        self._unhandled: deque[TowerNotice] = deque()  # those that concern nodes
        # Random, so that late packets do not reach another node with the same id after a restart.
        self._next_dynamic = int.from_bytes(tower.random(2), "little") % _DYNAMIC_COUNT

    def register(self, node: int | None = None, handler: NodeHandler | None = None) -> int:
        """Take a node id, by default a free dynamic one; UsageError when it is taken."""
        if node is None:
            node = self._free_dynamic()
        if not 0 <= node <= NODE_MAX:
            raise UsageError(f"no node has the id {node}")
        if node in self._handlers:
            raise UsageError(f"node {node} is registered already")
        self._handlers[node] = handler
        return node

    def unregister(self, node: int) -> None:
        """Give a node id back; what still comes for it is answered with an error."""
        self._handlers.pop(node, None)

    def stand_in(self, node: int, handler: NodeHandler) -> None:
        """For handlers: receive what comes for a node while it is not registered."""
        self._stand_ins[node] = handler

    def stand_down(self, node: int, handler: NodeHandler) -> None:
        if self._stand_ins.get(node) is handler:
            del self._stand_ins[node]

    def __contains__(self, node: int) -> bool:
        return node in self._handlers

    def __len__(self) -> int:
        """Nodes registered."""
        return len(self._handlers)

    def send(
        self,
        address: bytes,
        sid: int,
        rid: int,
        data: bytes,
        now: float,
        *,
        qos: int = 2,
        ackquant_ms: int = 50,
        chunk_size: int | None = None,
    ) -> Ticket:
        """Send from our node to another; split it when it is longer than `chunk_size`."""
        if sid not in self._handlers:
            raise UsageError(f"node {sid} is not registered here and cannot send")
        packet = NodePacket(sid, rid, data)
        chunks = [packet] if chunk_size is None else packet.chunks(chunk_size)
        if len(chunks) > 1:
            ticket = self._splitting.send(address, chunks, now, qos, ackquant_ms)
        else:
            ticket = self.tower.send(
                address, packet.serialize(), now, type=NODE, qos=qos, ackquant_ms=ackquant_ms
            )
        handler = self._handlers[sid]
        if qos and handler is not None:
            self._senders[ticket] = handler
        return ticket

    def emit(self, notice: Notice) -> None:
        """For handlers: pass a notice to the shell."""
        self._notices.append(notice)

    def wake(self, timer: NodeTimer, wait_s: float, now: float) -> None:
        """For handlers: set the timer; this replaces an earlier setting."""
        self._timers.wait(timer, wait_s, now)

    @property
    def deadline(self) -> float | None:
        """When `tick` is due, the tower's included."""
        earliest = self.tower.deadline
        for part in (self._chunks, self._splitting, self._timers):
            deadline = part.deadline
            if deadline is not None and (earliest is None or deadline < earliest):
                earliest = deadline
        return earliest

    def tick(self, now: float) -> None:
        self.tower.tick(now)
        self._chunks.tick(now)
        self._splitting.tick(now)
        for timer in self._timers.take_due(now):
            timer.fire(now)

    def take(self, now: float) -> list[Event]:
        """What happened since the last call, the tower's events and transmissions included."""
        notices = self.take_notices(now)
        return [*self.tower.take(), *notices]

    def take_notices(self, now: float, handled_max: int | None = None) -> list[Notice]:
        """Everything but transmissions, which the tower has.

        With `handled_max` no more of what concerns nodes is handled: an acknowledgement should not
        wait for what many messages lead to. Call again while `is_behind`.
        """
        left = -1 if handled_max is None else handled_max
        while left and (self._unhandled or self._fetch()):
            self._handle(self._unhandled.popleft(), now)
            left -= 1
        taken = self._notices
        self._notices = []
        return taken

    @property
    def is_behind(self) -> bool:
        """Whether something was left for the next call."""
        return bool(self._unhandled)

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to take, from the tower neither."""
        return not (self._unhandled or self._notices) and self.tower.is_quiet

    def _fetch(self) -> bool:
        """Keep what concerns nodes, pass the rest on; whether there is anything to handle."""
        keep, pass_on = self._unhandled.append, self._notices.append
        outcomes, chunks = self._senders, self._splitting.tickets
        for notice in self.tower.take_notices():
            if isinstance(notice, PacketArrived):
                is_ours = notice.packet.type == NODE
            else:
                is_ours = notice.ticket in outcomes or notice.ticket in chunks
            if is_ours:
                keep(notice)
            else:
                pass_on(notice)
        return bool(self._unhandled)

    def _handle(self, notice: TowerNotice, now: float) -> None:
        if isinstance(notice, PacketArrived):
            self._arrived(notice, now)
            return
        failure = notice.reason if isinstance(notice, MessageUndelivered) else None
        if not self._splitting.outcome(notice.ticket, failure, now):
            self._outcome(notice.ticket, failure, now)

    def _arrived(self, arrived: PacketArrived, now: float) -> None:
        try:
            packet = NodePacket.parse(arrived.packet.data)
        except DecodeError:
            self.tower.dropped["no node packet"] += 1
            return
        if packet.is_error:
            self._refused(packet, arrived.return_address, now)
        elif packet.rid not in self._handlers and packet.rid not in self._stand_ins:
            self._unknown(packet, arrived, now)
        else:
            data: bytes | None = packet.data
            if packet.chunk_id is not None:
                data = self._chunks.add(packet, arrived.packet, arrived.return_address, now)
            if data is not None:
                self._deliver(packet, data, arrived, now)

    def _deliver(self, packet: NodePacket, data: bytes, arrived: PacketArrived, now: float) -> None:
        message = NodeMessage(
            packet.sid,
            packet.rid,
            arrived.return_address,
            data,
            arrived.packet.qos,
            arrived.packet.ackquant_ms,
        )
        if message.rid in self._handlers:
            handler = self._handlers[message.rid]
        else:
            handler = self._stand_ins[message.rid]
        if handler is None:
            self._notices.append(message)
        else:
            handler.received(message, now)

    def _refused(self, packet: NodePacket, return_address: bytes, now: float) -> None:
        if packet.rid not in self._handlers:
            self.tower.dropped["error for an unknown node"] += 1
            return
        try:
            code = packet.error_code
        except DecodeError:
            self.tower.dropped["no node packet"] += 1
            return
        refusal = NodeRefused(packet.rid, packet.sid, return_address, code)
        handler = self._handlers[packet.rid]
        if handler is None:
            self._notices.append(refusal)
        else:
            handler.refused(refusal, now)

    def _unknown(self, packet: NodePacket, arrived: PacketArrived, now: float) -> None:
        self.tower.dropped["unknown node"] += 1
        if packet.chunk_id:
            return  # its first chunk is answered
        error = NodePacket.error(packet.rid, packet.sid).serialize()
        ackquant_ms = arrived.packet.ackquant_ms
        self.tower.send(arrived.return_address, error, now, type=NODE, ackquant_ms=ackquant_ms)

    def _split_outcome(self, outcome: SplitOutcome, now: float) -> None:
        self._outcome(outcome.ticket, outcome.failure, now)

    def _outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        handler = self._senders.pop(ticket, None)
        if handler is not None:
            handler.outcome(ticket, failure, now)
        elif failure is None:
            self._notices.append(MessageDelivered(ticket))
        else:
            self._notices.append(MessageUndelivered(ticket, failure))

    def _free_dynamic(self) -> int:
        for _ in range(_DYNAMIC_COUNT):
            node = DYNAMIC_MIN + self._next_dynamic
            self._next_dynamic = (self._next_dynamic + 1) % _DYNAMIC_COUNT
            if node not in self._handlers:
                return node
        raise CongestionError("every dynamic node id is taken")
