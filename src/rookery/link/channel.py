"""A channel: packets of one service over a link, reliable when its opening carries `seq`.

opening ──first answer──▶ open ──`end` from both, all acknowledged──▶ closed
   └──────────────────── `err`, timeout, link down ────────────────────▶ closed (failed)
"""

from collections import deque
from typing import Protocol

from rookery.errors import CongestionError, DecodeError
from rookery.link.reliable import ChannelMessage, ReliableReceiver, ReliableSender
from rookery.wire.link.lob import JsonObject, integer
from rookery.wire.link.path import Path

OPENING_S_MAX = 30.0
UNRELIABLE_QUEUE_MAX = 2048  # packets: one read of a busy stream brings more than a thousand
UNRELIABLE_QUEUE_BYTES = 1 << 20
ERROR_TEXT_MAX = 256
STALLED_TIMEOUTS = 2  # in a row, then the path is in doubt
END_REPEATED_MAX = 3  # to a peer that may never confirm it
_MISS_MAX = 4096
_DELTA_MAX = 1 << 31
_ENVELOPE = frozenset({"c", "type", "seq", "ack", "miss", "end", "err"})


class ChannelOwner(Protocol):
    """What a channel needs of its link."""

    @property
    def is_lax(self) -> bool:
        """Whether the peer acknowledges as the public JavaScript one does."""
        ...

    @property
    def rtt(self) -> float | None:
        """The round trip of the path in use, where it is known."""
        ...

    def transmit(self, head: JsonObject, body: bytes) -> Path | None:
        """Put a packet on the wire; the path it took."""
        ...

    @property
    def answers_apart(self) -> bool:
        """Whether the peer's packets come by another path than ours leave by."""
        ...

    def answer(self, head: JsonObject) -> None:
        """Put an acknowledgement on the wire, back by the path that brought the last packet."""
        ...

    def channel_changed(self, channel: "Channel") -> None:
        """There is something to read, room to write, or the channel is closed."""
        ...

    def channel_stalled(self, now: float) -> None:
        """Repetitions go unanswered."""
        ...


class Channel:
    """What both kinds of channel share: identity, opening, and how they end."""

    __slots__ = (
        "_is_answered",
        "_notified",
        "_opening_until",
        "_owner",
        "end_sent",
        "failure",
        "id",
        "is_closed",
        "opening",
        "outbound",
        "type",
        "weighed",
    )
    reliable = False

    def __init__(
        self,
        owner: ChannelOwner,
        channel_id: int,
        opening: ChannelMessage,
        *,
        outbound: bool,
        now: float,
    ) -> None:
        self.id = channel_id
        self.type = str(opening.head["type"])
        self.opening = opening
        self.outbound = outbound
        self.end_sent = False
        self.is_closed = False
        self.failure: str | None = None
        self.weighed = 0  # of what is held, as far as the multiplexer knows
        self._owner = owner
        self._notified = False  # that there is something to read
        self._is_answered = not outbound
        self._opening_until = now + OPENING_S_MAX
        self._begin()
        if outbound:
            self.send(opening.head, opening.body, end=_is_end(opening))

    @property
    def has_room(self) -> bool:
        return True

    @property
    def is_flushed(self) -> bool:
        """Whether everything sent has arrived, as far as this kind of channel can know."""
        return True

    @property
    def owes_answer(self) -> bool:
        """Whether `flush` has an acknowledgement to send."""
        return False

    @property
    def at_end(self) -> bool:
        """Whether the peer has ended and everything it sent has been received."""
        raise NotImplementedError

    @property
    def held(self) -> int:
        """Bytes that wait for the application."""
        raise NotImplementedError

    def send(self, head: JsonObject, body: bytes = b"", *, end: bool = False) -> None:
        raise NotImplementedError

    def receive(self) -> ChannelMessage | None:
        """The next packet, None when there is none for now; a bare `end` is not one."""
        self._notified = False
        while (message := self._take()) is not None:
            if message.body or message.head.keys() - _ENVELOPE:
                return message
        return None

    def fail(self, reason: str) -> None:
        """End with an error: both sides drop the channel and all it holds."""
        if not self.is_closed:
            self._owner.transmit({"c": self.id, "err": reason[:ERROR_TEXT_MAX]}, b"")
            self._close(reason)

    def abandon(self, reason: str) -> None:
        """The link is gone: close without a word to the peer."""
        self._close(reason)

    def received(self, head: JsonObject, body: bytes, now: float) -> None:
        """Take a packet of this channel; DecodeError or ProtocolError when it makes no sense."""
        failure = head.get("err")
        if failure is not None:
            self._close(failure[:ERROR_TEXT_MAX] if isinstance(failure, str) else "error")
            return
        self._is_answered = True
        self._received(head, body, now)

    def flush(self, now: float) -> None:
        """Put on the wire what is due."""

    def path_failed(self, path: Path) -> None:
        """What went there and was not acknowledged is due again."""

    def repeat_acknowledgement(self) -> None:
        """A closed channel still answers the peer's repetitions."""

    @property
    def deadline(self) -> float | None:
        return None if self._is_answered else self._opening_until

    def expire(self, now: float) -> None:
        """Give up on a peer that never answered the opening."""
        if not self._is_answered and now >= self._opening_until:
            self.fail("timeout")

    def _begin(self) -> None:
        raise NotImplementedError

    def _take(self) -> ChannelMessage | None:
        raise NotImplementedError

    def _received(self, head: JsonObject, body: bytes, now: float) -> None:
        raise NotImplementedError

    def _close(self, failure: str | None) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.failure = failure
            self._owner.channel_changed(self)

    def _tell_readable(self) -> None:
        """Once, until the user has looked."""
        if not self._notified:
            self._notified = True
            self._owner.channel_changed(self)


class UnreliableChannel(Channel):
    """Packets leave at once, arrive as they come, and may not."""

    __slots__ = ("_ended", "_queue", "_queued_bytes")

    def _begin(self) -> None:
        self._queue: deque[ChannelMessage] = deque()
        self._queued_bytes = 0
        self._ended = not self.outbound and _is_end(self.opening)

    @property
    def at_end(self) -> bool:
        return self._ended and not self._queue

    @property
    def held(self) -> int:
        return self._queued_bytes

    def send(self, head: JsonObject, body: bytes = b"", *, end: bool = False) -> None:
        if self.is_closed:
            return
        assert not self.end_sent, "nothing follows the end"
        self.end_sent = end
        self._owner.transmit({**head, "c": self.id, **({"end": True} if end else {})}, body)
        self._close_when_done()

    def _take(self) -> ChannelMessage | None:
        if not self._queue:
            return None
        message = self._queue.popleft()
        self._queued_bytes -= len(message.body)
        return message

    def _received(self, head: JsonObject, body: bytes, now: float) -> None:
        """Queue a packet; a reader that is too slow loses the oldest."""
        message = ChannelMessage(head, body)
        self._queue.append(message)
        self._queued_bytes += len(body)
        while (
            len(self._queue) > UNRELIABLE_QUEUE_MAX or self._queued_bytes > UNRELIABLE_QUEUE_BYTES
        ):
            self._take()
        self._ended |= _is_end(message)
        self._tell_readable()
        self._close_when_done()

    def _close_when_done(self) -> None:
        if self._ended and self.end_sent:
            self._close(None)


class ReliableChannel(Channel):
    """Packets arrive in order, once, and the sender knows."""

    __slots__ = ("_ack_due", "_incoming", "_sender")
    reliable = True

    def _begin(self) -> None:
        is_lax = self._owner.is_lax
        self._sender = ReliableSender(is_lax=is_lax, rtt=self._rtt)
        self._incoming = ReliableReceiver(is_lax=is_lax)
        self._ack_due = False
        if not self.outbound:
            self._incoming.accept(1, self.opening)
            self._incoming.take()  # the user has it as `opening`
            self._ack_due = True

    @property
    def has_room(self) -> bool:
        return self._sender.has_room

    @property
    def is_flushed(self) -> bool:
        return self._sender.is_idle

    @property
    def owes_answer(self) -> bool:
        return self._ack_due

    @property
    def at_end(self) -> bool:
        return self._incoming.ended and not self._incoming

    @property
    def held(self) -> int:
        return self._incoming.held

    def send(self, head: JsonObject, body: bytes = b"", *, end: bool = False) -> None:
        """Queue a packet; it leaves with the next `flush`."""
        if self.is_closed:
            return
        assert not self.end_sent, "nothing follows the end"
        if not self.has_room:
            raise CongestionError(f"channel {self.id} has no room to send")
        self.end_sent = end
        self._sender.push(ChannelMessage({**head, "end": True} if end else head, body))

    def flush(self, now: float) -> None:
        """Data with the latest acknowledgement, or that alone."""
        if self.is_closed:
            return
        ack, has_news = self._incoming.ack, self._incoming.has_news
        for numbered in self._sender.due(now):
            head = {**numbered.message.head, "c": self.id, "seq": numbered.seq}
            if numbered.seq == 1 and self._is_answered:
                head.pop("type", None)  # to a lax peer it would open the channel anew
            if ack:
                head["ack"] = ack
                # Our path may be dead while the peer's, on which it waits for this, is not.
                self._ack_due &= has_news or self._owner.answers_apart
            numbered.path = self._owner.transmit(head, numbered.message.body)
        if self._ack_due:
            self._acknowledge()

    @property
    def _rtt(self) -> float | None:
        return None if self._owner.is_lax else self._owner.rtt

    def path_failed(self, path: Path) -> None:
        self._sender.path_failed(path, self._rtt)

    def repeat_acknowledgement(self) -> None:
        if self.failure is None:
            self._acknowledge()

    @property
    def deadline(self) -> float | None:
        return self._sender.deadline

    def expire(self, now: float) -> None:
        sender, is_peer_silent = self._sender, self._sender.is_peer_silent(now)
        if not sender.expire(now):
            self._give_up()
            return
        timeouts = sender.round_trip.backed_off
        if self._owner.is_lax and timeouts > END_REPEATED_MAX and self._end_is_all:
            self._close(None)
        elif is_peer_silent and timeouts >= STALLED_TIMEOUTS:
            self._owner.channel_stalled(now)

    @property
    def _end_is_all(self) -> bool:
        """Whether all the peer may still lack is our `end`, which a lax one may never confirm."""
        return self.end_sent and (self._sender.only_end_is_open or self._incoming.ended)

    def _give_up(self) -> None:
        if self._sender.only_end_is_open:
            self._close(None)
        else:
            self.fail("timeout")

    def _take(self) -> ChannelMessage | None:
        message = self._incoming.take()
        if message is not None and self._incoming.has_news:
            self._ack_due = True  # the sender should know that there is room again
        return message

    def _received(self, head: JsonObject, body: bytes, now: float) -> None:
        if "ack" in head:
            self._acknowledged(head, now)
        if "seq" in head:
            self._numbered(head, body)
        if self._incoming.ended and self.end_sent and self._sender.is_idle:
            self.flush(now)  # the last acknowledgement, before the channel is forgotten
            self._close(None)

    def _acknowledged(self, head: JsonObject, now: float) -> None:
        ack = integer(head, "ack")
        if ack is None or ack < 0:
            raise DecodeError("`ack` must be a number")
        had_room = self._sender.has_room
        self._sender.acknowledged(ack, _parse_miss(head.get("miss")), now)
        if self._sender.is_idle or (self._sender.has_room and not had_room):
            self._owner.channel_changed(self)

    def _numbered(self, head: JsonObject, body: bytes) -> None:
        seq = integer(head, "seq")
        if seq is None or seq < 1:
            raise DecodeError("`seq` must be a positive number")
        self._ack_due = True
        before = self._incoming.ack
        self._incoming.accept(seq, ChannelMessage(head, body))
        if self._incoming.ack > before:
            self._tell_readable()

    def _acknowledge(self) -> None:
        self._ack_due = False
        head: JsonObject = {"c": self.id, "ack": self._incoming.ack}
        if self._incoming.has_news:
            head["miss"] = self._incoming.miss()
        self._owner.answer(head)


def _is_end(message: ChannelMessage) -> bool:
    return message.head.get("end") is True


def _parse_miss(value: object) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not 0 < len(value) <= _MISS_MAX:
        raise DecodeError("`miss` must be a short list")
    if not all(type(delta) is int and 0 <= delta < _DELTA_MAX for delta in value):
        raise DecodeError("`miss` holds deltas")
    return value
