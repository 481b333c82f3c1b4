"""Traffic: the channel packets of one session, between its channels and the paths.

    channel ──head and body──▶ JSON ──▶ sealed ──▶ best path
    channel ◀──head and body── JSON ◀── opened ◀── any path
    frames  ◀──head and body───────────────┘

A packet with a binary head is a frame: it belongs to no channel and goes to the frame reader.

It lives as long as the session: when the peer restarts or the link falls, all channels go with it.
"""

from math import inf
from struct import Struct
from typing import TYPE_CHECKING, Final

import msgspec

from rookery.errors import ProtocolError
from rookery.link.channel import Channel
from rookery.link.events import ChannelChanged, ChannelOpened
from rookery.link.link_owner import LinkOwner
from rookery.link.multiplexer import Multiplexer
from rookery.link.reliable import ChannelMessage
from rookery.link.session.exchange import Exchange
from rookery.link.session.renewal import Renewal
from rookery.wire.link.frame_types import RENEWAL
from rookery.wire.link.lob import JSON_SIZE_MIN, JsonObject
from rookery.wire.link.path import Arrival, Path
from rookery.wire.link.renewal import RenewalFrame
from rookery.wire.octets import Octets, Parts, tail

if TYPE_CHECKING:
    from rookery.link.link import Link

DATAGRAM_SIZE_MAX: Final = 1400  # a larger packet goes over a stream, where one is there
HEAD_SIZE_MAX: Final = 4096  # a decoded head takes far more memory than its text
_JOINED_MAX: Final = 32768  # bytes; up to here it costs less to join parts than to seal each
_ENDLESS: Final = 1 << 60  # bytes under keys that are not renewed
_LENGTH_SIZE: Final = 2
_LENGTH: Final = Struct(">H")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(JsonObject).decode


class Traffic:
    """What channels need of their link, for as long as one session lasts."""

    __slots__ = (
        "_came_by",
        "_channels",
        "_exchange",
        "_left",
        "_link",
        "_owner",
        "_renew_at",
        "_renewal",
    )

    def __init__(self, link: "Link", owner: LinkOwner, exchange: Exchange, now: float) -> None:
        self._link = link
        self._owner = owner
        self._exchange = exchange
        self._came_by: Path | None = None  # the path of the last channel packet
        self._channels = Multiplexer(self, is_odd=exchange.parity == 1)
        keys = exchange.session.renewal if exchange.session is not None else None
        self._renewal: Renewal | None = None
        if keys is not None:
            self._renewal = Renewal(keys, owner.random, now, yields=exchange.parity == 0)
        self._left = _ENDLESS if self._renewal is None else self._renewal.left
        self._renew_at = inf if self._renewal is None else self._renewal.deadline

    # --- for the link ---

    def open(
        self, channel_type: str, head: JsonObject, body: bytes, *, reliable: bool, now: float
    ) -> Channel:
        return self._channels.open(channel_type, head, body, reliable=reliable, now=now)

    def say(self, channel_type: str, head: JsonObject, body: bytes) -> None:
        """One packet that opens a channel without a second packet."""
        self.transmit({"type": channel_type, **head, "c": self._channels.take_id()}, body)

    def send_frame(self, head: bytes, parts: Parts, path: Path | None) -> None:
        """A frame for the peer itself, over this very path or the best direct one."""
        data = self.sealed(head, parts)
        if path is None:
            path = self._link.paths.direct_for_size(len(data), DATAGRAM_SIZE_MAX)
        if path is not None:
            self._owner.send(self._link, path, data)

    def received(self, body: Octets, path: Path, now: float, arrival: Arrival | None) -> None:
        """Open a packet and pass it to its channel, or to the frame reader."""
        inner = self._exchange.open(body)
        size = inner[0] << 8 | inner[1] if len(inner) >= _LENGTH_SIZE else 0
        body_at = _LENGTH_SIZE + size
        if 0 < size < JSON_SIZE_MIN and body_at <= len(inner):
            head, rest = inner[_LENGTH_SIZE:body_at], tail(inner, body_at)
            if head[0] == RENEWAL:
                self._renewal_received(RenewalFrame.parse(head, bytes(rest)), path, now)
                return
            self._owner.frame_received(self._link, path, head, rest, now, arrival)
            return
        if not JSON_SIZE_MIN <= size <= HEAD_SIZE_MAX or body_at > len(inner):
            raise ProtocolError("a channel packet needs a JSON head of moderate size")
        try:
            json = _decode(inner[_LENGTH_SIZE:body_at])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError("a channel packet needs a JSON head") from error
        self._link.channel_packets += 1
        self._came_by = path
        self._channels.received(json, inner[body_at:], now)

    def touch(self, channel: Channel) -> None:
        self._channels.touch(channel)

    def flush(self, now: float) -> None:
        if self._channels.dirty:
            self._channels.flush(now)

    @property
    def deadline(self) -> float | None:
        deadline = self._channels.deadline
        if self._renewal is None or (deadline is not None and deadline < self._renew_at):
            return deadline
        return self._renew_at

    def expire(self, now: float) -> None:
        self._channels.expire(now)

    def renews(self, now: float) -> bool:
        """Renew the keys if that is due; False when they must not be used any longer."""
        renewal = self._renewal
        if renewal is None or now < self._renew_at:
            return True
        frame = renewal.tick(now)
        self._renew_at = renewal.deadline
        if frame is not None and renewal.is_doubtful:
            self._link.doubt_paths(now)
            for state in list(self._link.paths):
                if state.is_usable:
                    self._say_renewal(frame, state.path)
        elif frame is not None:
            self._say_renewal(frame, self._link.paths.best)
        return not renewal.has_failed

    def leap(self, renew_at: float) -> None:
        """A copy of this session may be in use: let no packet of ours have its number."""
        if self._exchange.session is not None:
            self._exchange.session.leap(self._owner.random)
        if self._renewal is not None:
            self._renewal.hasten(renew_at)
            self._renew_at = self._renewal.deadline

    def fail(self, reason: str) -> None:
        self._channels.fail(reason)

    def path_failed(self, path: Path) -> None:
        self._channels.path_failed(path)

    def abandon(self, reason: str) -> None:
        self._channels.abandon(reason)

    # --- for the channels ---

    @property
    def is_lax(self) -> bool:
        return self._link.is_lax

    @property
    def rtt(self) -> float | None:
        return self._link.rtt

    def transmit(self, head: JsonObject, body: bytes) -> Path | None:
        self._link.channel_packets += 1
        data = self.sealed(_encode(head), [body])
        path = self._link.paths.for_size(len(data), DATAGRAM_SIZE_MAX)
        if path is not None:
            self._owner.send(self._link, path, data)
        return path

    @property
    def answers_apart(self) -> bool:
        return self._came_by != self._link.paths.best and self._return_path is not None

    def answer(self, head: JsonObject) -> None:
        path = self._return_path
        if path is None:
            self.transmit(head, b"")
        else:
            self._link.channel_packets += 1
            self.transmit_over(path, head)

    @property
    def _return_path(self) -> Path | None:
        """Where the peer's last packet came from, if we trust that path as well."""
        path = self._came_by
        state = self._link.paths.state(path) if path is not None else None
        return path if state is not None and state.is_usable else None

    def transmit_over(self, path: Path, head: JsonObject) -> None:
        """A packet that must take this very path."""
        self._owner.send(self._link, path, self.sealed(_encode(head), []))

    def serves(self, channel_type: str) -> bool:
        return self._owner.serves(self._link, channel_type)

    def channel_opened(self, channel: Channel) -> None:
        self._owner.emit(ChannelOpened(self._link, channel))

    def channel_changed(self, channel: Channel) -> None:
        self._owner.emit(ChannelChanged(channel))

    def channel_stalled(self, now: float) -> None:
        self._link.doubt_paths(now)

    def control(self, channel_id: int, message: ChannelMessage, now: float) -> None:
        self._owner.control(self._link, channel_id, message, now)

    def answered(self, message: ChannelMessage) -> None:
        self._owner.answered(self._link, message)

    def sealed(self, head: bytes, parts: Parts) -> bytes | bytearray:
        pieces: list[Octets] = [_LENGTH.pack(len(head)), head]
        size = 0
        for part in parts:
            size += len(part)
            pieces.append(part)
        if size > _JOINED_MAX:
            data: bytes | bytearray = self._exchange.seal_parts(pieces)
        else:
            data = self._exchange.seal(b"".join(pieces))
        self._left -= len(data)
        if self._left < 0:
            self._worn()
        return data

    # --- the keys ---

    def _worn(self) -> None:
        """The key in use has sealed so much that its renewal is nearer than it was."""
        if self._renewal is None:
            self._left = _ENDLESS
            return
        self._renewal.worn()
        self._renew_at = self._renewal.deadline
        self._left += self._renewal.left
        self._owner.touch(self._link)

    def _renewal_received(self, frame: RenewalFrame, path: Path, now: float) -> None:
        renewal = self._renewal
        if renewal is None:
            raise ProtocolError("a renewal that was not agreed on")
        before = renewal.phase
        answer = renewal.received(frame, now)
        self._renew_at = renewal.deadline
        if renewal.phase != before:
            self._left = renewal.left
        if answer is not None:
            state = self._link.paths.state(path)
            is_back = state is not None and state.is_usable
            self._say_renewal(answer, path if is_back else self._link.paths.best)

    def _say_renewal(self, frame: RenewalFrame, path: Path | None) -> None:
        if path is not None:
            head, body = frame.serialize()
            self._owner.send(self._link, path, self.sealed(head, [body]))
