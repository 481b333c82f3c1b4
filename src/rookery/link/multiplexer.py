"""Many channels over one session: allocates their numbers and dispatches packets to them.

The side with the larger key opens 1, 3, 5, …, the other 2, 4, 6, …; numbers only grow, and a new
session starts them over. `path`, `peer` and `connect` are single packets, not conversations, so
they get no channel object: the link handles them at once.
"""

from collections import OrderedDict
from typing import Protocol

from rookery.errors import CongestionError, ProtocolError
from rookery.link.channel import Channel, ChannelOwner, ReliableChannel, UnreliableChannel
from rookery.link.reliable import ChannelMessage
from rookery.wire.link.lob import JsonObject, integer
from rookery.wire.link.path import Path

CHANNELS_MAX = 1024
HELD_BYTES_MAX = 64 << 20  # unread on all channels of a link; beyond it each may hold one packet
ID_MAX = 0xFFFFFFFF
TYPE_SIZE_MAX = 64
_REORDER_MAX = 128  # how far behind the newest an opening may arrive
_CLOSED = "closed"
_LINGER_S = 50.0  # longer than the peer goes on repeating
_LINGERING_MAX = 256
_CONTROL = frozenset({"path", "peer", "connect"})


class MultiplexerOwner(ChannelOwner, Protocol):
    """What the multiplexer needs of its link."""

    def serves(self, channel_type: str) -> bool: ...

    def channel_opened(self, channel: Channel) -> None: ...

    def control(self, channel_id: int, message: ChannelMessage, now: float) -> None:
        """A `path`, `peer` or `connect` packet."""
        ...

    def answered(self, message: ChannelMessage) -> None:
        """A packet for a number that has no channel here; answers to `path` look like this."""
        ...


class Multiplexer:
    """The channels of one session."""

    __slots__ = (
        "_channels",
        "_held",
        "_lingering",
        "_newest",
        "_next",
        "_owner",
        "_recent",
        "deadline",
        "dirty",
    )

    def __init__(self, owner: MultiplexerOwner, *, is_odd: bool) -> None:
        self._owner = owner
        self._next = 1 if is_odd else 2
        self._newest = 0  # highest number the peer has opened
        self._recent: dict[int, str] = {}  # what to tell a peer that missed how they ended
        self._channels: dict[int, Channel] = {}
        self._lingering: OrderedDict[int, tuple[float, Channel]] = OrderedDict()
        self.dirty: dict[int, Channel] = {}  # something may be due on them
        self._held = 0
        self.deadline: float | None = None  # when to call `expire`; at times a little early

    def __len__(self) -> int:
        return len(self._channels)

    def take_id(self) -> int:
        """A number for a packet that opens a channel of ours."""
        channel_id = self._next
        if channel_id > ID_MAX:
            raise CongestionError("channel numbers of this session are used up")
        self._next += 2
        return channel_id

    def open(
        self, channel_type: str, head: JsonObject, body: bytes, *, reliable: bool, now: float
    ) -> Channel:
        """Open a channel; its first packet leaves with the next `flush`."""
        if len(self._channels) >= CHANNELS_MAX:
            raise CongestionError(f"{CHANNELS_MAX} channels are open on this link")
        opening = ChannelMessage({"type": channel_type, **head}, body)
        kind = ReliableChannel if reliable else UnreliableChannel
        channel = kind(self._owner, self.take_id(), opening, outbound=True, now=now)
        self._channels[channel.id] = channel
        self.dirty[channel.id] = channel
        return channel

    def received(self, head: JsonObject, body: bytes, now: float) -> None:
        """Give a decrypted packet to its channel, or open one."""
        channel_id = integer(head, "c")
        if channel_id is None or not 0 < channel_id <= ID_MAX:
            raise ProtocolError("a packet without a channel")
        channel = self._channels.get(channel_id)
        if channel is not None:
            if body and self._held > HELD_BYTES_MAX and channel.held:
                raise ProtocolError("the link holds too much that nobody reads")
            self.dirty[channel_id] = channel
            channel.received(head, body, now)
            self._bury(channel, now)
        elif channel_id in self._lingering:
            if "seq" in head:
                self._lingering[channel_id][1].repeat_acknowledgement()
        elif "seq" in head and "err" not in head and self._is_past(channel_id):
            # The peer does not know yet how the channel ended.
            why = self._recent.get(channel_id, _CLOSED)
            self._owner.transmit({"c": channel_id, "err": why}, b"")
        elif "type" in head:
            self._opened(channel_id, ChannelMessage(head, body), now)
        else:
            self._owner.answered(ChannelMessage(head, body))

    def touch(self, channel: Channel) -> None:
        """The application used the channel: something may be due."""
        if channel.id in self._channels:
            self.dirty[channel.id] = channel

    def path_failed(self, path: Path) -> None:
        """What is unacknowledged there leaves over another path with the next `flush`."""
        for channel in self._channels.values():
            channel.path_failed(path)
        self.dirty.update(self._channels)

    def flush(self, now: float) -> None:
        """Send what the touched channels have due."""
        while self.dirty:
            _, channel = self.dirty.popitem()
            channel.flush(now)
            self._weigh(channel, channel.held)
            self._bury(channel, now)
            self._heed(channel)

    def expire(self, now: float) -> None:
        """Repeat or give up wherever time has run out."""
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            for channel in list(self._channels.values()):
                deadline = channel.deadline
                if deadline is not None and now >= deadline:
                    channel.expire(now)
                    channel.flush(now)
                    self._bury(channel, now)
                self._heed(channel)
        self._forget_lingering(now)

    def _heed(self, channel: Channel) -> None:
        deadline = channel.deadline
        if channel.is_closed or deadline is None:
            return
        if self.deadline is None or deadline < self.deadline:
            self.deadline = deadline

    def fail(self, reason: str) -> None:
        """End every channel with an error that the peer hears."""
        for channel in list(self._channels.values()):
            channel.fail(reason)

    def abandon(self, reason: str) -> None:
        """The session is gone, and every channel with it."""
        channels, self._channels = list(self._channels.values()), {}
        self.dirty.clear()
        self._lingering.clear()
        self.deadline = None
        for channel in channels:
            channel.abandon(reason)

    def _opened(self, channel_id: int, opening: ChannelMessage, now: float) -> None:
        channel_type = opening.head.get("type")
        if not isinstance(channel_type, str) or len(channel_type) > TYPE_SIZE_MAX:
            raise ProtocolError("a channel type must be a short string")
        self._number_is_new(channel_id)
        if opening.head.get("err") is not None:
            return
        if channel_type in _CONTROL:
            self._owner.control(channel_id, opening, now)
        elif not self._owner.serves(channel_type):
            self._refuse(channel_id, "unknown type")
        elif len(self._channels) >= CHANNELS_MAX:
            self._refuse(channel_id, "too many channels")
        else:
            self._accept(channel_id, opening, now)

    def _refuse(self, channel_id: int, why: str) -> None:
        self._recent[channel_id] = why
        self._owner.transmit({"c": channel_id, "err": why}, b"")

    def _accept(self, channel_id: int, opening: ChannelMessage, now: float) -> None:
        reliable = integer(opening.head, "seq") == 1
        kind = ReliableChannel if reliable else UnreliableChannel
        channel = kind(self._owner, channel_id, opening, outbound=False, now=now)
        self._channels[channel_id] = channel
        self.dirty[channel_id] = channel
        self._owner.channel_opened(channel)

    def _is_past(self, channel_id: int) -> bool:
        """Whether a channel that is not here any more once had this number."""
        if channel_id & 1 == self._next & 1:
            return channel_id < self._next
        return channel_id in self._recent

    def _number_is_new(self, channel_id: int) -> None:
        """Openings may overtake each other a little; a repeated or wrong number opens nothing."""
        if channel_id & 1 == self._next & 1:
            raise ProtocolError("the peer opened a channel with our parity")
        if channel_id <= self._newest - _REORDER_MAX or channel_id in self._recent:
            raise ProtocolError("the peer opened an old channel again")
        self._recent[channel_id] = _CLOSED
        if channel_id > self._newest:
            self._newest = channel_id
            if len(self._recent) > _REORDER_MAX:
                oldest = channel_id - _REORDER_MAX
                recent = self._recent.items()
                self._recent = {number: why for number, why in recent if number > oldest}

    def _bury(self, channel: Channel, now: float) -> None:
        if not channel.is_closed:
            return
        if self._channels.pop(channel.id, None) is None:
            return
        self.dirty.pop(channel.id, None)
        self._weigh(channel, 0)
        if channel.reliable and channel.failure is None:
            self._lingering[channel.id] = (now + _LINGER_S, channel)
            if len(self._lingering) > _LINGERING_MAX:
                self._lingering.popitem(last=False)

    def _weigh(self, channel: Channel, held: int) -> None:
        """Keep account of what all channels together hold for their readers."""
        self._held += held - channel.weighed
        channel.weighed = held

    def _forget_lingering(self, now: float) -> None:
        while self._lingering:
            channel_id, (until, _) = next(iter(self._lingering.items()))
            if until > now:
                return
            del self._lingering[channel_id]
