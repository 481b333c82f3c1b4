"""Acceptor: a node that takes channel requests; each accepted channel gets a node of its own.

A peer is an address and a node there. When it asks again while its channel has carried nothing, the
answer is repeated; when it asks again later, it has restarted, and the old channel is over. The
shell hears of a channel when its peer has the answer, so made-up sources never reach it.
"""

from collections import Counter

import msgspec

from rookery.crow.events import NodeRefused
from rookery.crow.nodes.channel import NodeChannel, NodeChannelState
from rookery.crow.nodes.nodes import Nodes
from rookery.crow.packet_events import NodeMessage, Ticket
from rookery.errors import CongestionError, DecodeError
from rookery.wire.crow.channel import ChannelRefuse, ChannelRequest, parse_channel_frame


class AcceptorLimits(msgspec.Struct, frozen=True):
    """How many channels strangers can make."""

    channels_max: int = 1024
    per_address_max: int = 64
    silent_s: float = 60.0  # after which a channel may have to make room for a new one


_Peer = tuple[bytes, int]  # address, node


class ChannelAcceptor:
    """A handler that turns requests into channels."""

    def __init__(
        self, nodes: Nodes, node: int | None = None, limits: AcceptorLimits | None = None
    ) -> None:
        self._nodes = nodes
        self._limits = limits or AcceptorLimits()
        self._channels: dict[_Peer, NodeChannel] = {}
        self._per_address: Counter[bytes] = Counter()
        self.node = nodes.register(node, self)

    def __len__(self) -> int:
        """Channels that are not closed."""
        return len(self._channels)

    def __contains__(self, channel: NodeChannel) -> bool:
        """Whether it was accepted here, and is not closed."""
        return self._channels.get((channel.address, channel.remote)) is channel

    def close(self) -> None:
        """Accept no more; the channels stay."""
        self._nodes.unregister(self.node)

    def received(self, message: NodeMessage, now: float) -> None:
        """A message for the acceptor's own node."""
        try:
            frame = parse_channel_frame(message.data)
        except DecodeError:
            self._nodes.tower.dropped["no channel frame"] += 1
            return
        if not isinstance(frame, ChannelRequest):
            self._nodes.tower.dropped["frame out of turn"] += 1
            return
        peer = (message.return_address, message.sid)
        known = self._channels.get(peer)
        if known is None or not known.is_unused:
            if known is not None:
                known.supersede()
            self._accept(peer, frame, now)
        elif known.is_open and self._nodes.tower.room(known.address):
            known.answer(now)

    def refused(self, refusal: NodeRefused, now: float) -> None:
        """The requester is gone; its channel is notified as well."""

    def outcome(self, ticket: Ticket, failure: str | None, now: float) -> None:
        """Outcome of a refusal, which is not needed."""

    def _accept(self, peer: _Peer, request: ChannelRequest, now: float) -> None:
        address, remote = peer
        try:
            self._make_room(address, now)
            channel = NodeChannel(
                self._nodes,
                address,
                remote,
                qos=request.qos,
                ackquant_ms=request.ackquant_ms,
                state=NodeChannelState.ANSWERING,
                ended=self._ended,
            )
        except CongestionError:
            self._nodes.tower.dropped["too many channels"] += 1
            refusal = ChannelRefuse().serialize()
            self._nodes.send(address, self.node, remote, refusal, now, qos=0)
            return
        channel.last_seen_at = now
        self._channels[peer] = channel
        self._per_address[address] += 1
        channel.answer(now)

    def _make_room(self, address: bytes, now: float) -> None:
        if self._per_address[address] >= self._limits.per_address_max:
            raise CongestionError("too many channels with one address")
        if not self._nodes.tower.room(address):
            raise CongestionError("an answer could not be sent")
        if len(self._channels) < self._limits.channels_max:
            return
        quietest = min(self._channels.values(), key=lambda channel: channel.last_seen_at)
        if now - quietest.last_seen_at < self._limits.silent_s:
            raise CongestionError("too many channels")
        quietest.close(now)
        if not quietest.is_closed:
            self._ended(quietest)

    def _ended(self, channel: NodeChannel) -> None:
        if self._channels.get((channel.address, channel.remote)) is not channel:
            return
        del self._channels[channel.address, channel.remote]
        self._per_address[channel.address] -= 1
        if not self._per_address[channel.address]:
            del self._per_address[channel.address]
