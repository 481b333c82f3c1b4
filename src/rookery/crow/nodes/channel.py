"""Channel: a connection between two nodes; what one end sends, the other reads in order, once.

    dialled   CONNECTING ─ answer ─────────────────────▶ OPEN
    accepted  ANSWERING ── answer delivered, or data ──▶ OPEN
    OPEN ─ close ─▶ CLOSING ─ all delivered ─▶ CLOSED
    OPEN ─ refused, undelivered, a gap of 5 s, or the node there is gone ─▶ CLOSED

The wire numbers the frames of each direction and promises nothing. Here a frame waits until those
before it have come, copies are dropped by their number, and the sender stays within `SPAN_MAX`
frames of the oldest one that is not acknowledged, so that what the other end must hold is bounded.
`refuse` carries the number after the last frame, so an end comes after all that was sent before it.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Self

from rookery.crow.events import CrowChannelChanged, CrowChannelOpened, NodeRefused
from rookery.crow.nodes.nodes import Nodes, NodeTimer
from rookery.crow.nodes.ordering import FrameOrdering
from rookery.crow.packet_events import NodeMessage, Ticket
from rookery.errors import ChannelError, CongestionError, DecodeError, UsageError
from rookery.wire.crow.channel import (
    FRAME_ID_MODULUS,
    ChannelAnswer,
    ChannelData,
    ChannelFrame,
    ChannelRefuse,
    ChannelRequest,
    parse_channel_frame,
)
from rookery.wire.crow.packet import QOS_MAX

SPAN_MAX = 64  # frames from the oldest unacknowledged one to the newest
EARLY_MAX = 64  # frames kept that came before the answer
ANSWER_WITHIN_S = 5.0
GAP_S = 5.0
FRAME_SIZE_MAX = 1024  # fits one packet on every usual link
HANDSHAKE_QOS = QOS_MAX
_ABORT = FRAME_ID_MODULUS // 2  # a `refuse` this far off has nothing to wait for


class NodeChannelState(Enum):
    """Where a channel is in its life."""

    CONNECTING = auto()
    ANSWERING = auto()
    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class NodeChannel:
    """One end of a channel: a handler of its node."""

    def __init__(
        self,
        nodes: Nodes,
        address: bytes,
        remote: int,
        *,
        qos: int,
        ackquant_ms: int,
        state: NodeChannelState,
        node: int | None = None,
        ended: Callable[["NodeChannel"], None] | None = None,
    ) -> None:
        self.address = address
        self.remote = remote  # the node there; while connecting, the acceptor
        self.qos = qos
        self.ackquant_ms = ackquant_ms
        self.state = state
        self.reason = ""  # why it is closed
        self.last_seen_at = 0.0
        self._nodes = nodes
        self._ended = ended
        self._timer = NodeTimer(self._late)
        self._next_out = 0
        self._unacked: dict[Ticket, int] = {}  # frame ids, oldest first
        self._inbound = FrameOrdering()
        self._early: list[NodeMessage] = []
        self.node = nodes.register(node, self)

    @classmethod
    def dial(
        cls,
        nodes: Nodes,
        address: bytes,
        remote: int,
        now: float,
        *,
        qos: int = 1,
        ackquant_ms: int = 200,
        node: int | None = None,
    ) -> Self:
        """Ask the acceptor at a node there for a channel; its data goes with this quality."""
        state = NodeChannelState.CONNECTING
        channel = cls(
            nodes, address, remote, qos=qos, ackquant_ms=ackquant_ms, state=state, node=node
        )
        try:
            channel._send(ChannelRequest(qos, ackquant_ms), HANDSHAKE_QOS, now)
        except (UsageError, CongestionError):
            nodes.unregister(channel.node)
            raise
        nodes.wake(channel._timer, ANSWER_WITHIN_S, now)
        return channel

    def answer(self, now: float) -> None:
        """For the acceptor: tell the other end that this is its channel."""
        self._send(ChannelAnswer(self.qos, self.ackquant_ms), HANDSHAKE_QOS, now)

    @property
    def is_open(self) -> bool:
        return self.state is NodeChannelState.OPEN

    @property
    def is_closed(self) -> bool:
        return self.state is NodeChannelState.CLOSED

    @property
    def is_unused(self) -> bool:
        """True if no data went in either direction."""
        return self._next_out == 0 and self._inbound.next_id == 0 and not len(self._inbound)

    @property
    def room(self) -> int:
        """How many frames may be sent now."""
        if not self.is_open:
            return 0
        if self.qos == 0:
            return SPAN_MAX
        oldest = next(iter(self._unacked.values()), self._next_out)
        span = (self._next_out - oldest) % FRAME_ID_MODULUS
        return min(SPAN_MAX - span, self._nodes.tower.room(self.address))

    @property
    def unacknowledged(self) -> int:
        """Frames sent that the other tower has not confirmed."""
        return len(self._unacked)

    def send(self, data: bytes, now: float) -> None:
        """Send one frame; CongestionError when there is no room, ChannelError when closed."""
        if len(data) > FRAME_SIZE_MAX:
            raise UsageError(f"{len(data)} bytes are too many for a frame")
        if self.state in (NodeChannelState.CLOSING, NodeChannelState.CLOSED):
            raise ChannelError(self.reason)
        if not self.room:
            raise CongestionError("the channel has no room for another frame")
        ticket = self._send(ChannelData(self._next_out, data), self.qos, now)
        if self.qos:
            self._unacked[ticket] = self._next_out
        self._next_out = (self._next_out + 1) % FRAME_ID_MODULUS

    def receive(self) -> bytes | None:
        """The next frame in order; None when there is none (yet, or ever: see `is_closed`)."""
        return self._inbound.take()

    def close(self, now: float) -> None:
        """End the channel after all that was sent; what still comes is not read any more."""
        if self.is_open and self._nodes.tower.room(self.address):
            self.state = NodeChannelState.CLOSING
            self.reason = "closed here"
            self._timer.due = None
            goodbye = self._send(ChannelRefuse(self._next_out), HANDSHAKE_QOS, now)
            self._unacked[goodbye] = self._next_out
        elif self.state is not NodeChannelState.CLOSING:
            self._fail("closed here", now)

    def supersede(self) -> None:
        """For the acceptor: the other end has requested a new channel instead of this one."""
        self._end("the other end asked anew")

    def received(self, message: NodeMessage, now: float) -> None:
        """A message for our node."""
        self.last_seen_at = now
        try:
            frame = parse_channel_frame(message.data)
        except DecodeError:
            self._drop("no channel frame")
            return
        if message.return_address != self.address:
            self._drop("frame from a stranger")
        elif self.state is NodeChannelState.CONNECTING:
            self._while_connecting(frame, message, now)
        elif message.sid != self.remote:
            self._drop("frame from a stranger")
        else:
            self._while_connected(frame, now)

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """The tower there knows no such node."""
        if (refusal.return_address, refusal.sid) == (self.address, self.remote):
            self._end("no such node there")

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        """What became of something this channel sent."""
        was_data = self._unacked.pop(ticket, None) is not None
        if failure is not None:
            self._fail("undelivered: " + failure, now)
            return
        self.last_seen_at = now
        if self.state is NodeChannelState.ANSWERING:
            self._open()
        elif self.state is NodeChannelState.CLOSING and not self._unacked:
            self._end(self.reason)
        elif self.is_open and was_data:
            self._nodes.emit(CrowChannelChanged(self))

    def _while_connecting(self, frame: ChannelFrame, message: NodeMessage, now: float) -> None:
        match frame:
            case ChannelAnswer(qos, ackquant_ms):
                self.remote = message.sid
                self.qos, self.ackquant_ms = qos, ackquant_ms
                self._timer.due = None
                self._open()
                early, self._early = self._early, []
                for each in early:
                    self.received(each, now)
            case ChannelRefuse() if message.sid == self.remote:
                self._end("refused")
            case ChannelData() | ChannelRefuse() if len(self._early) < EARLY_MAX:
                self._early.append(message)  # overtook the answer
            case _:
                self._drop("frame out of turn")

    def _while_connected(self, frame: ChannelFrame, now: float) -> None:
        match frame:
            case ChannelData(frame_id, data):
                if self.state is NodeChannelState.ANSWERING:
                    self._open()  # a peer that sends data has our answer
                if self.is_open:
                    self._data(frame_id, data, now)
            case ChannelRefuse(frame_id):
                if self.is_open and self._inbound.is_ahead(frame_id):
                    self._inbound.end(frame_id)
                    self._watch(now, has_news=False)
                else:
                    self._end(self.reason or "closed by the other end")
            case _:
                self._drop("frame out of turn")

    def _data(self, frame_id: int, data: bytes, now: float) -> None:
        expected = self._inbound.next_id
        if not self._inbound.put(frame_id, data):
            self._drop("copy of a frame")
            return
        has_news = self._inbound.next_id != expected
        if has_news:
            self._nodes.emit(CrowChannelChanged(self))
        if self._inbound.is_overrun:
            self._fail("more came than could be kept", now)
        else:
            self._watch(now, has_news=has_news)

    def _watch(self, now: float, *, has_news: bool) -> None:
        """End where the other end ended, or see to it that a gap does not stay."""
        if self._inbound.is_ended:
            self._end("closed by the other end")
        elif not self._inbound.has_gap:
            self._timer.due = None
        elif has_news or self._timer.due is None:
            self._nodes.wake(self._timer, GAP_S, now)

    def _late(self, now: float) -> None:
        if self.state is NodeChannelState.CONNECTING:
            self._end("no answer")
        else:
            self._fail("a frame is missing", now)

    def _open(self) -> None:
        self.state = NodeChannelState.OPEN
        self._nodes.emit(CrowChannelOpened(self))

    def _fail(self, reason: str, now: float) -> None:
        """End it from here, with a word to the other end, for which nothing waits."""
        if self.is_open:
            qos = 1 if self._nodes.tower.room(self.address) else 0
            self._send(ChannelRefuse((self._next_out + _ABORT) % FRAME_ID_MODULUS), qos, now)
        self._end(reason)

    def _end(self, reason: str) -> None:
        if self.is_closed:
            return
        was_answering = self.state is NodeChannelState.ANSWERING
        self.state = NodeChannelState.CLOSED
        self.reason = reason
        self._timer.due = None
        self._inbound.abandon()
        self._early.clear()
        self._unacked.clear()
        self._nodes.unregister(self.node)
        if self._ended is not None:
            self._ended(self)
        if not was_answering:  # while answering, the shell does not know the channel yet
            self._nodes.emit(CrowChannelChanged(self))

    def _send(self, frame: ChannelFrame, qos: int, now: float) -> Ticket:
        return self._nodes.send(
            self.address,
            self.node,
            self.remote,
            frame.serialize(),
            now,
            qos=qos,
            ackquant_ms=self.ackquant_ms,
        )

    def _drop(self, reason: str) -> None:
        self._nodes.tower.dropped[reason] += 1
